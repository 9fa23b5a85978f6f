"""`nats-jetstream` against real NATS servers, one alone and three as a cluster."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import nats as client
import pytest

from keda_py.errors import ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, check_scaler
from scalers.nats_jetstream import NatsJetStreamScaler
from tests.scalers.servers.nats import Nats, nats


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nats]:
    with nats(tmp_path_factory.mktemp("nats")) as (server,):
        yield server


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Nats]]:
    with nats(tmp_path_factory.mktemp("nats"), 3) as servers:
        yield servers


@asynccontextmanager
async def jetstream(server: Nats) -> AsyncIterator[Any]:
    connection = await client.connect(server.url, user="shop", password="s3cret")
    try:
        yield connection.jetstream(timeout=20)
    finally:
        await connection.close()


async def fill(stream: Any, name: str, messages: int, *, replicas: int = 1, taken: int = 0) -> None:
    """A stream of that name and its consumer `work`, which holds `taken` messages and has acknowledged none."""
    await stream.add_stream(name=name, subjects=[name], num_replicas=replicas)
    for _ in range(messages):
        await stream.publish(name, b"x")
    consumer = await stream.pull_subscribe(name, durable="work")
    if taken:
        await consumer.fetch(taken)


def on(server: Nats, stream: str, consumer: str = "work") -> dict[str, str]:
    return {
        "natsServerMonitoringEndpoint": server.monitoring,
        "account": "SHOP",
        "stream": stream,
        "consumer": consumer,
    }


async def test_what_waits_and_what_is_not_acknowledged(bench: Any, server: Nats) -> None:
    async with jetstream(server) as stream:
        await fill(stream, "orders", 9, taken=2)
        scaler = await bench.opened("nats-jetstream", on(server, "orders"))
        assert (await scaler.read()).value == 9


async def test_an_empty_stream_is_0_and_a_missing_one_is_an_error(bench: Any, server: Nats) -> None:
    async with jetstream(server) as stream:
        await fill(stream, "empty", 0)
    wanted = [on(server, "empty"), on(server, "gone"), on(server, "empty", "gone")]
    scalers = [await bench.opened("nats-jetstream", metadata) for metadata in wanted]
    assert len({scaler.batch_key for scaler in scalers}) == 1
    empty, *missing = await scalers[0].read_batch(scalers)
    assert empty.value == 0
    assert [str(error) for error in missing] == [
        'consumer "work" not found in stream "gone"',
        'consumer "gone" not found in stream "empty"',
    ]


async def test_the_leader_of_a_consumer_is_found_in_a_cluster(bench: Any, cluster: list[Nats]) -> None:
    async with jetstream(cluster[0]) as stream:
        for number in range(4):
            await fill(stream, f"s{number}", number + 1, replicas=3)
    for server in cluster:
        scalers = [await bench.opened("nats-jetstream", on(server, f"s{number}")) for number in range(4)]
        for _ in ("searched", "known"):
            assert [one.value for one in await scalers[0].read_batch(scalers)] == [1, 2, 3, 4]


async def test_a_leader_that_changes_is_found_again(bench: Any, cluster: list[Nats]) -> None:
    async with jetstream(cluster[0]) as stream:
        await fill(stream, "moved", 2, replicas=3)
    scaler = await bench.opened("nats-jetstream", on(cluster[0], "moved"))
    assert (await scaler.read()).value == 2
    other = next(server for server in cluster if server.monitoring not in scaler._leader[0])
    scaler._leader = (f"http://{other.monitoring}", scaler._leader[1])
    assert (await scaler.read()).value == 2


async def test_a_server_that_is_not_there_is_an_error(bench: Any) -> None:
    scaler = await bench.opened("nats-jetstream", on(Nats(url="", monitoring="127.0.0.1:1"), "orders"))
    with pytest.raises(ScalerError, match=r"127\.0\.0\.1:1/jsz"):
        await scaler.read()


async def test_the_contract_is_kept(bench: Any, server: Nats) -> None:
    async with jetstream(server) as stream:
        await fill(stream, "contract", 0)
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(NatsJetStreamScaler, Trigger(type="nats-jetstream", metadata=on(server, "contract")), context)
