"""One buffer for the reads of all TLS connections of an event loop."""

import asyncio

BUFFER_BYTES = 65536
"""Four TLS records; more data takes another read."""


class SharedBufferProtocol(asyncio.BufferedProtocol):
    """Protocol that reads into `buffer`, shared with all TLS connections of the loop, and passes it to `protocol`.

    Without it an event loop allocates 256 KiB for each record before it knows the size: for a request of 300 bytes
    that is three system calls and a fresh page each time.
    """

    def __init__(self, protocol: asyncio.Protocol, buffer: memoryview) -> None:
        self._protocol, self._buffer = protocol, buffer

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the shared buffer; `buffer_updated` empties it before anything else runs."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._protocol.data_received(bytes(self._buffer[:nbytes]))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._protocol.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.connection_lost(exc)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()
