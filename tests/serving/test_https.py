"""HTTPS port under clients that are slow, malformed, many, or impatient."""

import asyncio
import contextlib
import gc
import random
import ssl
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from aiohttp import web

from keda_py.clock import SystemClock
from keda_py.serving.certificates import make_certificate
from keda_py.serving.https import LimitedServer
from keda_py.serving.ports.table import PortLimits
from keda_py.serving.server_tls import ServerTls
from tests.serving.conftest import QUESTION, ROOT, ServedMetrics, accepted
from tests.sweeps import size
from tests.waiting import eventually

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Port:
    """Port, with a client for raw bytes."""

    server: LimitedServer
    number: int
    context: ssl.SSLContext

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[Streams]:
        reader, writer = await asyncio.open_connection("localhost", self.number, ssl=self.context)
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()

    async def send(self, data: bytes, seconds: float = 5.0) -> bytes:
        """Send bytes; return everything until the server closes or is silent for `seconds`."""
        async with self.connected() as (reader, writer):
            return await exchange(reader, writer, data, seconds)


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes, seconds: float) -> bytes:
    got = b""
    with contextlib.suppress(TimeoutError, OSError):
        writer.write(data)
        await writer.drain()
        async with asyncio.timeout(seconds):
            while chunk := await reader.read(65536):
                got += chunk
    return got


async def _echo(request: web.Request) -> web.Response:
    await asyncio.sleep(float(request.query.get("wait", "0")))
    return web.Response(text=request.path)


async def _swallow(request: web.Request) -> web.Response:
    return web.Response(text=str(len(await request.read())))


@pytest.fixture
async def port() -> AsyncIterator[Port]:
    async with opened(PortLimits(request=0.3)) as port:
        yield port


@contextlib.asynccontextmanager
async def opened(limits: PortLimits) -> AsyncIterator[Port]:
    certificate = make_certificate(["localhost"], SystemClock().now())
    tls = ServerTls()
    tls.show(certificate)
    app = web.Application(client_max_size=1000)
    app.router.add_get("/{name:.*}", _echo)
    app.router.add_post("/{name:.*}", _swallow)
    server = LimitedServer(app, limits)
    number = await server.start("127.0.0.1", 0, tls.context(asks_clients=False))
    yield Port(server, number, ssl.create_default_context(cadata=certificate.ca.decode()))
    await accepted()
    await server.aclose()


def request(path: str, extra: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n{extra}\r\n".encode()


async def test_pipelined_requests_are_answered_in_their_order(port):
    asked = [f"/{number}?wait={0.02 if number % 3 == 0 else 0}" for number in range(20)]
    got = await port.send(b"".join(map(request, asked)) + request("/last", "Connection: close\r\n"))
    bodies = [part.split(b"\r\n\r\n")[1] for part in got.split(b"HTTP/1.1 200 OK")[1:]]
    assert bodies == [*(f"/{number}".encode() for number in range(20)), b"/last"]


async def test_a_connection_is_kept_for_the_next_request(port):
    async with port.connected() as (reader, writer):
        for _ in range(3):
            assert (await exchange(reader, writer, request("/again"), 0.2)).endswith(b"/again")


async def test_nothing_tells_which_software_answers(port):
    got = await port.send(request("/", "Connection: close\r\n"))
    assert b"aiohttp" not in got
    assert b"Server:" not in got


async def test_a_flood_of_pipelined_requests_is_read_only_as_fast_as_it_is_answered(port):
    """A client that does not read its answers is not read further, and delays no other client."""
    flood = request("/") * 1000
    async with port.connected() as (_, writer):
        sent = 0
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(2):
                while sent < 10_000:
                    writer.write(flood)
                    await writer.drain()
                    sent += 1
        assert sent < 10_000
        assert (await port.send(request("/other", "Connection: close\r\n"))).endswith(b"/other")


@pytest.mark.parametrize("sent", [b"", b"GET /slo", b"GET /slow HTTP/1.1\r\nHost: "])
@pytest.mark.parametrize("served_before", [False, True])
async def test_a_client_that_does_not_finish_its_request_is_cut_off(port, sent, served_before):
    async with port.connected() as (reader, writer):
        if served_before:
            assert (await exchange(reader, writer, request("/first"), 0.1)).endswith(b"/first")
        if sent or not served_before:
            async with asyncio.timeout(3):
                assert await exchange(reader, writer, sent, 10) == b""
    await eventually(lambda: port.server.connections == 0)


async def test_an_idle_connection_outlives_the_time_for_a_request(port):
    async with port.connected() as (reader, writer):
        assert (await exchange(reader, writer, request("/one"), 2.5)).endswith(b"/one")
        assert (await exchange(reader, writer, request("/two"), 0.3)).endswith(b"/two")


async def test_who_leaves_answers_once_more_on_each_connection_and_says_so(port):
    async with port.connected() as (reader, writer):
        writer.write(request("/1"))
        first = await reader.readuntil(b"/1")
        port.server.leave()
        writer.write(request("/2"))
        last = await reader.read()
    assert b"connection: close" not in first.lower()
    assert b"200 OK" in last
    assert b"connection: close" in last.lower()
    assert b"200 OK" in await port.send(request("/3"))  # new connections are accepted until the port closes


async def test_a_client_that_never_ends_its_handshake_is_cut_off():
    async with opened(PortLimits(handshake=0.2)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port.number)
        async with asyncio.timeout(3):
            assert await exchange(reader, writer, b"\x16\x03\x01", 3) == b""
        writer.close()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request("/" + "x" * 9000), b"400"),
        (request("/", f"X-Long: {'x' * 9000}\r\n"), b"400"),
        (request("/", "".join(f"X-{number}: y\r\n" for number in range(500))), b"400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\nConnection: close\r\n\r\n" + b"y" * 5000, b"413"),
    ],
)
async def test_what_is_too_large_is_refused(port, sent, status):
    got = await port.send(sent)
    assert got.split(b" ", 2)[1] == status


async def test_whoever_is_idle_longest_makes_room():
    async with opened(PortLimits(connections=5)) as port, contextlib.AsyncExitStack() as stack:
        for _ in range(12):
            await stack.enter_async_context(port.connected())
        await eventually(lambda: port.server.connections == 5)
        assert (await port.send(request("/still", "Connection: close\r\n"))).endswith(b"/still")


PIECES = [
    b"GET ", b"POST ", b"PRI ", b"OPTIONS * ", b"\x00\xff\xfe", b"/", b"//", b"/../", b"%00", b"%zz", b"%2e%2e%2f",
    QUESTION.encode(), ROOT.encode(), b"/namespaces/*/*", b"?labelSelector=", b"((((", b"in (a", b"!=!", b" HTTP/1.1",
    b" HTTP/2.0", b" HTTP/9", b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"Host: x", b"Host: x\r\nHost: y", b":",
    b"Content-Length: 99999999999999999999", b"Content-Length: -1", b"Content-Length: 5", b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: chunked\r\nContent-Length: 3", b"ffffffffffff\r\n", b"0\r\n\r\n", b"Expect: 100-continue",
    b"Upgrade: websocket\r\nConnection: Upgrade", b"X-Remote-User: admin", b"X-Remote-Group: system:masters",
    b"Authorization: Bearer ", b"Authorization: Bearer \xff\xff", b"Authorization: Basic Og==", b"Accept: " + b"*/*," * 90,
    b"x" * 3000, "ünïcödé".encode(), b"{\"kind\":", b"\t", b" ",
]  # fmt: skip


def malformed(chance: random.Random) -> bytes:
    """Make a request in which nearly everything may be wrong."""
    if chance.random() < 0.4:
        line = chance.choice([b"GET ", b"DELETE ", b"PATCH "]) + QUESTION.encode() + b" HTTP/1.1\r\nHost: x\r\n"
        return line + b"\r\n".join(chance.choices(PIECES, k=chance.randrange(4))) + b"\r\n\r\n"
    return b"".join(chance.choices(PIECES, k=chance.randrange(1, 12))) + chance.choice([b"", b"\r\n\r\n"])


def traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def test_malformed_requests_let_nobody_in_and_leave_nothing_behind(served: ServedMetrics, caplog):
    chance = random.Random(20)
    pairs = [None, served.cluster.identity.front_proxy, None, None]

    async def attack() -> None:
        pair = chance.choice(pairs)
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("localhost", served.port, ssl=served.context(pair))
            got = await exchange(reader, writer, malformed(chance), 0.05)
            writer.close()
            if pair is None:
                assert b"ExternalMetricValueList" not in got

    async def wave(count: int) -> None:
        for _ in range(count // 20):
            await asyncio.gather(*(attack() for _ in range(20)))

    await wave(size(200, 100))
    gc.collect()
    tracemalloc.start()
    before = traced()
    await wave(size(1000, 300))
    try:
        # Connections that are being closed still hold their buffers; memory that stays is a leak.
        await eventually(lambda: traced() - before < 3_000_000, 30)
    finally:
        tracemalloc.stop()
    assert (await served.as_user("system:serviceaccount:kube-system:horizontal-pod-autoscaler"))[0] == 200
    assert not [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]
