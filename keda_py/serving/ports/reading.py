"""What a TLS connection receives, read into one buffer for all.

An event loop gives a protocol bytes of its own for each record, and makes room for a quarter of a megabyte first: for a
question of 300 bytes that is three calls into the kernel and a page that is new each time.
"""

import asyncio

BUFFER_BYTES = 65536
"""Four records of TLS; of more it reads again."""


class Reading(asyncio.BufferedProtocol):
    """Hands on to `protocol` what is read into `buffer`, which others of the same event loop read into, too."""

    def __init__(self, protocol: asyncio.Protocol, buffer: memoryview) -> None:
        self._protocol, self._buffer = protocol, buffer

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go; nothing else runs before they are taken."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """So many have come."""
        self._protocol.data_received(bytes(self._buffer[:nbytes]))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """As with the rest, the protocol is told."""
        self._protocol.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The protocol is told."""
        self._protocol.connection_lost(exc)

    def eof_received(self) -> bool | None:
        """The protocol is told."""
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        """The protocol is told."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """The protocol is told."""
        self._protocol.resume_writing()
