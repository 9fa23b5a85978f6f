"""`ibmmq`, `solace-event-queue`, `solace-direct-messaging` and `pulsar`: what the recorded exchanges leave out."""

from typing import Any

import orjson
import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, as_secrets, check_scaler
from scalers.ibmmq import IbmmqScaler
from scalers.pulsar import PulsarScaler
from scalers.solace_direct_messaging import SolaceDirectMessagingScaler
from scalers.solace_event_queue import SolaceEventQueueScaler
from tests.http_server import http_server

AUTH = {"username": "ann", "password": "hunter2"}
DIRECT = {"messageVpn": "v", "clientNamePattern": "pack", "aggregatedClientTxMsgRateTarget": "20"}
QUEUE = {"messageVpn": "v", "queueName": "orders", "messageCountTarget": "20"}
TOPIC = {"topic": "persistent://public/default/clicks", "subscription": "billing"}
TRIGGERS: dict[str, tuple[Any, dict[str, str], str]] = {
    "ibmmq": (IbmmqScaler, {"queueName": "ORDERS"}, "host"),
    "solace-event-queue": (SolaceEventQueueScaler, QUEUE, "solaceSempBaseURL"),
    "solace-direct-messaging": (SolaceDirectMessagingScaler, DIRECT, "solaceSempBaseURL"),
    "pulsar": (PulsarScaler, TOPIC, "adminURL"),
}

ASKED_FIRST = {
    "ibmmq": "/x",
    "solace-event-queue": "/x/SEMP/v2/monitor/msgVpns/v",
    "solace-direct-messaging": "/x/SEMP",
    "pulsar": "/x/admin/v2/persistent/public/default/clicks/stats",
}


def on(kind: str, url: str, **metadata: str) -> dict[str, str]:
    _, minimal, key = TRIGGERS[kind]
    return {key: url, **minimal, **metadata}


@pytest.mark.parametrize("kind", TRIGGERS)
async def test_the_contract_is_kept(bench: Any, kind: str) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    trigger = Trigger(type=kind, metadata=on(kind, "http://broker:8080"), auth=as_secrets(AUTH))
    await check_scaler(TRIGGERS[kind][0], trigger, context)


@pytest.mark.parametrize("kind", TRIGGERS)
@pytest.mark.parametrize(
    "answer", ["[" * 5000, "<a>" * 5000, '{"meta": [], "subscriptions": [], "commandResponse": 7}', "5"]
)
async def test_an_answer_that_makes_no_sense_is_an_error(bench: Any, kind: str, answer: str) -> None:
    async with http_server() as server:
        server.answers[ASKED_FIRST[kind]] = answer
        scaler = await bench.opened(kind, on(kind, f"{server.url}/x"), auth=AUTH)
        with pytest.raises(ScalerError) as error:
            await scaler.read_metric((await scaler.specs())[0])
        assert len(server.asked) == 1
    assert "hunter2" not in str(error.value)
    assert "404" not in str(error.value)


@pytest.mark.parametrize("kind", TRIGGERS)
async def test_a_server_that_is_not_there_is_an_error_without_the_password(bench: Any, kind: str) -> None:
    scaler = await bench.opened(kind, on(kind, "http://127.0.0.1:1"), auth=AUTH)
    with pytest.raises(ScalerError, match=r"127\.0\.0\.1:1") as error:
        await scaler.read_metric((await scaler.specs())[0])
    assert "hunter2" not in str(error.value)


async def test_a_message_of_mq_is_told_and_cut(bench: Any) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({"commandResponse": [{"message": ["AMQ8147E: not found " + "x" * 10_000]}]})

    async with http_server() as server:
        server.answers["/mqsc"] = refuse
        scaler = await bench.opened("ibmmq", on("ibmmq", f"{server.url}/mqsc"), auth=AUTH)
        with pytest.raises(ScalerError, match="ibmmq queue ORDERS: AMQ8147E: not found") as error:
            await scaler.read()
    assert len(str(error.value)) < 600


async def test_an_address_of_mq_that_is_not_of_http_is_told(bench: Any) -> None:
    assert bench.scaler("ibmmq", on("ibmmq", "mq.shop:9443"), auth=AUTH).cautions
    assert not bench.scaler("ibmmq", on("ibmmq", "https://mq.shop:9443/x"), auth=AUTH).cautions


async def test_three_metrics_of_a_queue_are_read_one_by_one(bench: Any) -> None:
    metadata = on("solace-event-queue", "", messageSpoolUsageTarget="2", messageReceiveRateTarget="9")
    answer = {"meta": {"responseCode": 200}, "data": {"msgSpoolUsage": 3, "averageRxMsgRate": 0}}
    async with http_server() as server:
        vpn = "/SEMP/v2/monitor/msgVpns/v"
        server.answers[vpn] = '{"meta": {"responseCode": 200}, "data": {"state": "up"}}'
        server.answers[f"{vpn}/queues/orders"] = orjson.dumps(
            {**answer, "collections": {"msgs": {"count": 0}}}
        ).decode()
        scaler = await bench.opened("solace-event-queue", {**metadata, "solaceSempBaseURL": server.url}, auth=AUTH)
        readings = {spec.name: await scaler.read_metric(spec) for spec in await scaler.specs()}
        assert {name: one.value for name, one in readings.items()} == {
            "solace-orders-msgcount": 0,
            "solace-orders-msgspoolusage": 3,
            "solace-orders-msgrcvrate": 0,
        }
        assert all(one.active for one in readings.values())
        server.answers[f"{vpn}/queues/orders"] = orjson.dumps(answer).decode()
        with pytest.raises(ScalerError, match="lacks the queue's messages"):
            await scaler.read_metric((await scaler.specs())[0])


async def test_an_activation_of_direct_messaging_has_no_effect_and_is_told(bench: Any) -> None:
    metadata = on("solace-direct-messaging", "http://broker", activationAggregatedClientTxMsgRateTarget="5")
    assert "no effect" in bench.scaler("solace-direct-messaging", metadata, auth=AUTH).cautions[0]


async def test_a_topic_that_is_not_persistent_has_a_path_of_its_own(bench: Any) -> None:
    async with http_server() as server:
        server.answers["/admin/v2/non-persistent/a/b/c/stats"] = '{"subscriptions": {"billing": {"msgBacklog": 4}}}'
        metadata = on("pulsar", server.url, topic="non-persistent://a/b/c")
        assert (await (await bench.opened("pulsar", metadata)).read()).value == 4


async def test_a_token_for_pulsar_is_asked_for_once(bench: Any) -> None:
    async with http_server() as server:
        server.answers["/token"] = '{"access_token": "t0ken", "expires_in": 600}'
        stats = "/admin/v2/persistent/public/default/clicks/stats"
        server.answers[stats] = '{"subscriptions": {"billing": {"msgBacklog": 4}}}'
        auth = {"oauthTokenURI": f"{server.url}/token", "clientID": "c", "clientSecret": "s"}
        scaler = await bench.opened("pulsar", on("pulsar", server.url, authModes="oauth"), auth=auth)
        for _ in range(3):
            assert (await scaler.read()).value == 4
        assert [one.path for one in server.asked] == ["/token", stats, stats, stats]
        assert server.asked[-1].headers["Authorization"] == "Bearer t0ken"


@pytest.mark.parametrize("url", ["ftp://a.b", "solace:80", "http://"])
async def test_an_address_of_solace_that_is_not_of_http_is_refused(bench: Any, url: str) -> None:
    with pytest.raises(ConfigError, match="solaceSempBaseURL: is not an address"):
        bench.scaler("solace-direct-messaging", on("solace-direct-messaging", url), auth=AUTH)
