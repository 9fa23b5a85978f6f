"""Split the bytes of a watch into lines of JSON, wherever the chunks end.

aiohttp's own line reader fails above its buffer's size, which a ConfigMap of etcd's largest size exceeds.
"""

from collections.abc import Iterator

from keda_py.errors import Unavailable

LINE_LIMIT = 32 * 2**20


class LineSplitter:
    """Buffer that takes chunks and returns whole lines; an unfinished line at the end of a stream is discarded."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that `chunk` completes. Raises Unavailable for a line over LINE_LIMIT bytes."""
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
