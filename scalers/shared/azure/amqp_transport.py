"""Connections to event hubs, bounded: how much a server may send, and names that are looked up without a thread.

The library makes room for a frame as soon as a server announces it, up to 4 GB, and takes as many as come. Imported
only where a trigger of an event hub is opened: the library is of an extra.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from azure.eventhub._pyamqp.aio import _connection_async as library
from azure.eventhub._pyamqp.aio._sasl_async import SASLTransport

from scalers.shared.protocols.tcp import open_stream

LONGEST_FRAME: Final = 64 * 1024
# Bytes: of one connection, which is for one question. Its answer is a few names and numbers.
LONGEST_ANSWER: Final = 1024 * 1024

_made: ContextVar[list["_BoundedTransport"] | None] = ContextVar("made", default=None)


@contextmanager
def bounded() -> Iterator[None]:
    """Bound connections that are made meanwhile, and close them afterwards: the library leaves some that failed.

    What else uses the library in this process has its own.
    """
    made: list[_BoundedTransport] = []
    token = _made.set(made)
    try:
        yield
    finally:
        _made.reset(token)
        for transport in made:
            transport.abort()


class _BoundedTransport(SASLTransport):  # type: ignore[misc]  # it has no types
    """A transport that breaks at too long a frame, before it reads it."""

    connected: bool

    _left = LONGEST_ANSWER

    async def connect(self) -> None:
        """Connect by TLS, as requested. Raises OSError."""
        if not self.connected:
            context = self._build_ssl_opts(self.sslopts)
            self.reader, self.writer = await open_stream(self.host, int(self.port), LONGEST_FRAME, context)
            self.connected = True

    def abort(self) -> None:
        """Close it at once."""
        if self.writer is not None:
            self.writer.transport.abort()

    async def _read(self, toread: int, initial: bool = False, buffer: Any = None, **others: Any) -> Any:
        self._left -= toread
        if self._left < 0:
            raise OSError(f"the server sends more than {LONGEST_ANSWER} bytes")
        read = await super()._read(toread, initial, buffer, **others)
        announced = bytes(read[:4])
        if initial and announced != b"AMQP" and not len(read) <= int.from_bytes(announced) <= LONGEST_FRAME:
            raise OSError(f"the server announces a frame of more than {LONGEST_FRAME} bytes, or none of AMQP")
        return read


def _transport(**options: Any) -> Any:
    made = _made.get()
    if made is None:
        return SASLTransport(**options)
    made.append(_BoundedTransport(**options))
    return made[-1]


# The library has no option for it: it makes its connections by this name.
library.SASLTransport = _transport
