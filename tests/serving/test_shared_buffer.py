"""TLS connections with one shared buffer: each client's bytes reach its own request only, complete and in order."""

import asyncio
import contextlib
import hashlib
import random
import ssl
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from keda_py.clock import SystemClock
from keda_py.serving.certificates import make_certificate
from keda_py.serving.https import LimitedServer
from keda_py.serving.ports.connection import BareResponse
from keda_py.serving.ports.shared_buffer import BUFFER_BYTES
from keda_py.serving.server_tls import ServerTls
from tests.serving.conftest import accepted


async def tell_digest(request: web.BaseRequest) -> BareResponse:
    """Return the digest of the body, which arrives in many records."""
    digest = hashlib.sha256()
    async for part in request.content.iter_any():
        digest.update(part)
        await asyncio.sleep(0)
    return BareResponse(text=digest.hexdigest())


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[tuple[LimitedServer, int, ssl.SSLContext]]:
    certificate = make_certificate(["localhost"], SystemClock().now())
    tls = ServerTls()
    tls.show(certificate)
    server = LimitedServer(tell_digest)
    try:
        number = await server.start("127.0.0.1", 0, tls.context(asks_clients=False))
        yield server, number, ssl.create_default_context(cadata=certificate.ca.decode())
        await accepted()
    finally:
        await server.aclose()


async def post(port: int, trust: ssl.SSLContext, body: bytes) -> bytes:
    """Send a body; return the whole answer."""
    reader, writer = await asyncio.open_connection("localhost", port, ssl=trust)
    head = f"POST /any HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    try:
        for start in range(0, len(data := head + body), 10_000):
            writer.write(data[start : start + 10_000])
            await writer.drain()
        return await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_what_many_clients_send_at_once_is_not_mixed_up() -> None:
    chance = random.Random(1)
    bodies = [chance.randbytes(size) for size in (0, 1, BUFFER_BYTES, 5 * BUFFER_BYTES + 1) for _ in range(5)]
    async with serving() as (_, port, trust):
        answers = await asyncio.gather(*(post(port, trust, body) for body in bodies))
    for body, answer in zip(bodies, answers, strict=True):
        assert answer.endswith(f"\r\n\r\n{hashlib.sha256(body).hexdigest()}".encode())


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
async def test_one_function_answers_whatever_is_asked_and_tells_no_software(method: str) -> None:
    async with serving() as (server, port, trust):
        reader, writer = await asyncio.open_connection("localhost", port, ssl=trust)
        target = "*" if method == "OPTIONS" else "/any"
        writer.write(f"{method} {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"server:" not in head.lower()
        assert await reader.readexactly(64) == hashlib.sha256().hexdigest().encode()
        server.leave()
        writer.write(b"GET /any HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"connection: close" in (await reader.read()).lower()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
