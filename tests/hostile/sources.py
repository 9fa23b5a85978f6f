"""Hostile servers of this process: a port each, one behaviour for every connection, and a memory of what was sent to it."""

import asyncio
import re  # noqa: TID251 - a constant pattern
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from tests.servers import LOOPBACK

Behaviour = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Given the beginning of what was asked (the head of an HTTP request), and both directions."""

HEAD_LIMIT = 2**20
LENGTH = re.compile(rb"(?i)\r\ncontent-length: (\d+)")
KEPT = 1000
ENDED = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ssl.SSLError)


class Source:
    """`received` is what each connection sent first, with the body that followed where it is to be read."""

    def __init__(self, behaviour: Behaviour, first: bytes, read_bodies: bool) -> None:
        self.received: list[bytes] = []
        self.connections = 0
        self.port = 0
        self._behaviour, self._first, self._read_bodies = behaviour, first, read_bodies
        self._running: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._server: asyncio.Server

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def holds(self, secret: str) -> bool:
        """Whether the secret was sent here."""
        return any(secret.encode() in one for one in self.received)

    async def asked(self, times: int = 1, seconds: float = 15.0) -> None:
        """Return once that many questions have come."""
        async with asyncio.timeout(seconds):
            while len(self.received) < times:
                self._news.clear()
                await self._news.wait()

    async def start(self, host: str, tls: ssl.SSLContext | None) -> None:
        self._server = await asyncio.start_server(self._accept, host, 0, limit=HEAD_LIMIT, ssl=tls, backlog=1000)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        self.connections += 1
        try:
            with suppress(asyncio.CancelledError, *ENDED):  # a cancelled one would be logged by asyncio's streams
                await self._serve(reader, writer)
        finally:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One question for each connection: what happens next depends on nothing that was before."""
        asked = await reader.readuntil(self._first) if self._first else b""
        length = LENGTH.search(asked) if self._read_bodies else None
        if length is not None:
            asked += await reader.readexactly(min(int(length[1]), HEAD_LIMIT))
        if len(self.received) < KEPT:
            self.received.append(asked)
        self._news.set()
        await self._behaviour(asked, reader, writer)
        with suppress(*ENDED):
            await writer.drain()
            writer.close()
            await writer.wait_closed()


@asynccontextmanager
async def serve(
    behaviour: Behaviour,
    first: bytes = b"\r\n\r\n",
    tls: ssl.SSLContext | None = None,
    host: str = LOOPBACK,
    read_bodies: bool = False,
) -> AsyncIterator[Source]:
    """Listen while the block lasts. `first` ends the part that `received` keeps; empty: the server speaks first."""
    source = Source(behaviour, first, read_bodies)
    await source.start(host, tls)
    try:
        yield source
    finally:
        await source.stop()


def says(body: bytes, *headers: str, status: str = "200 OK") -> Behaviour:
    """One whole answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return sends("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def sends(data: bytes) -> Behaviour:
    """These bytes."""

    async def behave(_: bytes, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return behave


def repeats(beginning: bytes, piece: bytes, pause: float = 0.0) -> Behaviour:
    """The beginning, and then the piece for ever; as fast as it is taken, or with a pause after each."""

    async def behave(_: bytes, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(beginning)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return behave


async def hangs(_: bytes, __: asyncio.StreamReader, ___: asyncio.StreamWriter) -> None:
    """No answer."""
    await asyncio.get_running_loop().create_future()
