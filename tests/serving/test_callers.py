"""Callers of the metrics server: front proxies for others, certificates, tokens, and no others."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import aiohttp
import pytest

from keda_py.clock import SystemClock
from keda_py.localkube.access.certificates import Authority
from keda_py.localkube.access.identity import ADMIN, service_account
from keda_py.localkube.model.calls import User
from tests.serving.conftest import HPA, QUESTION, ROOT, bound, role
from tests.waiting import connections_closed, eventually

TAKEN_UP_SECONDS = 0.1
"""More than a watch takes to bring the change, which nothing shows when it is ignored."""

READ_ALL = {"apiGroups": ["external.metrics.k8s.io"], "resources": ["*"], "verbs": ["get", "list"]}
READ_ONE = {"apiGroups": ["external.metrics.k8s.io"], "resources": ["s0-x"], "verbs": ["list"]}
FORBIDDEN = (
    's0-x.external.metrics.k8s.io is forbidden: User "jane" cannot list resource "s0-x" in API group '
    '"external.metrics.k8s.io" in the namespace "shop"'
)


async def test_the_hpa_controller_is_let_in_by_the_front_proxys_word(served):
    status, body = await served.as_user(HPA, "system:serviceaccounts")
    assert (status, body["items"][0]["value"]) == (200, "7")


async def test_a_thousand_questions_of_the_hpa_controller_cost_one_review(served):
    headers = {"X-Remote-User": HPA}
    connector = aiohttp.TCPConnector(ssl=served.context(served.cluster.identity.front_proxy), limit=16)
    async with aiohttp.ClientSession(
        f"https://localhost:{served.port}", connector=connector, headers=headers
    ) as client:

        async def ask(number: int) -> int:
            question = f"{ROOT}/namespaces/ns{number % 7}/s0-m{number}?labelSelector=scaledobject.keda.sh/name=app"
            async with client.get(question) as answer:
                return answer.status

        assert set(await asyncio.gather(*(ask(number) for number in range(1000)))) == {200}
    assert served.reviews("subjectaccessreviews") == 1
    await connections_closed()


async def test_somebody_without_a_role_is_told_so_in_the_api_servers_words(served):
    status, body = await served.as_user("jane", "dev")
    assert status == 403
    assert body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": FORBIDDEN,
        "reason": "Forbidden",
        "details": {"group": "external.metrics.k8s.io", "kind": "s0-x"},
        "code": 403,
    }


async def test_a_role_for_one_metric_of_one_namespace_opens_that_and_no_more(served):
    await served.cluster.apply(
        [role("one-metric", READ_ONE, namespace="shop"), bound("Role", "one-metric", "jane", "shop")]
    )
    assert (await served.as_user("jane"))[0] == 200
    assert (await served.as_user("jane", path=QUESTION.replace("s0-x", "s1-y")))[0] == 403
    assert (await served.as_user("jane", path=QUESTION.replace("shop", "bank")))[0] == 403


async def test_a_group_counts_as_much_as_a_name(served):
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "dev"}
    await served.cluster.apply(
        [role("readers", READ_ALL), {**bound("ClusterRole", "readers", "jane"), "subjects": [subject]}]
    )
    assert (await served.as_user("jane", "ops"))[0] == 403
    assert (await served.as_user("jane", "ops", "dev"))[0] == 200


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_probes_are_open_to_everybody(served, path):
    connector = aiohttp.TCPConnector(ssl=served.context())
    async with (
        aiohttp.ClientSession(connector=connector) as client,
        client.get(f"https://localhost:{served.port}{path}") as answer,
    ):
        assert (answer.status, await answer.text()) == (200, "ok")
    await connections_closed()


@pytest.mark.parametrize("path", [QUESTION, ROOT, "/apis", "/openapi/v2", "/version", "/", "/nowhere"])
async def test_strangers_are_refused_without_a_question_to_the_api_server(served, path):
    status, body = await served.get(path)
    assert (status, body["reason"]) == (403, "Forbidden")
    assert body["message"].startswith(("s0-x.external.metrics.k8s.io is forbidden", "forbidden")), body
    assert 'User "system:anonymous" cannot' in body["message"]
    assert served.reviews("subjectaccessreviews") + served.reviews("tokenreviews") == 0


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Remote-User": "kubernetes-admin", "X-Remote-Group": "system:masters"},
        {"X-Remote-User": HPA},
        {"X-Remote-User": "system:kube-aggregator", "Authorization": "Basic YTpi"},
        {"Impersonate-User": "kubernetes-admin", "Impersonate-Group": "system:masters"},
    ],
)
async def test_headers_prove_nothing_without_the_front_proxys_certificate(served, headers):
    assert (await served.get(headers=headers))[0] == 403


async def test_an_ordinary_client_cannot_speak_for_others(served):
    pair = served.cluster.identity.client_pair(User(name="jane"))
    headers = {"X-Remote-User": "kubernetes-admin", "X-Remote-Group": "system:masters"}
    status, body = await served.get(pair=pair, headers=headers)
    assert (status, body["message"]) == (403, FORBIDDEN)


async def test_a_client_certificate_is_its_common_name_and_organisations(served):
    assert (await served.get(pair=served.cluster.identity.client_pair(ADMIN)))[0] == 200


async def test_the_front_proxy_speaks_for_nobody_when_it_names_nobody(served):
    assert (await served.get(pair=served.cluster.identity.front_proxy))[0] == 403


async def test_an_anonymous_caller_stays_anonymous_behind_the_front_proxy(served):
    await served.cluster.apply([role("readers", READ_ALL)])
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}
    await served.cluster.apply([{**bound("ClusterRole", "readers", "all"), "subjects": [subject]}])
    assert (await served.as_user("system:anonymous", "system:unauthenticated"))[0] == 403
    assert (await served.as_user("jane"))[0] == 200


@pytest.mark.parametrize("kind", ["alien authority of the same name", "self-signed", "expired", "for servers"])
async def test_certificates_that_do_not_count_end_the_handshake(served, alien, kind):
    identity, now = served.cluster.identity, SystemClock().now()
    match kind:
        case "expired":
            old = identity._front_authority
            before, old._now = old._now, now - timedelta(days=4000)
            pair, old._now = old.client("front-proxy-client"), before
        case "for servers":
            pair = identity._front_authority.server(["front-proxy-client"], [])
        case "self-signed":
            pair = Authority("front-proxy-client", now).client("front-proxy-client")
        case _:
            pair = alien.client("front-proxy-client")
    with pytest.raises((aiohttp.ClientError, OSError)):
        await served.get(pair=pair, headers={"X-Remote-User": HPA})


async def test_only_allowed_names_are_front_proxies(served):
    pair = served.cluster.identity._front_authority.client("somebody-else")
    assert (await served.get(pair=pair, headers={"X-Remote-User": HPA}))[0] == 403


async def test_another_front_proxy_authority_takes_effect_without_a_restart(served, alien):
    identity, store = served.cluster.identity, served.cluster.store
    config_maps = store.resources.get("v1", "ConfigMap")
    live = store.get(config_maps, "kube-system", "extension-apiserver-authentication")
    new = {**live["data"], "requestheader-client-ca-file": alien.certificate.decode()}
    connector = aiohttp.TCPConnector(ssl=served.context(identity.front_proxy))
    headers = {"X-Remote-User": HPA}
    async with aiohttp.ClientSession(f"https://localhost:{served.port}", connector=connector, headers=headers) as kept:
        async with kept.get(QUESTION) as answer:
            assert answer.status == 200
        await served.cluster.apply(
            [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
                    "data": new,
                }
            ]
        )
        await eventually(lambda: served.config.trust.spec.front_proxy_ca == alien.certificate.decode())
        async with kept.get(QUESTION) as answer:  # the connection stays open, but its authority is withdrawn
            assert answer.status == 403
    status, _ = await served.get(pair=alien.client("front-proxy-client"), headers=headers)
    assert status == 200
    with pytest.raises((aiohttp.ClientError, OSError)):
        await served.get(pair=identity.front_proxy, headers=headers)


async def test_a_spoilt_or_deleted_config_map_leaves_the_last_good_authorities_in_force(served):
    await served.cluster.apply(
        [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
                "data": {"requestheader-client-ca-file": "no certificate", "requestheader-allowed-names": "[]"},
            }
        ]
    )
    await asyncio.sleep(TAKEN_UP_SECONDS)
    assert (await served.as_user(HPA))[0] == 200


async def test_a_service_accounts_token_is_reviewed_and_then_remembered(served):
    token = served.cluster.identity.issue(service_account("kube-system", "horizontal-pod-autoscaler"))
    for _ in range(5):
        assert (await served.get(headers={"Authorization": f"Bearer {token}"}))[0] == 200
    assert (served.reviews("tokenreviews"), served.reviews("subjectaccessreviews")) == (1, 1)


async def test_a_path_longer_than_any_name_is_refused_before_it_is_remembered(served):
    status, body = await served.as_user(HPA, path=f"{ROOT}/namespaces/shop/{'x' * 3000}")
    assert (status, body["message"]) == (400, "the path is longer than 2048 bytes")
    assert served.reviews("subjectaccessreviews") == 0


@pytest.mark.parametrize(
    ("path", "namespace", "resource"),
    [
        ("namespaces/shop/s0-x", "shop", "s0-x"),
        ("namespaces/%73hop/s0%2Dx", "shop", "s0-x"),
        ("namespaces/shop%2Fbank/s0-x", "shop/bank", "s0-x"),
        ("namespaces/bank%2F..%2Fshop/s0-x", "bank/../shop", "s0-x"),
        ("namespaces/shop/s0-x%2Fbank", "shop", "s0-x/bank"),
        ("namespaces/shop/..%2Fbank%2Fs0-x", "shop", "../bank/s0-x"),
    ],
)
async def test_what_is_authorised_is_what_is_answered_however_it_is_escaped(served, path, namespace, resource):
    await served.cluster.apply(
        [
            role("one", {**READ_ONE, "resources": [resource]}, namespace="shop"),
            bound("Role", "one", "jane", "shop"),
        ]
    )
    status, body = await served.as_user("jane", path=f"{ROOT}/{path}?labelSelector=scaledobject.keda.sh%2Fname%3Dapp")
    if namespace != "shop":
        assert (status, f'in the namespace "{namespace}"' in body["message"]) == (403, True)
    else:
        assert (status, body["items"][0]["metricName"]) == (200, resource)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_a_token_that_nobody_issued_is_unauthorized(served, scheme):
    status, body = await served.get(headers={"Authorization": f"{scheme} made-up"})
    assert (status, body["reason"], body["message"]) == (401, "Unauthorized", "Unauthorized")


async def test_a_token_for_another_audience_is_unauthorized(served):
    token = served.cluster.identity.issue(
        service_account("kube-system", "horizontal-pod-autoscaler"), audiences=("vault",)
    )
    assert (await served.get(headers={"Authorization": f"Bearer {token}"}))[0] == 401


async def test_a_token_does_not_outrank_a_certificate(served):
    token = served.cluster.identity.issue(ADMIN)
    pair = served.cluster.identity.client_pair(User(name="jane"))
    assert (await served.get(pair=pair, headers={"Authorization": f"Bearer {token}"}))[0] == 403


async def test_while_the_api_server_is_away_only_what_is_remembered_is_let_in(served):
    token = served.cluster.identity.issue(service_account("kube-system", "horizontal-pod-autoscaler"))
    assert (await served.as_user(HPA))[0] == 200
    await served.cluster._server.stop()
    assert (await served.as_user(HPA))[0] == 200
    status, body = await served.as_user("jane")
    assert (status, body["reason"]) == (500, "InternalError")
    assert (await served.get(headers={"Authorization": f"Bearer {token}"}))[0] == 401
    assert (await served.get("/apis", served.cluster.identity.client_pair(replace(ADMIN))))[0] == 200
