"""Servers that keep to no protocol, each on a port of its own, which know of every connection that is not closed yet."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

ZEROS = 10_000_000
PATIENCE = 0.02
"""Seconds that a server waits for a client to speak first; some clients wait for the server."""
_GARBAGE = b"\x16\xde\xad\xbe\xefnot what you asked for\r\n\x00\xff\r\n"
_PAGE = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 11\r\nConnection: close\r\n\r\nplain text."

_TLS_SECONDS = 0.2
ANYWHERE = ("127.0.0.1", 0)

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, greeting: bytes) -> None:
    """Accepts, reads all, and never answers."""
    while await reader.read(65536):
        pass


async def close_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, greeting: bytes) -> None:
    """Not a byte."""


async def say_garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, greeting: bytes) -> None:
    """A few bytes."""
    await _hear(reader)
    writer.write(_GARBAGE)
    await writer.drain()


async def say_garbage_for_ever(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, greeting: bytes) -> None:
    """Send garbage for as long as the client reads."""
    await _hear(reader)
    while True:
        writer.write(_GARBAGE * 100)
        await writer.drain()
        await asyncio.sleep(0)


async def say_zeros(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, greeting: bytes) -> None:
    """Ten megabytes, and waits for what becomes of them."""
    await _hear(reader)
    writer.write(bytes(ZEROS))
    await writer.drain()
    await say_nothing(reader, writer, greeting)


async def begin_to_greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, greeting: bytes) -> None:
    """Send only the beginning of what the client waits for."""
    await _hear(reader)
    writer.write(greeting)
    await writer.drain()


async def speak_plain_text(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, greeting: bytes) -> None:
    """Answer in plain text to a client that wants TLS."""
    await _hear(reader)
    writer.write(_PAGE)
    await writer.drain()


async def _hear(reader: asyncio.StreamReader) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(reader.read(65536), PATIENCE)


@dataclass
class BadServer:
    """`open_now`: connections that neither side has closed. `has_ended`: a connection that comes late is closed."""

    port: int
    connected: int = 0
    has_ended: bool = False
    open_now: set[asyncio.Task[None]] = field(default_factory=set)


@asynccontextmanager
async def bad_server(
    behave: Behaviour, greeting: bytes, tls: ssl.SSLContext | None = None, *, at: tuple[str, int] = ANYWHERE
) -> AsyncIterator[BadServer]:
    """Run a server that behaves so to each connection."""
    bad = BadServer(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if bad.has_ended:  # accepted before the server closed, and greeted after it
            writer.transport.abort()
            return
        bad.connected += 1
        bad.open_now.add(task)
        try:
            with suppress(OSError, asyncio.CancelledError):  # asyncio's streams complain of one that ends cancelled
                await behave(reader, writer, greeting)
        finally:
            bad.open_now.discard(task)
            (writer.close if behave is not say_garbage_for_ever else writer.transport.abort)()

    limits = {"ssl_handshake_timeout": _TLS_SECONDS, "ssl_shutdown_timeout": _TLS_SECONDS} if tls else {}
    server = await asyncio.start_server(serve, *at, ssl=tls, **limits)
    bad.port = server.sockets[0].getsockname()[1]
    try:
        yield bad
    finally:
        server.close()
        bad.has_ended = True
        for task in tuple(bad.open_now):
            task.cancel()


@asynccontextmanager
async def closed_port(at: tuple[str, int] = ANYWHERE) -> AsyncIterator[BadServer]:
    """Bound, so that no other takes it, and not listened to."""
    with socket.socket() as dead:
        dead.bind(at)
        yield BadServer(dead.getsockname()[1])


@asynccontextmanager
async def never_accepting(at: tuple[str, int] = ANYWHERE) -> AsyncIterator[BadServer]:
    """The kernel takes connections, and the server never does."""
    with socket.socket() as deaf:
        deaf.bind(at)
        deaf.listen(100)
        yield BadServer(deaf.getsockname()[1])
