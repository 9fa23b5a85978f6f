"""Admission webhooks are called over HTTPS before a write is stored, as by a real API server."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from keda_py.clock import SystemClock
from keda_py.localkube.access.certificates import Authority
from tests.builders import bare_scaled_object, config_map
from tests.localkube.access.webhook import NAME, Webhook
from tests.localkube.client import CONFIGMAPS, SCALED_OBJECTS, Client

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    authority = Authority("webhook-ca", SystemClock().now())
    async with Webhook(authority, "localhost", "vet.default.svc") as running:
        yield running


async def install(client: Client, webhook: Webhook, **changes: Any) -> None:
    await client.create(WEBHOOKS, webhook.configuration(**changes))


async def test_a_webhook_sees_every_change_that_its_rules_match(client: Client, webhook: Webhook) -> None:
    await install(client, webhook)
    await client.create(SCALED_OBJECTS, bare_scaled_object(name="web"))
    await client.merge(f"{SCALED_OBJECTS}/web", {"spec": {"maxReplicaCount": 9}})
    await client.merge(f"{SCALED_OBJECTS}/web/status", {"status": {"hpaName": "x"}})
    await client.create(CONFIGMAPS, config_map("a"))
    await client.ask("DELETE", f"{SCALED_OBJECTS}/web")
    assert [question["operation"] for question in webhook.asked] == ["CREATE", "UPDATE", "DELETE"]
    created, changed, deleted = webhook.asked
    assert (created["oldObject"], deleted["object"]) == (None, None)
    assert changed["object"]["spec"]["maxReplicaCount"] == 9
    assert changed["userInfo"]["username"] == "kubernetes-admin"
    assert changed["resource"] == {"group": "keda.sh", "version": "v1alpha1", "resource": "scaledobjects"}


async def test_a_refusal_reaches_the_client_and_stores_nothing(client: Client, webhook: Webhook) -> None:
    await install(client, webhook)
    webhook.verdict = {"allowed": False, "status": {"code": 403, "message": "no cron on Fridays"}}
    answer = await client.ask("POST", SCALED_OBJECTS, bare_scaled_object(name="web"))
    assert answer.status == 403
    assert answer.body["message"] == f'admission webhook "{NAME}" denied the request: no cron on Fridays'
    assert (await client.get(SCALED_OBJECTS))["items"] == []


async def test_a_warning_reaches_the_client(client: Client, webhook: Webhook) -> None:
    await install(client, webhook)
    webhook.verdict = {"allowed": True, "warnings": ["the query is slow"]}
    answer = await client.ask("POST", SCALED_OBJECTS, bare_scaled_object(name="web"))
    assert answer.headers["Warning"] == '299 - "the query is slow"'


@pytest.mark.parametrize("writes", [2, 20])
async def test_a_webhook_is_asked_on_one_connection_whatever_the_number_of_writes(
    client: Client, webhook: Webhook, writes: int
) -> None:
    await install(client, webhook)
    for number in range(writes):
        await client.create(SCALED_OBJECTS, bare_scaled_object(name=f"web{number}"))
    assert (len(webhook.asked), len(webhook.connections)) == (writes, 1)


async def test_a_webhook_that_has_closed_a_kept_connection_is_asked_on_a_new_one(
    client: Client, webhook: Webhook
) -> None:
    await install(client, webhook)
    await client.create(SCALED_OBJECTS, bare_scaled_object(name="web"))
    webhook.leaves = True
    await client.create(SCALED_OBJECTS, bare_scaled_object(name="shop"))
    assert [question["name"] for question in webhook.asked] == ["web", "shop", "shop"]
    assert len(webhook.connections) == 2


async def test_a_webhook_that_breaks_a_new_connection_is_not_asked_again(client: Client, webhook: Webhook) -> None:
    await install(client, webhook)
    webhook.leaves = True
    answer = await client.ask("POST", SCALED_OBJECTS, bare_scaled_object(name="web"))
    assert (answer.status, len(webhook.asked)) == (500, 1)
    assert f'failed calling webhook "{NAME}"' in answer.body["message"]


async def test_a_webhook_with_another_certificate_is_asked_on_another_connection(
    client: Client, webhook: Webhook
) -> None:
    await install(client, webhook)
    await client.create(SCALED_OBJECTS, bare_scaled_object(name="web"))
    stranger = Webhook(Authority("stranger", SystemClock().now()))
    config = {"url": f"https://localhost:{webhook.port}/vet", "caBundle": stranger.bundle}
    await client.ask("DELETE", f"{WEBHOOKS}/vet")
    await install(client, webhook, clientConfig=config)
    answer = await client.ask("POST", SCALED_OBJECTS, bare_scaled_object(name="shop"))
    assert (answer.status, len(webhook.asked)) == (500, 1)


async def test_a_webhook_knows_of_a_dry_run(client: Client, webhook: Webhook) -> None:
    await install(client, webhook)
    await client.create(SCALED_OBJECTS, bare_scaled_object(name="web"), dryRun="All")
    assert webhook.asked[0]["dryRun"] is True


@pytest.mark.parametrize(("policy", "status"), [("Fail", 500), ("Ignore", 201)])
async def test_a_webhook_that_hangs_fails_by_its_failure_policy(
    client: Client, webhook: Webhook, policy: str, status: int
) -> None:
    await install(client, webhook, failurePolicy=policy, timeoutSeconds=1)
    webhook.hangs = True
    answer = await client.ask("POST", SCALED_OBJECTS, bare_scaled_object(name="web"))
    assert answer.status == status
    if status == 500:
        assert f'failed calling webhook "{NAME}"' in answer.body["message"]


async def test_a_webhook_with_an_untrusted_certificate_fails(client: Client, webhook: Webhook) -> None:
    stranger = Webhook(Authority("stranger", SystemClock().now()))
    config = {"url": f"https://localhost:{webhook.port}/vet", "caBundle": stranger.bundle}
    await install(client, webhook, clientConfig=config)
    assert (await client.ask("POST", SCALED_OBJECTS, bare_scaled_object(name="web"))).status == 500
    assert webhook.asked == []


async def test_a_namespace_can_be_left_out(client: Client, webhook: Webhook) -> None:
    name = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["default"]}
    await install(client, webhook, namespaceSelector={"matchExpressions": [name]})
    await client.create(SCALED_OBJECTS, bare_scaled_object(name="web"))
    assert webhook.asked == []


async def test_objects_can_be_left_out(client: Client, webhook: Webhook) -> None:
    await install(client, webhook, objectSelector={"matchLabels": {"vet": "yes"}})
    await client.create(SCALED_OBJECTS, bare_scaled_object(name="web"))
    await client.merge(f"{SCALED_OBJECTS}/web", {"metadata": {"labels": {"vet": "yes"}}})
    assert [question["operation"] for question in webhook.asked] == ["UPDATE"]


async def test_a_webhook_behind_a_service_is_found(client: Client, webhook: Webhook) -> None:
    core = "/api/v1/namespaces/default"
    port = {"port": 443, "targetPort": webhook.port}
    await client.create(f"{core}/services", {"metadata": {"name": "vet"}, "spec": {"ports": [port]}})
    subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": webhook.port}]}
    await client.create(f"{core}/endpoints", {"metadata": {"name": "vet"}, "subsets": [subset]})
    service = {"namespace": "default", "name": "vet", "path": "/vet", "port": 443}
    await install(client, webhook, clientConfig={"service": service, "caBundle": webhook.bundle})
    await client.create(SCALED_OBJECTS, bare_scaled_object(name="web"))
    assert len(webhook.asked) == 1


def condition(expression: str, name: str = "one") -> dict[str, str]:
    return {"name": name, "expression": expression}


async def test_a_webhook_is_asked_only_if_all_its_conditions_are_true(client: Client, webhook: Webhook) -> None:
    conditions = [
        condition('request.operation != "UPDATE" || object.spec != oldObject.spec', "changed"),
        condition('request.userInfo.username != "system:serviceaccount:keda:keda-operator"', "not-ours"),
    ]
    await install(client, webhook, matchConditions=conditions)
    await client.create(SCALED_OBJECTS, bare_scaled_object(name="web"))
    await client.merge(f"{SCALED_OBJECTS}/web", {"metadata": {"labels": {"team": "a"}}})
    await client.merge(f"{SCALED_OBJECTS}/web", {"spec": {"maxReplicaCount": 9}})
    assert [question["operation"] for question in webhook.asked] == ["CREATE", "UPDATE"]
    assert webhook.asked[1]["object"]["spec"]["maxReplicaCount"] == 9


BROKEN = condition("object.spec.nothing == 1", "broken")


async def test_a_condition_that_fails_refuses_the_write_if_the_policy_is_fail(client: Client, webhook: Webhook) -> None:
    await install(client, webhook, matchConditions=[BROKEN])
    answer = await client.ask("POST", SCALED_OBJECTS, bare_scaled_object(name="web"))
    assert answer.status == 403
    assert answer.body["message"].startswith(
        "scaledobjects.keda.sh \"web\" is forbidden: expression 'object.spec.nothing == 1' resulted in error: no such key"
    )
    assert webhook.asked == []


async def test_a_condition_that_fails_passes_the_webhook_over_if_the_policy_is_ignore(
    client: Client, webhook: Webhook
) -> None:
    await install(client, webhook, matchConditions=[BROKEN], failurePolicy="Ignore")
    assert (await client.ask("POST", SCALED_OBJECTS, bare_scaled_object(name="web"))).status == 201
    assert webhook.asked == []


async def test_a_condition_that_is_false_decides_whatever_fails_beside_it(client: Client, webhook: Webhook) -> None:
    await install(client, webhook, matchConditions=[BROKEN, condition("false", "never")])
    assert (await client.ask("POST", SCALED_OBJECTS, bare_scaled_object(name="web"))).status == 201
    assert webhook.asked == []


async def test_a_condition_that_cannot_be_read_is_refused_with_its_configuration(
    client: Client, webhook: Webhook
) -> None:
    wrong = webhook.configuration(matchConditions=[condition("object.spec ==")])
    answer = await client.ask("POST", WEBHOOKS, wrong)
    assert answer.status == 422
    assert "webhooks[0].matchConditions[0].expression" in answer.body["message"]
