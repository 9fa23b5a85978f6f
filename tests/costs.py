"""Texts that are made to cost much, and what they may cost.

CPU is counted, not time, and as a quiet machine counts it: beside many other programs the same work takes two or three
times as much, since they share its caches; and other tests' garbage is not collected meanwhile.
"""

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

T = TypeVar("T")

SECONDS = 1.5
"""For 16 KiB, which take 0.1 s at most when cost grows with length, and minutes when it explodes."""
SIZE = 16 * 1024
_REFERENCE, _REFERENCE_SECONDS = 100_000, 0.004
"""A sum of so many squares, and what it takes at most on a machine that does nothing else."""

thorough = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)


def built_of(tokens: Sequence[str], size: int = SIZE) -> st.SearchStrategy[str]:
    """Runs of a few tokens, each repeated up to thousands of times: nesting, floods and long words, cut at `size`."""
    run = st.tuples(st.lists(st.sampled_from(tokens), min_size=1, max_size=4).map("".join), st.integers(1, size))
    return st.lists(run, min_size=1, max_size=5).map(lambda runs: _cut(runs, size))


def _cut(runs: list[tuple[str, int]], size: int) -> str:
    share = size // len(runs)
    return "".join((word * times)[:share] for word, times in runs)


@contextmanager
def within(seconds: float = SECONDS, clock: Callable[[], float] = time.process_time) -> Iterator[None]:
    """What is done inside takes no more CPU: of the process, or by `time.thread_time` of this thread."""
    with _no_collection():
        began = clock()
        yield
        taken = clock() - began
    if taken >= seconds:
        assert taken < seconds * slowness()


def slowness() -> float:
    """How many times as much CPU as on a quiet machine the same work takes now; 1 at least."""
    taken = []
    for _ in range(5):
        began = time.process_time()
        sum(number * number for number in range(_REFERENCE))
        taken.append(time.process_time() - began)
    return max(1.0, sorted(taken)[2] / _REFERENCE_SECONDS)


@contextmanager
def _no_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def cpu_of(read: Callable[[], object], error: type[Exception]) -> float:
    """Seconds of CPU that reading takes on a quiet machine, also where it ends in `error`: the least of three times."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        with suppress(error):
            read()
        taken.append(time.process_time() - began)
    return min(taken) / slowness()


def bytes_kept_by(make: Callable[[], object]) -> int:
    """Bytes of Python objects that live as long as what `make` gives: the least of three times, since the interpreter may
    make something for itself meanwhile."""
    return min(_kept_by(make) for _ in range(3))


def _kept_by(make: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        made = make()
        return tracemalloc.get_traced_memory()[0] if made is not None else 0
    finally:
        tracemalloc.stop()


def peak_of(read: Callable[[], T]) -> int:
    """Bytes of Python objects that reading needs at most."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
