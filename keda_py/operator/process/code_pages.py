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
    """Of this process, as `smaps` has them; where a kernel has none, nothing is let go.

    Blocks for some milliseconds at each call, as there are a few hundred mappings.
    """

    def __init__(self, smaps: Path = SMAPS) -> None:
        self._smaps = smaps
        self._before = self._look()

    def leave(self) -> None:
        """Let go what has looked the same since the last call: never part of a library that is just being loaded."""
        now = self._look()
        for start, end in now & self._before:
            ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _DONTNEED)
        self._before = now

    def _look(self) -> frozenset[tuple[int, int]]:
        try:
            with self._smaps.open("rb") as lines:
                return frozenset(unwritten(lines))
        except OSError:
            return frozenset()


def unwritten(smaps: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    """(first address, address after the last) of mappings whose pages are all the file's own. proc(5), smaps."""
    mapping = b""
    for line in smaps:
        match line.split(None, 5):
            case [addresses, rights, _, _, inode, *_] if not addresses.endswith(b":"):
                mapping = addresses if rights in _UNWRITABLE and inode != _NO_FILE else b""
            case [first, *_] if not first.endswith(b":"):
                mapping = b""
            case [b"Anonymous:", b"0", *_] if mapping:
                start, _, end = mapping.partition(b"-")
                yield int(start, 16), int(end, 16)
