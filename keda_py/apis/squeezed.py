"""Compression of long JSON that is kept for a while and seldom read.

Used for the changes of each object, in its status (`kube/status.py`) and in the decision record.
"""

import zlib

SHORT, LONG = 1024, 16384
"""Lengths in bytes between which a text is compressed. A short one gains little; a longer one was not written by us,
and compressing another client's megabyte would block the loop for a tenth of a second."""
_SQUEEZED = b"z"
"""Marker of compressed text; no JSON begins with it."""
_WINDOW, _EFFORT = -11, 3
"""zlib parameters: a window of 2 KiB and a state of 12 KB; its default allocates 256 KB for each text."""


def squeeze(text: bytes) -> bytes:
    """Compress a long text: 4 KB of changes become 0.5 KB in 12 us."""
    if not SHORT < len(text) <= LONG:
        return bytes(memoryview(text))  # a copy without the unused capacity of orjson's result
    squeezed = zlib.compressobj(1, zlib.DEFLATED, _WINDOW, _EFFORT)
    return _SQUEEZED + squeezed.compress(text) + squeezed.flush()


def expand(kept: bytes) -> bytes:
    """Return the text that `squeeze` was given."""
    return zlib.decompress(kept[len(_SQUEEZED) :], _WINDOW) if kept.startswith(_SQUEEZED) else kept
