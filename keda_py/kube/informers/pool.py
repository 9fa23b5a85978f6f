"""Pieces that many objects have alike, kept once: conditions say the same of thousands, as do containers' requests.

For transforms (`informer_spec.py`): what is in a cache is never changed, so two objects may have one piece. An object's
own name and version are not worth a place here.
"""

from typing import Any, TypeVar

from keda_py.apis.compact import compact_json

T = TypeVar("T")
MOST = 4096
"""Pieces, and texts; then all are forgotten, and those that come again are shared anew."""
LONGEST = 512
"""Bytes of a piece; longer ones are rarely alike."""


class Pool:
    """Equal pieces in, one of them out."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._pieces: dict[bytes, Any] = {}
        self._texts: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._pieces) + len(self._texts)

    def piece(self, value: Any) -> Any:
        """A value of JSON that is the same on the wire, this one or one before."""
        try:
            written = compact_json(value)
        except TypeError:  # nested deeper than can be written
            return value
        return self._one(self._pieces, written, value)

    def text(self, text: bytes) -> bytes:
        """Equal bytes."""
        return self._one(self._texts, text, text)

    def _one(self, known: dict[bytes, T], written: bytes, value: T) -> T:
        if len(written) > LONGEST:
            return value
        if written not in known:
            if len(known) >= self._most:
                known.clear()
            known[written] = value
        return known[written]
