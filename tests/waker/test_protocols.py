"""Clients of all kinds wake what they ask for, each by the real program or library, none with a word about the waker."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import aiomysql
import asyncpg
import grpc.aio
import httpx
import pytest
from aiohttp import WSMsgType, web

from tests.certificates import Authority
from tests.http_server import http_server
from tests.scalers.servers.mariadb import mariadb
from tests.scalers.servers.postgres import PASSWORD, USER, postgres
from tests.scalers.servers.restartable import Restartable
from tests.servers import LOOPBACK, binary, free_port, redis_command, running
from tests.waiting import eventually
from tests.waker.lab import Lab, open_lab

SETTLED_SECONDS = 0.2
"""Real time in which a socket that still takes something would have taken it."""
Sleeping = Callable[[int], Awaitable[int]]
"""From the port of a server to that of a sleeping Service, whose pod the server is once a request has woken it."""


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with open_lab(tmp_path) as found:
        yield found


@pytest.fixture
async def asleep(lab: Lab) -> Sleeping:
    async def sleep(pod: int) -> int:
        async def wake(_: Any) -> None:
            lab.on_call = None
            await lab.pods("web", {"": [pod]})

        [port] = await lab.sleep()
        lab.on_call = wake
        return port

    return sleep


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def database(authority: Authority) -> Iterator[Restartable]:
    with postgres(authority.leaf("postgres")) as server:
        yield server


async def output_of(*command: str) -> str:
    """What a program writes; it has to succeed."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return out.decode()


async def test_curl_and_a_large_body(asleep: Sleeping, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"0123456789" * 500_000)
    async with http_server() as shop:

        async def count(request: web.Request) -> web.Response:
            assert request.content_length is None  # sent in chunks, as curl does with a pipe
            total = 0
            async for piece in request.content.iter_any():
                total += len(piece)
            return web.Response(text=f"{total} bytes")

        shop.answers["/count"] = count
        port = await asleep(shop.port)
        command = ("curl", "-sS", "--noproxy", "*", "-H", "Transfer-Encoding: chunked", "-T", str(tmp_path / "body"))
        text = await output_of(binary("curl", "curl"), *command[1:], f"http://{LOOPBACK}:{port}/count")
    assert text == "5000000 bytes"


async def is_free(lab: Lab) -> bool:
    """Whether the waker has no connection any more."""
    return await lab.metric("keda_py_waker_open_connections") == 0


async def test_several_requests_over_a_client_that_keeps_connections(asleep: Sleeping, lab: Lab) -> None:
    async with http_server() as shop, httpx.AsyncClient(trust_env=False, timeout=60) as client:
        shop.answers["/"] = "hello"
        url = f"http://{LOOPBACK}:{await asleep(shop.port)}/"
        answers = [(await client.get(url)).text for _ in range(3)]
        assert answers == ["hello"] * 3
        await eventually(lambda: is_free(lab))
        peers = {request.transport.get_extra_info("peername") for request in shop.asked if request.transport}
    assert len(shop.asked) == 3
    assert len(peers) <= 1  # each connection has ended: the client went through the Service anew


@asynccontextmanager
async def greeter() -> AsyncIterator[int]:
    """The port of a server of gRPC that says hello."""

    async def greet(request: bytes, _: Any) -> bytes:
        return b"hello " + request

    method = grpc.unary_unary_rpc_method_handler(greet)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("shop.Greeter", {"Greet": method}),))
    port = server.add_insecure_port(f"{LOOPBACK}:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


async def test_grpc_with_its_deadline(asleep: Sleeping) -> None:
    async with greeter() as pod:
        port = await asleep(pod)
        async with grpc.aio.insecure_channel(f"{LOOPBACK}:{port}", (("grpc.enable_http_proxy", 0),)) as channel:
            call = channel.unary_unary("/shop.Greeter/Greet")
            assert [await call(name, timeout=60) for name in (b"anna", b"bob")] == [b"hello anna", b"hello bob"]


async def test_a_grpc_client_waits_for_longer_than_it_would_for_a_silent_server(asleep: Sleeping, lab: Lab) -> None:
    """It gives a connection up for which no SETTINGS come; how soon is set here."""
    impatient = (("grpc.enable_http_proxy", 0), ("grpc.min_reconnect_backoff_ms", 500))
    port = await asleep(free_port())
    lab.on_call = None
    async with grpc.aio.insecure_channel(f"{LOOPBACK}:{port}", impatient) as channel:
        async with asyncio.timeout(60):
            await channel.channel_ready()


async def test_a_grpc_client_goes_to_the_pods_once_the_slice_is_gone(lab: Lab) -> None:
    async with greeter() as pod:
        [port] = await lab.sleep()
        await lab.pods("web", {"": [pod]})
        async with grpc.aio.insecure_channel(f"{LOOPBACK}:{port}", (("grpc.enable_http_proxy", 0),)) as channel:
            call = channel.unary_unary("/shop.Greeter/Greet")
            assert await call(b"anna", timeout=60) == b"hello anna"
            await lab.delete()
            await eventually(lambda: is_free(lab))


async def test_a_websocket_that_stays_open(asleep: Sleeping) -> None:
    async def echo(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await socket.send_str(f"echo {message.data}")
        return socket

    async with http_server() as shop, aiohttp.ClientSession() as session:
        shop.answers["/ws"] = echo
        port = await asleep(shop.port)
        async with session.ws_connect(f"http://{LOOPBACK}:{port}/ws") as socket:
            for text in ("one", "two", "x" * 300_000):
                await socket.send_str(text)
                assert await socket.receive_str() == f"echo {text}"


async def test_tls_from_end_to_end(asleep: Sleeping, authority: Authority, tmp_path: Path) -> None:
    trust = ssl.create_default_context(cadata=authority.cert)
    async with http_server(authority.server_context(tmp_path)) as shop:
        shop.answers["/"] = "secret"
        port = await asleep(shop.port)
        async with httpx.AsyncClient(trust_env=False, verify=trust, timeout=60) as client:
            assert (await client.get(f"https://{LOOPBACK}:{port}/")).text == "secret"


async def test_psql(asleep: Sleeping, database: Restartable) -> None:
    port = await asleep(database.port)
    url = f"postgresql://{USER}:{PASSWORD}@{LOOPBACK}:{port}/postgres?sslmode=require"
    assert await output_of(binary("psql", "postgresql-client"), url, "-Atc", "SELECT 6 * 7") == "42\n"


async def test_asyncpg(asleep: Sleeping, database: Restartable) -> None:
    port = await asleep(database.port)
    client = await asyncpg.connect(
        host=LOOPBACK, port=port, user=USER, password=PASSWORD, database="postgres", ssl=False, timeout=60
    )
    assert await client.fetchval("SELECT 6 * 7") == 42
    await client.close()


async def test_redis_cli(asleep: Sleeping, tmp_path: Path) -> None:
    pod = free_port()
    with running(redis_command(pod, tmp_path), pod, tmp_path / "log"):
        port = await asleep(pod)
        cli = (binary("redis-cli", "redis-tools"), "-h", LOOPBACK, "-p", str(port))
        assert await output_of(*cli, "SET", "a", "b") == "OK\n"
        assert await output_of(*cli, "GET", "a") == "b\n"


async def test_a_server_that_speaks_first(asleep: Sleeping, authority: Authority) -> None:
    with mariadb(authority.leaf("mariadb")) as server:
        port = await asleep(server.port)
        client = await aiomysql.connect(host=LOOPBACK, port=port, user=USER, password=PASSWORD, connect_timeout=60)
        async with client.cursor() as cursor:
            await cursor.execute("SELECT 6 * 7")
            assert await cursor.fetchone() == (42,)
        client.close()


async def test_a_client_that_ends_its_direction_still_gets_the_answer(asleep: Sleeping, lab: Lab) -> None:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read()).upper())
        writer.close()

    async with await asyncio.start_server(shout, LOOPBACK, 0) as server:
        port = await asleep(server.sockets[0].getsockname()[1])
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(b"hello\r\n")
        writer.write_eof()
        assert await reader.read() == b"HELLO\r\n"
        await eventually(lambda: is_free(lab))
        writer.close()


async def test_a_slow_reader_slows_the_pod_and_not_the_memory_of_the_waker(lab: Lab, asleep: Sleeping) -> None:
    sent = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readline()
        for _ in range(400):
            writer.write(b"x" * 100_000)
            await writer.drain()
            sent += 100_000
        writer.close()

    async with await asyncio.start_server(pour, LOOPBACK, 0) as server:
        port = await asleep(server.sockets[0].getsockname()[1])
        reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=1000)
        writer.write(b"go\r\n")
        await reader.readexactly(1)
        before = -1
        while before != sent:  # until nothing moves any more
            before = sent
            await asyncio.sleep(SETTLED_SECONDS)
        assert sent < 20_000_000
        total = 1
        while piece := await reader.read(1_000_000):
            total += len(piece)
        writer.close()
    assert total == 40_000_000
    await eventually(lambda: sent == 40_000_000)
