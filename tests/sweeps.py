"""Tests that try everything: `make test` runs a part, the same at every run; `SWEEPS=all`, as in `.ci/run`, all of it.

A part has something of each sort, so that what is broken for all is seen at once; the rest is what costs minutes.
"""

import itertools
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, TypeVar

Case = TypeVar("Case")

WHOLE: Final = os.environ.get("SWEEPS") == "all"


def swept(cases: Iterable[str], part: Collection[str]) -> list[str]:
    """The names of the cases to try, in their order; ValueError where one of the part is no case."""
    every = list(cases)
    if unknown := set(part) - set(every):
        raise ValueError(f"no such cases: {sorted(unknown)}")
    return every if WHOLE else [case for case in every if case in part]


def chosen(cases: Mapping[str, Case], part: Collection[str]) -> dict[str, Case]:
    """`swept`, with what each name stands for."""
    return {name: cases[name] for name in swept(cases, part)}


def size(whole: int, part: int) -> int:
    """How often something is done."""
    return whole if WHOLE else part


def steps(part: int) -> Iterator[int]:
    """1, 2, 3 and so on; of the part only each `part`-th, beginning with 1."""
    return itertools.count(1, 1 if WHOLE else part)
