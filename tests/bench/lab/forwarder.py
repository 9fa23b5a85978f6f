"""A TCP port before another one, that can be away: nothing listens, and what was connected is cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.bench.lab.processes import LOOPBACK, free_port

_PIECE = 1 << 16


class Forwarder:
    """Use as an async context manager; `port` stays the same while it is away."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self._target = target
        self._server: asyncio.Server | None = None
        self._ways: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> "Forwarder":
        await self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._go()

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        """Gone until the block ends."""
        await self._go()
        try:
            yield
        finally:
            await self._listen()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._join, LOOPBACK, self.port)

    async def _go(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for way in (ways := list(self._ways)):
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until both sides have ended, or the way is cut."""
        there: asyncio.StreamWriter | None = None
        if (way := asyncio.current_task()) is not None:
            self._ways.add(way)
            way.add_done_callback(self._ways.discard)
        with suppress(asyncio.CancelledError):  # the server would take it for a failure
            try:
                back, there = await asyncio.open_connection(LOOPBACK, self._target)
                async with asyncio.TaskGroup() as both:
                    both.create_task(_copy(reader, there))
                    both.create_task(_copy(back, writer))
            except* OSError:
                pass
            finally:
                for one in filter(None, (writer, there)):
                    one.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the sender has ended, which the receiver is told."""
    while piece := await reader.read(_PIECE):
        writer.write(piece)
        await writer.drain()
    with suppress(OSError):
        writer.write_eof()
