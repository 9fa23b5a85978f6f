"""Messages on the subjects of a real NATS tell of work, where clients without credentials may hear them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, aclosing, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import nats as client
import pytest

from keda_py.net.tls import TlsContexts
from keda_py.testing import shared_context
from scalers.shared.protocols import listening
from tests.certificates import Authority
from tests.scalers.conftest import Bench
from tests.scalers.hearing import SECONDS, Heard, hearing, next_of, until_told
from tests.scalers.servers.nats import Nats, nats
from tests.servers import free_port
from tests.waiting import eventually, turns

OPEN = "no_auth_user: shop\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nats]:
    with nats(tmp_path_factory.mktemp("nats"), more=OPEN) as (server,):
        yield server


@asynccontextmanager
async def jetstream(server: Nats, **tls: Any) -> AsyncIterator[Any]:
    connection = await client.connect(server.url, user="shop", password="s3cret", **tls)
    try:
        yield connection.jetstream(timeout=20)
    finally:
        await connection.close()


async def opened(bench: Bench, server: Nats, stream: Any, name: str, **consumer: Any) -> Any:
    """A scaler that has been read, on a stream with the subjects `<name>.*` and its consumer `work`."""
    await stream.add_stream(name=name, subjects=[f"{name}.*"])
    await stream.add_consumer(name, durable_name="work", ack_policy="explicit", **consumer)
    metadata = {"natsServerMonitoringEndpoint": server.monitoring, "account": "SHOP", "stream": name}
    scaler = await bench.opened("nats-jetstream", metadata | {"consumer": "work"})
    assert (await scaler.read()).value == 0
    return scaler


async def subscriptions(server: Nats, count: int) -> None:
    """So many of clients without a name of their own, which is ours."""

    async def holds() -> bool:
        async with httpx.AsyncClient() as http:
            found = (await http.get(f"http://{server.monitoring}/connz?subs=1")).json()["connections"]
        return sum(one["subscriptions"] for one in found if one.get("name") == "keda-py") == count

    await eventually(holds, SECONDS)


async def test_a_message_is_told_at_once(bench: Bench, server: Nats) -> None:
    async with jetstream(server) as stream:
        scaler = await opened(bench, server, stream, "orders")
        async with hearing(scaler) as heard:
            await subscriptions(server, 1)
            await stream.publish("orders.new", b"x" * 200_000)
            await heard.next()
            assert (await scaler.read()).value == 1
    await subscriptions(server, 0)
    assert bench.lent.connections.held == 0


async def test_only_what_the_consumer_takes_is_told(bench: Bench, server: Nats) -> None:
    async with jetstream(server) as stream:
        scaler = await opened(bench, server, stream, "parcels", filter_subject="parcels.big")
        async with hearing(scaler) as heard:
            await subscriptions(server, 1)
            await stream.publish("parcels.small", b"x")
            await turns(50)
            assert not heard.count
            await stream.publish("parcels.big", b"x")
            await heard.next()


async def test_a_thousand_messages_are_two_events(bench: Bench, server: Nats) -> None:
    async with jetstream(server) as stream:
        scaler = await opened(bench, server, stream, "many")
        async with asyncio.timeout(SECONDS), aclosing(scaler.watch()) as events, asyncio.TaskGroup() as tasks:
            first = tasks.create_task(next_of(events))
            await subscriptions(server, 1)
            for number in range(1000):
                await stream.publish("many.x", str(number).encode())
            assert await first
            await subscriptions(server, 0)
            assert await anext(events), "what came before it was asked for again"
            third = tasks.create_task(next_of(events))
            await subscriptions(server, 1)
            assert not third.done()
            await stream.publish("many.x", b"x")
            assert await third
            assert (await scaler.read()).value == 1001


async def test_triggers_of_an_account_share_a_connection(bench: Bench, server: Nats) -> None:
    async with jetstream(server) as stream:
        scalers = [await opened(bench, server, stream, f"s{number}") for number in range(6)]
        heard = [Heard(scaler.watch()) for scaler in scalers]
        async with asyncio.TaskGroup() as tasks:
            following = [tasks.create_task(one.follow()) for one in heard]
            await subscriptions(server, 6)
            await stream.publish("s4.x", b"x")
            await heard[4].next()
            assert [number for number, one in enumerate(heard) if one.count] == [4]
            assert bench.lent.connections.held == 1
            for task in following:
                task.cancel()


async def test_a_server_that_restarts_is_listened_to_again(bench: Bench, tmp_path: Path) -> None:
    ports = (free_port(), free_port(), free_port())
    with ExitStack() as first, nats_again(tmp_path, ports) as second:
        (server,) = first.enter_context(nats(tmp_path, more=OPEN, ports=ports))
        async with jetstream(server) as stream:
            scaler = await opened(bench, server, stream, "orders")
        async with hearing(scaler) as heard:
            await subscriptions(server, 1)
            first.close()
            second()
            async with jetstream(server) as stream:
                await until_told(heard, partial(stream.publish, "orders.new", b"x"))


@contextmanager
def nats_again(folder: Path, ports: tuple[int, int, int]) -> Iterator[Callable[[], object]]:
    """Start the same server again."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(nats(folder, more=OPEN, ports=ports))


async def test_a_server_that_wants_credentials_is_polled_alone(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", listening.__name__)
    with nats(tmp_path) as (server,):
        async with jetstream(server) as stream:
            scaler = await opened(bench, server, stream, "orders")
            async with hearing(scaler) as heard:
                await eventually(lambda: caplog.records, SECONDS)
                await stream.publish("orders.new", b"x")
                assert (await scaler.read()).value == 1
    (told,) = caplog.records
    assert told.__dict__["error"] == "nats: the server wants credentials of clients"
    assert told.__dict__["refused"]
    assert not heard.count


async def test_a_subject_that_may_not_be_heard_hinders_no_other(bench: Bench, tmp_path: Path) -> None:
    users = '{user: shop, password: s3cret}, {user: eve, password: x, permissions: {subscribe: ["good.>"]}}'
    accounts = f"accounts: {{SHOP: {{users: [{users}], jetstream: enabled}}, SYS: {{}}}}\nno_auth_user: eve\n"
    with nats(tmp_path, more=accounts) as (server,):
        async with jetstream(server) as stream:
            bad, good = [await opened(bench, server, stream, name) for name in ("bad", "good")]
            async with hearing(bad) as refused, hearing(good) as heard:
                await subscriptions(server, 1)
                await stream.publish("bad.x", b"x")
                await stream.publish("good.x", b"x")
                await heard.next()
                assert not refused.count


async def test_a_server_that_wants_tls_gets_it_and_is_verified(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", listening.__name__)
    authority, trusted = Authority(), tmp_path / "trusted"
    trusted.mkdir()
    (trusted / "ca.pem").write_text(authority.cert)
    pair = authority.leaf("nats", hosts=("127.0.0.1",))
    for name, text in {"cert.pem": pair.cert, "key.pem": pair.key}.items():
        (tmp_path / name).write_text(text)
    tls = f'tls: {{cert_file: "{tmp_path}/cert.pem", key_file: "{tmp_path}/key.pem"}}\n'
    with nats(tmp_path, more=OPEN + tls) as (server,):
        verified = ssl.create_default_context(cafile=str(trusted / "ca.pem"))
        lending = shared_context(tls=TlsContexts(ca_dirs=[str(trusted)]))
        async with jetstream(server, tls=verified) as stream, lending as lent:
            trusting = Bench(lent)
            scaler = await opened(trusting, server, stream, "orders")
            async with hearing(scaler) as heard:
                await subscriptions(server, 1)
                await stream.publish("orders.new", b"x")
                await heard.next()
            await trusting.aclose()
            scaler = await opened(bench, server, stream, "parcels")
            async with hearing(scaler):
                await eventually(lambda: "CERTIFICATE_VERIFY_FAILED" in str([one.__dict__ for one in caplog.records]))
