"""Authentication and authorisation: certificates and tokens over TLS, RBAC, access reviews."""

import logging
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import orjson
import pytest

from keda_py.clock import FakeClock
from keda_py.localkube.access.identity import service_account
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.localkube.model.calls import User
from tests.builders import config_map
from tests.localkube.client import CONFIGMAPS, Client, done

BOB = service_account("default", "bob")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture
async def strict(clock: FakeClock) -> AsyncIterator[LocalCluster]:
    async with LocalCluster(clock, ClusterOptions(enforce_rbac=True)) as running:
        yield running


def trusting(cluster: LocalCluster) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=cluster.identity.certificate_authority.decode())


async def who_am_i(cluster: LocalCluster, context: ssl.SSLContext, **headers: str) -> tuple[int, Any]:
    async with (
        aiohttp.ClientSession(cluster.url, connector=aiohttp.TCPConnector(ssl=context)) as session,
        session.post(WHO_AM_I, json={}, headers=headers) as response,
    ):
        return response.status, orjson.loads(await response.read())


async def allow(client: Client, name: str, **rule: list[str]) -> None:
    """Create a Role with one rule for bob."""
    await grant(client, name, [rule])


async def grant(client: Client, name: str, rules: list[dict[str, list[str]]]) -> None:
    """Create a Role with these rules for bob."""
    await client.create(f"{RBAC}/namespaces/default/roles", {"metadata": {"name": name}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "bob", "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
    await client.create(f"{RBAC}/namespaces/default/rolebindings", binding)


async def test_a_certificate_authenticates_its_user(cluster: LocalCluster) -> None:
    status, review = await who_am_i(cluster, cluster.client_context(User(name="eve", groups=("dev",))))
    assert status == 201
    assert review["status"]["userInfo"] == {"username": "eve", "groups": ["dev", "system:authenticated"]}


async def test_a_caller_without_credentials_is_anonymous(cluster: LocalCluster) -> None:
    _, review = await who_am_i(cluster, trusting(cluster))
    assert review["status"]["userInfo"]["username"] == "system:anonymous"


async def test_a_service_accounts_token_works_until_it_ends(
    cluster: LocalCluster, client: Client, clock: FakeClock
) -> None:
    await client.create(ACCOUNTS, {"metadata": {"name": "bob"}})
    request = await client.create(f"{ACCOUNTS}/bob/token", {"spec": {"expirationSeconds": 600}})
    assert request["status"]["expirationTimestamp"] == "2026-11-21T08:10:00Z"
    bearer = f"Bearer {request['status']['token']}"
    _, review = await who_am_i(cluster, trusting(cluster), Authorization=bearer)
    assert review["status"]["userInfo"]["username"] == "system:serviceaccount:default:bob"
    await clock.advance(600)
    status, refusal = await who_am_i(cluster, trusting(cluster), Authorization=bearer)
    assert (status, refusal["reason"]) == (401, "Unauthorized")


async def test_an_unknown_token_is_refused(cluster: LocalCluster) -> None:
    status, _ = await who_am_i(cluster, trusting(cluster), Authorization="Bearer nonsense")
    assert status == 401


async def test_a_token_review_names_the_user_of_a_token(cluster: LocalCluster, client: Client) -> None:
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    review = await client.create(path, {"spec": {"token": cluster.identity.issue(BOB)}})
    assert review["status"]["authenticated"] is True
    assert review["status"]["user"]["groups"] == [*BOB.groups, "system:authenticated"]


async def test_the_api_server_refuses_a_token_for_another_audience(cluster: LocalCluster, client: Client) -> None:
    token = cluster.identity.issue(BOB, audiences=("vault",))
    status, _ = await who_am_i(cluster, trusting(cluster), Authorization=f"Bearer {token}")
    assert status == 401
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    review = await client.create(path, {"spec": {"token": token, "audiences": ["vault", "bank"]}})
    assert review["status"]["audiences"] == ["vault"]


async def test_an_administrator_may_impersonate(cluster: LocalCluster) -> None:
    headers = {"Impersonate-User": "system:serviceaccount:default:bob"}
    _, review = await who_am_i(cluster, cluster.client_context(), **headers)
    assert review["status"]["userInfo"]["groups"] == [*BOB.groups, "system:authenticated"]


async def test_only_users_with_the_right_may_impersonate(strict: LocalCluster) -> None:
    headers = {"Impersonate-User": "kubernetes-admin", "Impersonate-Group": "system:masters"}
    status, refusal = await who_am_i(strict, strict.client_context(User(name="eve")), **headers)
    assert (status, refusal["message"].split(":")[0]) == (403, 'users "kubernetes-admin" is forbidden')


async def test_without_a_role_nothing_is_allowed(strict: LocalCluster) -> None:
    answer = await Client(strict, BOB).ask("GET", CONFIGMAPS)
    assert answer.status == 403
    assert answer.body["message"] == (
        'configmaps is forbidden: User "system:serviceaccount:default:bob" cannot list resource "configmaps" '
        'in API group "" in the namespace "default"'
    )


async def test_a_role_allows_its_rules_and_nothing_else(strict: LocalCluster) -> None:
    admin, bob = Client(strict), Client(strict, BOB)
    await admin.create(CONFIGMAPS, config_map("a"))
    await allow(admin, "reader", apiGroups=[""], resources=["configmaps"], verbs=["get"], resourceNames=["a"])
    assert (await bob.get(f"{CONFIGMAPS}/a"))["metadata"]["name"] == "a"
    assert (await bob.ask("GET", f"{CONFIGMAPS}/kube-root-ca.crt")).status == 403
    assert (await bob.ask("DELETE", f"{CONFIGMAPS}/a")).status == 403
    assert (await bob.ask("GET", "/api/v1/namespaces/kube-system/configmaps/a")).status == 403


async def test_the_log_says_which_rule_of_which_role_allowed_a_request(
    strict: LocalCluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="keda_py.localkube.access.checks")
    admin, bob = Client(strict), Client(strict, BOB)
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        {"apiGroups": ["apps"], "resources": ["deployments", "*/scale"], "verbs": ["get"]},
    ]
    await grant(admin, "scaler", rules)
    await bob.ask("GET", "/apis/apps/v1/namespaces/default/deployments/web/scale")
    (told,) = [vars(one) for one in caplog.records]
    assert (told["user"], told["role"], told["rule"]) == (BOB.name, "Role/default/scaler", 1)
    assert (told["verb"], told["resource"], told["rule_resource"]) == ("get", "deployments/scale", "*/scale")


async def test_blocking_an_owners_deletion_takes_the_right_to_change_its_finalizers(strict: LocalCluster) -> None:
    admin, bob = Client(strict), Client(strict, BOB)
    owner = (await admin.create(CONFIGMAPS, config_map("owner")))["metadata"]
    owned = config_map("owned")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    owned["metadata"]["ownerReferences"] = [reference | {"blockOwnerDeletion": True}]
    await allow(admin, "writer", apiGroups=[""], resources=["configmaps"], verbs=["create", "update", "get"])
    refused = await bob.ask("POST", CONFIGMAPS, owned)
    assert refused.body["message"] == (
        'configmaps "owned" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource '
        "you can't set finalizers on: , <nil>"
    )
    await allow(admin, "holder", apiGroups=[""], resources=["configmaps/finalizers"], verbs=["update"])
    created = await bob.create(CONFIGMAPS, owned)
    created["metadata"]["ownerReferences"] = []
    assert (await bob.ask("PUT", f"{CONFIGMAPS}/owned", created)).status == 403
    await allow(admin, "remover", apiGroups=[""], resources=["configmaps"], verbs=["delete"])
    assert (await bob.ask("PUT", f"{CONFIGMAPS}/owned", created)).status == 200


async def test_a_subresource_has_its_own_rules(strict: LocalCluster) -> None:
    await allow(Client(strict), "scaler", apiGroups=["*"], resources=["*/scale"], verbs=["*"])
    bob = Client(strict, BOB)
    assert (await bob.ask("GET", "/apis/apps/v1/namespaces/default/deployments/web/scale")).status == 404
    assert (await bob.ask("GET", "/apis/apps/v1/namespaces/default/deployments/web")).status == 403


async def test_every_authenticated_user_may_discover(strict: LocalCluster) -> None:
    eve = Client(strict, User(name="eve", groups=("system:authenticated",)))
    nobody = Client(strict, User(name="system:anonymous", groups=("system:unauthenticated",)))
    assert (await eve.ask("GET", "/apis/apps/v1")).status == 200
    assert (await nobody.ask("GET", "/apis/apps/v1")).status == 403
    assert (await nobody.ask("GET", "/healthz")).status == 200
    assert (await nobody.ask("GET", "/metrics")).body["message"] == (
        'forbidden: User "system:anonymous" cannot get path "/metrics"'
    )


@pytest.mark.parametrize(("verb", "allowed"), [("get", True), ("delete", False)])
async def test_reviews_answer_by_the_roles_even_if_these_are_not_enforced(
    client: Client, cluster: LocalCluster, verb: str, allowed: bool
) -> None:
    await allow(client, "reader", apiGroups=[""], resources=["pods"], verbs=["get"])
    wanted = {"resourceAttributes": {"namespace": "default", "verb": verb, "resource": "pods"}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    review = done(await Client(cluster, BOB).ask("POST", path, {"spec": wanted}))
    assert review["status"] == {"allowed": allowed}


async def test_rules_can_be_listed(client: Client, cluster: LocalCluster) -> None:
    await allow(client, "reader", apiGroups=[""], resources=["pods"], verbs=["get"])
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    review = done(await Client(cluster, BOB).ask("POST", path, {"spec": {"namespace": "default"}}))
    assert {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]} in review["status"]["resourceRules"]


async def test_a_question_without_a_subject_is_refused(client: Client) -> None:
    answer = await client.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {}})
    assert answer.status == 400


async def test_another_servers_metrics_need_a_role_too(strict: LocalCluster) -> None:
    bob = Client(strict, BOB)
    path = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"
    answer = await bob.ask("GET", path)
    assert answer.body["message"] == (
        'pods.metrics.k8s.io is forbidden: User "system:serviceaccount:default:bob" cannot list resource "pods" '
        'in API group "metrics.k8s.io" in the namespace "default"'
    )
    await allow(Client(strict), "metrics", apiGroups=["metrics.k8s.io"], resources=["pods"], verbs=["list"])
    assert (await bob.ask("GET", path)).status == 200
