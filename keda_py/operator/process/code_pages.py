"""Code that only the start needed: its pages leave the process and stay in the kernel's cache of files.

Most of what an operator has mapped of Python, OpenSSL and other native libraries runs at the start only, and counts as
its resident memory for as long as it lives. What runs again is mapped again, 16 pages at a time, without reading the
file while the cache has it. Nothing that the process wrote is lost: only private mappings of files that it cannot write
to are left, and of these none with a page of its own, as a library's addresses are.
"""

import ctypes
from collections.abc import Iterable, Iterator
from pathlib import Path

SMAPS = Path("/proc/self/smaps")
_UNWRITABLE = (b"r-xp", b"r--p")
_NO_FILE = b"0"
_DONTNEED = 4


class CodePages:
    """Of this process. Blocks for some milliseconds at each call, as it has a few hundred mappings."""

    def __init__(self) -> None:
        self._before = frozenset(_look())

    def leave(self) -> None:
        """Let go what has looked the same since the last call: never part of a library that is just being loaded."""
        now = frozenset(_look())
        for start, end in now & self._before:
            ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _DONTNEED)
        self._before = now


def _look() -> Iterator[tuple[int, int]]:
    with SMAPS.open("rb") as lines:
        yield from unwritten(lines)


def unwritten(smaps: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    """(first address, address after the last) of mappings whose pages are all the file's own. proc(5), smaps."""
    mapping = b""
    for line in smaps:
        fields = line.split(None, 5)
        if not fields[0].endswith(b":"):
            mapping = fields[0] if fields[1] in _UNWRITABLE and fields[4] != _NO_FILE else b""
        elif mapping and fields[0] == b"Anonymous:" and fields[1] == b"0":
            start, _, end = mapping.partition(b"-")
            yield int(start, 16), int(end, 16)
