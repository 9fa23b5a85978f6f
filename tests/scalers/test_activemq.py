"""`activemq` against ActiveMQ, and `artemis-queue` against beans with Artemis' names, both behind a real Jolokia."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from keda_py.errors import ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, as_secrets, check_scaler
from scalers.activemq import ActivemqScaler
from scalers.artemis_queue import ArtemisQueueScaler
from tests.scalers.servers.jolokia import PASSWORD, USER, Broker, jolokia

AUTH = {"username": USER, "password": PASSWORD}


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with jolokia(tmp_path_factory.mktemp("jolokia")) as broker:
        yield broker


async def send(broker: Broker, queue: str, messages: int) -> None:
    """By STOMP; returns when the broker has all of them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.stomp)
    with closing(writer):
        writer.write(b"CONNECT\naccept-version:1.2\nhost:x\n\n\0")
        await reader.readuntil(b"\0")
        for number in range(messages):
            writer.write(f"SEND\ndestination:/queue/{queue}\nreceipt:{number}\n\nwork\0".encode())
            await reader.readuntil(b"\0")


def on(broker: Broker, **metadata: str) -> dict[str, str]:
    endpoint = {"managementEndpoint": f"127.0.0.1:{broker.http}"}
    return {**endpoint, "destinationName": "jobs", "brokerName": "localhost", **metadata}


def artemis(broker: Broker, **metadata: str) -> dict[str, str]:
    endpoint = {"managementEndpoint": f"127.0.0.1:{broker.http}"}
    return {**endpoint, "queueName": "orders", "brokerName": "main", "brokerAddress": "addr", **metadata}


@pytest.mark.parametrize("queue", ["jobs", "a.b", "a b"])
async def test_the_messages_in_a_queue(bench: Any, broker: Broker, queue: str) -> None:
    await send(broker, queue, 6)
    scaler = await bench.opened("activemq", on(broker, destinationName=queue), auth=AUTH)
    assert (await scaler.read()).value == 6


async def test_a_template_of_ones_own(bench: Any, broker: Broker) -> None:
    await send(broker, "mails", 2)
    names = "type=Broker,brokerName=localhost,destinationType=Queue,destinationName=mails"
    template = f"http://127.0.0.1:{broker.http}/api/jolokia/read/org.apache.activemq:{names}/QueueSize"
    scaler = await bench.opened("activemq", {"restAPITemplate": template}, auth=AUTH)
    assert scaler.metric_name == "activemq-mails"
    assert (await scaler.read()).value == 2


@pytest.mark.parametrize(("queue", "messages"), [("orders", 42), ("a b/c", 7)])
async def test_the_messages_in_a_queue_of_artemis(bench: Any, broker: Broker, queue: str, messages: int) -> None:
    scaler = await bench.opened("artemis-queue", artemis(broker, queueName=queue), auth=AUTH)
    assert (await scaler.read()).value == messages
    assert scaler.activation == 10.0


async def test_a_template_of_artemis(bench: Any, broker: Broker) -> None:
    bean = 'broker="main",component=addresses,address="addr",subcomponent=queues,routing-type="anycast",queue="orders"'
    template = f"http://127.0.0.1:{broker.http}/console/jolokia/read/org.apache.activemq.artemis:{bean}/MessageCount"
    scaler = await bench.opened("artemis-queue", {"restApiTemplate": template}, auth=AUTH)
    assert (await scaler.read()).value == 42


async def test_a_queue_that_is_not_there_is_an_error(bench: Any, broker: Broker) -> None:
    for kind, metadata in (
        ("activemq", on(broker, destinationName="no")),
        ("artemis-queue", artemis(broker, queueName="no")),
    ):
        scaler = await bench.opened(kind, metadata, auth=AUTH)
        with pytest.raises(ScalerError, match='queue "no": .* status 404 inside'):
            await scaler.read()


async def test_a_wrong_password_is_an_error_that_does_not_tell_it(bench: Any, broker: Broker) -> None:
    for kind, metadata in (("activemq", on(broker)), ("artemis-queue", artemis(broker))):
        scaler = await bench.opened(kind, metadata, auth={"username": USER, "password": "hunter2"})
        with pytest.raises(ScalerError, match="status 401") as wrong:
            await scaler.read()
        assert "hunter2" not in str(wrong.value)


@pytest.mark.parametrize(
    ("kind", "scaler", "metadata"),
    [("activemq", ActivemqScaler, on(Broker(1, 2))), ("artemis-queue", ArtemisQueueScaler, artemis(Broker(1, 2)))],
)
async def test_the_contract_is_kept(bench: Any, kind: str, scaler: Any, metadata: dict[str, str]) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(scaler, Trigger(type=kind, metadata=metadata, auth=as_secrets(AUTH)), context)
