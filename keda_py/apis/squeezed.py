"""Long JSON that is kept for a while and seldom read: compressed.

For the changes of each object, in its status (`kube/status.py`) and in the decision record.
"""

import zlib

SHORT, LONG = 1024, 16384
"""Bytes of a text that is compressed. A new object's is written a few times, and is short; a longer one is none of
ours, and another client's megabyte would hold up the loop for a tenth of a second."""
_SQUEEZED = b"z"
"""No JSON begins so."""
_WINDOW, _EFFORT = -11, 3
"""zlib's for 2 KiB to look back on and a state of 12 KB: its own would be 256 KB, made anew for each text."""


def squeeze(text: bytes) -> bytes:
    """Compressed if long: 4 KB of changes become 0.5 in 12 us."""
    if not SHORT < len(text) <= LONG:
        return bytes(memoryview(text))  # what orjson gives keeps the room that it was written in
    squeezed = zlib.compressobj(1, zlib.DEFLATED, _WINDOW, _EFFORT)
    return _SQUEEZED + squeezed.compress(text) + squeezed.flush()


def expand(kept: bytes) -> bytes:
    """What `squeeze` was given."""
    return zlib.decompress(kept[len(_SQUEEZED) :], _WINDOW) if kept.startswith(_SQUEEZED) else kept
