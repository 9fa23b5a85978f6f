"""The cable between an operator and its API server, which can be pulled at any moment."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit


class Cable:
    """An async context manager: forwards bytes between `url` and the API server while it is plugged in."""

    def __init__(self, api_server: str) -> None:
        """`api_server` is its URL, http or https."""
        self._target = urlsplit(api_server)
        self._plugged = True
        self.sent = 0
        """Bytes towards the API server."""
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"{self._target.scheme}://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self.pull()
        self._server.close()
        await self._server.wait_closed()

    def pull(self) -> None:
        """Cut every connection now, in the middle of whatever they carry, and accept no new one."""
        self._plugged = False
        for writer in self._writers:
            writer.transport.abort()

    def plug(self) -> None:
        """Connect again."""
        self._plugged = True

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        self._writers.add(writer)  # from now on: it may be pulled while the far end is not reached yet
        try:
            if not self._plugged:
                return
            far_reader, far_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
            ends.add(far_writer)
            self._writers.add(far_writer)
            if not writer.transport.is_closing():
                await asyncio.gather(_pump(reader, far_writer, self._count), _pump(far_reader, writer))
        finally:
            self._writers -= ends
            for end in ends:
                end.transport.abort()

    def _count(self, size: int) -> None:
        self.sent += size


async def _pump(
    source: asyncio.StreamReader, sink: asyncio.StreamWriter, count: Callable[[int], object] = lambda _: None
) -> None:
    with suppress(OSError):
        while data := await source.read(65536):
            count(len(data))
            sink.write(data)
            await sink.drain()
    sink.transport.abort()
