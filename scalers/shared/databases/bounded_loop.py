"""An event loop for asyncpg, which has no other place to bound what a server may send, or to look up a name.

Only what asyncpg asks of a loop to connect is different: names are looked up without a thread, and a connection that
has sent more than LONGEST_ANSWER since the last question is cut.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any

from keda_py.sdk.scaler import addresses
from scalers.shared.databases.session import LONGEST_ANSWER


class BoundedLoop:
    """All else is the running loop's."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._left = LONGEST_ANSWER

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def begin(self) -> None:
        """A new question: the server may answer in full length again."""
        self._left = LONGEST_ANSWER

    def take(self, size: int) -> bool:
        """Whether the server may send that much, too."""
        self._left -= size
        return self._left >= 0

    async def create_connection(
        self, factory: Callable[[], asyncio.Protocol], host: str, port: int
    ) -> tuple["_Transport", asyncio.Protocol]:
        """To the first address that answers."""
        made = factory()
        error: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
        for number in await addresses(host, port):
            try:
                transport, _ = await self._loop.create_connection(lambda: _Bounded(made, self), number, port)
            except OSError as failed:
                error = failed
            else:
                return _Transport(transport, self), made
        raise error

    async def start_tls(
        self, transport: "_Transport", protocol: asyncio.Protocol, context: ssl.SSLContext, *, server_hostname: str
    ) -> "_Transport":
        """TLS on an open connection."""
        made = await self._loop.start_tls(
            transport.inner, _Bounded(protocol, self), context, server_hostname=server_hostname
        )
        if made is None:
            raise ConnectionError("the connection was closed during the TLS handshake")
        return _Transport(made, self)


class _Transport:
    """A transport whose protocol is bounded, also one that takes the place of the first."""

    def __init__(self, inner: asyncio.Transport, loop: BoundedLoop) -> None:
        self.inner, self._of = inner, loop

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def set_protocol(self, protocol: asyncio.Protocol) -> None:
        bounded = _Bounded(protocol, self._of)
        bounded.transport = self.inner
        self.inner.set_protocol(bounded)


class _Bounded(asyncio.Protocol):
    """Hands on what arrives, until it is too much."""

    transport: asyncio.Transport

    def __init__(self, inner: asyncio.Protocol, loop: BoundedLoop) -> None:
        self._inner, self._loop = inner, loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._loop.take(len(data)):
            self._inner.data_received(data)
        else:
            self.transport.abort()

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(exc)
