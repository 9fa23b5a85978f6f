"""Texts that are made to cost much, and what they may cost. CPU, not time: a busy machine changes nothing."""

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

thorough = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)


def built_of(tokens: Sequence[str], size: int = SIZE) -> st.SearchStrategy[str]:
    """Runs of a few tokens, each repeated up to thousands of times: nesting, floods and long words, cut at `size`."""
    run = st.tuples(st.lists(st.sampled_from(tokens), min_size=1, max_size=4).map("".join), st.integers(1, size))
    return st.lists(run, min_size=1, max_size=5).map(lambda runs: _cut(runs, size))


def _cut(runs: list[tuple[str, int]], size: int) -> str:
    share = size // len(runs)
    return "".join((word * times)[:share] for word, times in runs)


@contextmanager
def within(seconds: float = SECONDS) -> Iterator[None]:
    """What is done inside takes no more CPU."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


def cpu_of(read: Callable[[], object], error: type[Exception]) -> float:
    """Seconds of CPU that reading takes, also where it ends in `error`: the least of three times, since the collection of
    other tests' garbage may fall into one."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        with suppress(error):
            read()
        taken.append(time.process_time() - began)
    return min(taken)


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
