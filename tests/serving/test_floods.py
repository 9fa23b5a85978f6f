"""Ports under floods of clients that never finish: others are answered, and nothing grows without end."""

import asyncio
import contextlib
import gc
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterator

import pytest
from aiohttp import web
from prometheus_client import Gauge

from keda_py.clock import SystemClock
from keda_py.serving.certificates import make_certificate
from keda_py.serving.https import LimitedServer
from keda_py.serving.ports.table import PortLimits
from keda_py.serving.server_tls import ServerTls
from keda_py.telemetry.page import AT_ONCE, PIECE_BYTES, MetricsPage
from keda_py.telemetry.prometheus import OperatorMetrics
from tests.waiting import eventually

ATTACKER, KUBELET = "127.0.0.2", "127.0.0.1"
PROBE = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def _ok(_: web.Request) -> web.Response:
    return web.Response(text="ok")


async def _fails(_: web.Request) -> web.Response:
    raise LookupError("secret inside")


@contextlib.asynccontextmanager
async def plain(
    limits: PortLimits | None = None, page: MetricsPage | None = None
) -> AsyncIterator[tuple[LimitedServer, int]]:
    app = web.Application()
    app.router.add_get("/healthz", _ok)
    app.router.add_get("/fails", _fails)
    if page is not None:
        app.router.add_get("/metrics", page.answer)
    server = LimitedServer(app, limits)
    try:
        yield server, await server.start("127.0.0.1", 0, None)
    finally:
        await server.aclose()


async def ask(port: int, request: bytes = PROBE, source: str = KUBELET) -> bytes:
    """Send a request and return all bytes of the answer."""
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
        try:
            writer.write(request)
            return await reader.read()
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


@contextlib.contextmanager
def half_open(port: int, count: int, source: str = ATTACKER, said: bytes = b"GET /hea") -> Iterator[None]:
    """Open connections that begin something, never end it, and read no answer."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.bind((source, 0))
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
            with contextlib.suppress(OSError):
                one.send(said)
        yield


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("source", [ATTACKER, KUBELET])
async def test_two_thousand_half_open_requests_take_a_bounded_number_of_descriptors(source: str) -> None:
    async with plain(PortLimits(connections=100)) as (server, port):
        before = open_descriptors()
        with contextlib.ExitStack() as stack:
            for _ in range(20):
                stack.enter_context(half_open(port, 100, source))
                assert (await ask(port)).endswith(b"ok")
            assert server.connections <= 100
            await eventually(lambda: open_descriptors() - before <= 2000 + 100)


async def test_half_open_handshakes_make_room_for_whole_ones() -> None:
    tls = ServerTls()
    tls.show(make_certificate(["localhost"], SystemClock().now()))
    app = web.Application()
    app.router.add_get("/healthz", _ok)
    server = LimitedServer(app, PortLimits(connections=50))
    port = await server.start("127.0.0.1", 0, tls.context(asks_clients=False))
    context = tls_of_clients()
    with contextlib.ExitStack() as stack:
        for said in (b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00"):
            stack.enter_context(half_open(port, 100, said=said))
            async with asyncio.timeout(20):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
                writer.write(PROBE)
                assert (await reader.read()).endswith(b"ok")
                writer.close()
            assert server.connections <= 50
    await server.aclose()


def tls_of_clients() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def test_the_kubelet_is_answered_while_an_address_keeps_the_port_full() -> None:
    """Connections of the flooding address are dropped one after the other; the kubelet's own stays until it is
    answered.
    """
    async with plain(PortLimits(connections=20)) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(KUBELET, 0))
        writer.write(PROBE[:10])  # slow, but complete
        await eventually(lambda: server.connections == 1)
        with half_open(port, 200):
            await eventually(lambda: server.connections == 20)
            writer.write(PROBE[10:])
            async with asyncio.timeout(10):
                assert (await reader.read()).endswith(b"ok")
        writer.close()


MALFORMED = [
    b"\x00\xff\xfe\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"G ET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
    b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n",
    b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
]  # fmt: skip


@pytest.mark.parametrize("sent", MALFORMED)
async def test_what_is_no_http_is_told_so_and_nothing_else(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with plain(PortLimits(request=1)) as (_, port):
        got = await ask(port, sent)
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 400")
    assert b"server:" not in head.lower()
    assert body == b"Bad Request"
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


async def test_a_bug_of_ours_is_told_in_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    async with plain() as (_, port):
        got = await ask(port, PROBE.replace(b"healthz", b"fails"))
    assert got.startswith(b"HTTP/1.1 500")
    assert b"secret" not in got
    assert b"server:" not in got.lower()
    assert "LookupError" in caplog.text


async def test_clients_that_do_not_take_the_page_hold_back_little_of_it_and_not_for_long() -> None:
    metrics = OperatorMetrics()
    series = Gauge("wide", "x" * 100, ("label",), registry=metrics.registry)
    for number in range(20_000):
        series.labels("y" * 200 + str(number)).set(number)
    page = MetricsPage(metrics)
    size = len(await page.render())
    request = PROBE.replace(b"healthz", b"metrics")
    async with plain(page=page) as (_, port):
        with half_open(port, 3 * AT_ONCE, said=request):
            assert len(await ask(port, request)) > size, "it comes whole to one who takes it"
            held = sum(
                one.get_write_buffer_size()
                for one in gc.get_objects()
                if isinstance(one, asyncio.Transport) and not one.is_closing()
            )
            assert held <= 2 * AT_ONCE * 4 * PIECE_BYTES < size
