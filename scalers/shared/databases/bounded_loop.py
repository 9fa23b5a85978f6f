"""An event loop for asyncpg, which has no other place to bound what a server may send, or to look up a name.

Only what asyncpg asks of a loop to connect is different: names are looked up without a thread, and a connection is cut
that has sent more than LONGEST_ANSWER since the last question, or something that is no message of PostgreSQL: of a
message that is shorter than its own length, asyncpg's parser makes a loop without end.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any, cast

from keda_py.sdk.advanced import addresses
from scalers.shared.databases.queries.link import LONGEST_ANSWER

_LENGTH = 4
"""Bytes that tell the length of a message, which counts them too."""
_HEAD = 1 + _LENGTH
NOT_POSTGRES = "the server breaks PostgreSQL's protocol"
# Bytes that each message counts for beside its own: many short ones are work, too.
_MESSAGE_COSTS = 100


class BoundedLoop:
    """A loop that bounds asyncpg's connections and passes all other calls to the running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._left = LONGEST_ANSWER
        self.failure: ConnectionError | None = None
        """Why a connection was cut, which asyncpg does not tell."""
        self._made: asyncio.Transport | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def begin(self) -> None:
        """Begin a question: the server may send a full answer again."""
        self._left = LONGEST_ANSWER

    def take(self, size: int) -> bool:
        """Count so many bytes, and return whether the server may send them."""
        self._left -= size
        return self._left >= 0

    @property
    def has_connected(self) -> bool:
        return self._made is not None

    def abort(self) -> None:
        """Close open transports, which asyncpg keeps open where a log-in fails in an unexpected way."""
        if self._made is not None:
            self._made.abort()

    async def create_connection(
        self, factory: Callable[[], asyncio.Protocol], host: str, port: int
    ) -> tuple["_Transport", asyncio.Protocol]:
        """Connect to the first address that answers."""
        made = factory()
        error: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
        # Our resolver is asked: the loop's own takes one of few threads for as long as a name server is silent.
        for number in await addresses(host, port):
            try:
                transport, _ = await self._loop.create_connection(lambda: _BoundedProtocol(made, self), number, port)
            except OSError as failed:
                error = failed
            else:
                self._made = transport
                return _Transport(transport, self), made
        raise error

    async def start_tls(
        self, transport: "_Transport", protocol: asyncio.Protocol, context: ssl.SSLContext, *, server_hostname: str
    ) -> "_Transport":
        """TLS on an open connection."""
        made = await self._loop.start_tls(
            transport.inner, _BoundedProtocol(protocol, self), context, server_hostname=server_hostname
        )
        if made is None:
            raise ConnectionError("the connection was closed during the TLS handshake")
        self._made = made
        return _Transport(made, self)


class _Transport:
    """A transport whose protocol is bounded, also one that takes the place of the first."""

    def __init__(self, inner: asyncio.Transport, loop: BoundedLoop) -> None:
        self.inner, self._of = inner, loop

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def set_protocol(self, protocol: asyncio.Protocol) -> None:
        bounded = _BoundedProtocol(protocol, self._of)
        bounded.transport = self.inner
        self.inner.set_protocol(bounded)


class _Messages:
    """Where a stream of messages is: each has a type, and a length that counts itself."""

    def __init__(self) -> None:
        self._head, self._unread = b"", 0

    def begun_in(self, data: bytes) -> int:
        """Count the messages that begin in the next bytes. Raises ConnectionError for an invalid length."""
        at = begun = 0
        while at < len(data):
            if self._unread:
                step = min(self._unread, len(data) - at)
                self._unread -= step
            else:
                step = min(_HEAD - len(self._head), len(data) - at)
                self._head += data[at : at + step]
                if len(self._head) == _HEAD:
                    begun += 1
                    self._begin()
            at += step
        return begun

    def _begin(self) -> None:
        length = int.from_bytes(self._head[1:], "big", signed=True)
        # asyncpg believes this length: below 4 its parser never ends, and above it makes room for up to 2 GB.
        if not self._head[0] or not _LENGTH <= length <= LONGEST_ANSWER:
            raise ConnectionError("the server says something that is no message of PostgreSQL, or too long a one")
        self._head, self._unread = b"", length - _LENGTH


class _BoundedProtocol(asyncio.Protocol):
    """A protocol that passes on data until it is too much."""

    transport: asyncio.Transport

    def __init__(self, inner: asyncio.Protocol, loop: BoundedLoop) -> None:
        self._inner, self._loop = inner, loop
        # The protocol that requests TLS has `on_data`, and handles the one byte of the answer itself.
        self._messages = None if hasattr(inner, "on_data") else _Messages()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        # After the cut, bytes that are already buffered would reach a parser that may be in its endless loop.
        if self._loop.failure is not None:
            return
        try:
            begun = self._messages.begun_in(data) if self._messages else 0
            if not self._loop.take(len(data) + begun * _MESSAGE_COSTS):
                raise ConnectionError(f"the server sends more than {LONGEST_ANSWER} bytes")
            self._inner.data_received(data)
        except ConnectionError as error:
            self._cut(error)
        except Exception:  # noqa: BLE001  asyncpg's parser fails with any error; asyncio would log it without our object
            self._cut(ConnectionError(NOT_POSTGRES))

    def _cut(self, failure: ConnectionError) -> None:
        # asyncpg reports only a lost connection, so the reason is kept where the link finds it.
        self._loop.failure = failure
        self.transport.abort()

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(self._loop.failure or exc)
