"""Pool of equal pieces of objects, each kept once: thousands of objects have equal conditions and container requests.

Used by transforms (`informer_spec.py`). Objects in a cache never change, so two may share a piece. An object's own name
and version are unique and not pooled.
"""

from typing import Any, TypeVar

from keda_py.apis.squeezed import compact_json

T = TypeVar("T")
MOST = 4096
"""Most pieces, and most texts. When full, the pool is emptied: cheaper than an order of use, and it fills again."""
LONGEST = 512
"""Bytes of a piece; longer ones are rarely equal."""


class Pool:
    """Intern table for JSON values and bytes."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._pieces: dict[bytes, Any] = {}
        self._texts: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._pieces) + len(self._texts)

    def piece(self, value: Any) -> Any:
        """Return an equal value seen before, or this one; values are compared as they are written in JSON."""
        try:
            written = compact_json(value)
        except TypeError:  # nested too deeply for orjson
            return value
        return self._intern(self._pieces, written, value)

    def text(self, text: bytes) -> bytes:
        """Return equal bytes seen before, or these."""
        return self._intern(self._texts, text, text)

    def _intern(self, known: dict[bytes, T], written: bytes, value: T) -> T:
        if len(written) > LONGEST:
            return value
        if written not in known:
            if len(known) >= self._most:
                known.clear()
            known[written] = value
        return known[written]
