"""Bytes of a watch -> lines of JSON, whatever the chunks' borders.

aiohttp's own line reader stops at its buffer's size, and a ConfigMap of etcd's largest size is longer than that.
"""

from collections.abc import Iterator

from keda_py.errors import Unavailable

LINE_LIMIT = 32 * 2**20


class LineSplitter:
    """Feed chunks, get whole lines; what is left at the end of a stream was cut and is not a line."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that `chunk` completes. Raises Unavailable for a line over LINE_LIMIT bytes."""
        head, *rest = chunk.split(b"\n")
        self._hold(head)
        for piece in rest:
            line = b"".join(self._pieces)
            self._pieces, self._length = [], 0
            self._hold(piece)
            if line:
                yield line

    def _hold(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > LINE_LIMIT:
            raise Unavailable(f"a line of the watch is over {LINE_LIMIT} bytes")
        self._pieces.append(piece)
