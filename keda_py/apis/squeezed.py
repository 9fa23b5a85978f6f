"""JSON that is kept in memory: without unused capacity, and compressed where it is long and seldom read.

Compression is used for the changes of each object, in its status (`kube/status.py`) and in the decision record.
"""

import zlib
from collections.abc import Iterable
from typing import Any

import orjson

# Lengths in bytes between which a text is compressed. A short one gains little; a longer one was not written by us, and
# compressing another client's megabyte would block the loop for a tenth of a second.
SHORT, LONG = 1024, 16384
_SQUEEZED = b"z"
"""Marker of compressed text; no JSON begins with it."""
# zlib parameters: a window of 2 KiB and a state of 12 KB; its default allocates 256 KB for each text.
_WINDOW, _EFFORT = -11, 3


def squeeze(text: bytes) -> bytes:
    """Compress a long text: 4 KB of changes become 0.5 KB in 12 us."""
    if not SHORT < len(text) <= LONG:
        return bytes(memoryview(text))  # a copy without the unused capacity of orjson's result
    squeezed = zlib.compressobj(1, zlib.DEFLATED, _WINDOW, _EFFORT)
    return _SQUEEZED + squeezed.compress(text) + squeezed.flush()


def expand(kept: bytes) -> bytes:
    """Return the text that `squeeze` was given."""
    return zlib.decompress(kept[len(_SQUEEZED) :], _WINDOW) if kept.startswith(_SQUEEZED) else kept


def compact_json(value: Any) -> bytes:
    """Write JSON to be kept in memory; orjson's own result keeps its write buffer, 4 KiB for 80 bytes."""
    return bytes(memoryview(orjson.dumps(value)))


def pack(values: Iterable[Any]) -> bytes:
    """Write a list as JSON with sorted keys, so that equal values give equal bytes; compress long ones.

    Raises TypeError for values nested too deeply.
    """
    return squeeze(orjson.dumps(list(values), option=orjson.OPT_SORT_KEYS))


def unpack(written: bytes) -> list[Any]:
    """Return the values that `pack` has written."""
    found: list[Any] = orjson.loads(expand(written))
    return found
