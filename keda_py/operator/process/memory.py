"""Memory of a process that lives long: what stays is not searched again and again, and what is free is given back.

Python's collector looks through all objects once so many new ones are there; an operator's live as long as its
ScaledObjects, and nearly all of its garbage ends without the collector. C's allocator keeps what is free: after a
module was read from its file, or a thousand objects were deleted, that is a fair part of the whole. And code that only
the start needed stays mapped (`CodePages`).
Only for a process of its own: `operator/app.py` runs this beside the work.
"""

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

# The collector looks at its youngest objects after so many new ones, instead of 700. The other two are Python's own
# numbers, so that old garbage is found as well.
NEW_OBJECTS, YOUNG, OLD = 50_000, 10, 10
NEVER = 1_000
"""In place of OLD: after 500 million new objects."""
LOOK_SECONDS = 10.0
# Objects that are gone, or pages of 4 KiB more, since memory was given back last. Below that it does not pay: what is
# given back and needed again costs more than it saves.
FEWER_OBJECTS, MORE_PAGES = 50, 1024
# Objects more, after which those that there are count as part of the process, as what the start has made does: a look
# through all holds the loop, and one comes at each quarter more. The second: looks in a row, a minute of them.
MORE_OBJECTS, CALM_LOOKS = 500, 6
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""glibc's numbers for `mallopt`."""
# The first two are glibc's defaults, which it raises once a larger piece is freed, unless they are set. The buffer of a
# TLS connection is such a piece, of 256 KiB, hardly any of it used: as a mapping of its own it costs what is used, and
# goes with its connection.
SPARING = ((TRIM_THRESHOLD, 128 * 1024), (MMAP_THRESHOLD, 128 * 1024), (ARENA_MAX, 2))


# Code that only the start needed: its pages leave the process and stay in the kernel's cache of files.
#
# Most of what an operator has mapped of Python, OpenSSL and other native libraries runs at the start only, and counts
# as its resident memory for as long as it lives. What runs again is mapped again, 16 pages at a time, without reading
# the file while the cache has it. Nothing that the process wrote is lost: only private mappings of files that it cannot
# write to are left, and of these none with a page of its own, as a library's addresses are.


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


def leave_out_unused() -> None:
    """Before httpx is imported: its command line comes with it, and with that rich and click, where these are there."""
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None: cannot be imported, as Python has it


def allocate_sparingly() -> None:
    """Before anything is connected."""
    if (tune := _of_libc("mallopt")) is not None:
        for parameter, value in SPARING:
            tune(parameter, value)


def collect_seldom() -> None:
    """What has been made until now stays until the end: the collector leaves it alone.

    Only the first call does something: to look through the objects of a replica that leads again takes seconds.
    """
    if gc.get_freeze_count():
        return
    gc.set_threshold(NEW_OBJECTS, YOUNG, OLD)
    gc.collect()
    gc.freeze()


def collect_young() -> None:
    """For a process that keeps JSON alone, which has no cycles: its oldest objects are looked through hardly ever."""
    gc.set_threshold(NEW_OBJECTS, YOUNG, NEVER)


async def give_back(count: Callable[[], int]) -> None:
    """Give free memory back to the system when it pays, until cancelled. `count`: of the objects that there are."""
    trim, code, objects, pages = _of_libc("malloc_trim"), CodePages(), 0, 0
    generations = Generations()
    while trim is not None:
        await asyncio.sleep(LOOK_SECONDS)
        objects = max(objects, count())
        has_lost_most = generations.follow(count())
        if has_lost_most or count() <= objects - FEWER_OBJECTS or _own_pages() >= pages + MORE_PAGES:
            gc.collect(1)
            await asyncio.to_thread(trim, 0)
            await asyncio.to_thread(code.leave)
            objects, pages = count(), _own_pages()


class Generations:
    """What the collector looks through while objects come and go: those that have stayed count as part of the process.

    A look through all that lives frees the interpreter's spare tuples and floats, too, but it held the loop for five
    seconds with 50 000 objects in the caches on a busy machine. It comes when most objects have been gone for a minute:
    a replica that has lost its slot has the same ones again soon, and would lose the slot once more.
    """

    def __init__(self) -> None:
        self._frozen = self._most = self._calm = 0

    def follow(self, count: int) -> bool:
        """Take the number of objects, every LOOK_SECONDS. Return whether everything was looked through."""
        if count >= self._frozen + MORE_OBJECTS:
            gc.freeze()
            self._frozen = count
        self._most = max(self._most, count)
        self._calm = self._calm + 1 if count <= self._most // 2 else 0
        if self._calm < CALM_LOOKS or not self._most:
            return False
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._frozen, self._most, self._calm = count, count, 0
        return True


class HeapTrim:
    """Gives free memory back in a small process that is idle most of the time; made once everything is imported.

    On systems other than Linux with glibc it only collects garbage.
    """

    def __init__(self) -> None:
        self._trim, self._code = _of_libc("malloc_trim"), CodePages()
        self._pages = 0

    def tidy(self) -> None:
        """For a process that has just become idle: what lives now is never searched for garbage again."""
        gc.collect()
        gc.freeze()
        self._give_back()
        self._code.leave()

    def rest(self) -> None:
        """For a process whose clients ask for nothing now: the same, but their connections will be garbage one day."""
        gc.collect()
        self._give_back()
        self._code.leave()

    def trim_growth(self) -> None:
        """While it works: only if it has grown by MORE_PAGES since the last time, so that steady work costs nothing."""
        if self._trim is not None and _own_pages() >= self._pages + MORE_PAGES:
            gc.collect()
            self._give_back()

    def _give_back(self) -> None:
        if self._trim is not None:
            self._trim(0)
            self._pages = _own_pages()


def _own_pages() -> int:
    """Of its own: those of files come and go without us."""
    _, resident, shared, *_ = Path("/proc/self/statm").read_text().split()
    return int(resident) - int(shared)


def _of_libc(name: str) -> Callable[..., int] | None:
    """A function of glibc; None where the C library has none of that name, as musl."""
    return getattr(ctypes.CDLL(None), name, None)
