"""Recorded starts -> which workload has to be ready before which, and the layers that follow from it.

B starts after A if B became ready later in nearly all starts, and B needed A: it restarted, or lost its readiness,
before A was ready. Being late is a need only where restarts are not recorded, and the gap is there in every start.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise, permutations
from statistics import median

FINE_STEP = 15
"""Seconds between two values of a start."""
LEAST_STARTS = 5
_SHARE_AFTER, _SHARE_NEEDED = 0.9, 0.5
_GAP = 2
"""Steps between two that are ready one after the other: one step may be the time between two scrapes."""
_STAYS = 8
"""Steps for which a workload has to stay ready: one that crashes without the other is ready for moments only."""


@dataclass(frozen=True)
class MemberStart:
    """A workload around one start: ready replicas, and restarts of its pods (None: not recorded). NaN is missing."""

    ready: Sequence[float]
    restarts: Sequence[float] | None = None

    @cached_property
    def ready_at(self) -> int | None:
        """The step from which on it stays ready; None: it never does, or the record has a gap or begins too late."""
        first = next((at for at, value in enumerate(self.ready) if not math.isnan(value)), None)
        if first is None or self.ready[first] > 0 or any(map(math.isnan, self.ready[first:])):
            return None
        steps = range(first, len(self.ready) - _STAYS + 1)
        return next((at for at in steps if all(self.ready[at : at + _STAYS])), None)

    def restarts_until(self, step: int) -> int | None:
        """How often its pods restarted until then; None: not known. Before its pods existed there were none."""
        if self.restarts is None or all(map(math.isnan, self.restarts)):
            return None
        before = 0.0 if math.isnan(self.restarts[0]) else self.restarts[0]
        counted = (value for value in reversed(self.restarts[: step + 1]) if not math.isnan(value))
        return round(max(next(counted, before) - before, 0.0))

    def lost_readiness_until(self, step: int) -> bool:
        """Whether it was ready and came back to not ready until then."""
        return self._first_loss <= step

    @cached_property
    def _first_loss(self) -> float:
        """Cached, as each pair of many workloads asks for it."""
        lost = (at for at, (before, value) in enumerate(pairwise(self.ready), start=1) if before > 0 and value == 0)
        return next(lost, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Precedence:
    """`first` has to be ready before `then`, so in `after` of `starts`; `steps` and `restarts` are usual ones."""

    first: str
    then: str
    starts: int
    after: int
    steps: float
    restarts: float | None
    lost: bool
    """Whether it lost its readiness before, in any start."""

    @property
    def words(self) -> str:
        """What the starts show."""
        text = f"{self.then} was ready after {self.first} in {self.after} of {self.starts} starts"
        text += f", {self.steps * FINE_STEP:g} s later"
        if self.restarts is None:
            return f"{text}, lost its readiness before" if self.lost else f"{text}; restarts are not recorded"
        if self.restarts:
            return f"{text}, restarted {'once' if self.restarts == 1 else f'{self.restarts:g} times'} before"
        return f"{text}, lost its readiness before"


def precedences_of(starts: Sequence[Mapping[str, MemberStart]]) -> list[Precedence]:
    """All pairs that the starts prove, by the names of the workloads."""
    names = sorted({name for start in starts for name in start})
    found = (_precedence(first, then, starts) for first, then in permutations(names, 2))
    return [each for each in found if each is not None]


def _precedence(first: str, then: str, starts: Sequence[Mapping[str, MemberStart]]) -> Precedence | None:
    seen = list(_seen(first, then, starts))
    gaps = [gap for gap, _, _ in seen]
    after = [gap for gap in gaps if gap > 0]
    if len(seen) < LEAST_STARTS or len(after) < _SHARE_AFTER * len(seen):
        return None
    known = [restarts for _, restarts, _ in seen if restarts is not None]
    needed = sum(bool(restarts) or lost for _, restarts, lost in seen)
    by_gap = not known and min(gaps) >= _GAP
    if needed < _SHARE_NEEDED * len(seen) and not by_gap:
        return None
    return Precedence(
        first=first,
        then=then,
        starts=len(seen),
        after=len(after),
        steps=median(after),
        restarts=median(filter(None, known)) if any(known) else 0 if known else None,
        lost=any(lost for _, _, lost in seen),
    )


def _seen(first: str, then: str, starts: Iterable[Mapping[str, MemberStart]]) -> Iterator[tuple[int, int | None, bool]]:
    """Steps between the two in each start that counts, restarts of the second before, and whether it lost readiness."""
    for start in starts:
        if first in start and then in start:
            begins, follows = start[first].ready_at, start[then].ready_at
            if begins is not None and follows is not None:
                second = start[then]
                yield follows - begins, second.restarts_until(begins), second.lost_readiness_until(begins)


def layers_of(names: Iterable[str], precedences: Iterable[Precedence]) -> tuple[tuple[str, ...], ...] | None:
    """Each workload in the first layer after all that it needs; None: they need each other in a circle."""
    needs: defaultdict[str, set[str]] = defaultdict(set, {name: set() for name in names})
    for each in precedences:
        needs[each.then].add(each.first)
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError:
        return None
    layers = []
    while sorter.is_active():
        layers.append(tuple(sorted(sorter.get_ready())))
        sorter.done(*layers[-1])
    return tuple(layers)


def coarse_starts(rows: Collection[Sequence[float]], *, most: int, apart: int) -> list[int]:
    """The steps after which a start begins, the newest first: none was ready, and in the next one is.

    Of two that lie less than `apart` steps from each other, the newer counts: the older one was broken off by it.
    """
    steps = min(map(len, rows), default=0)
    up = [any(row[at] > 0 for row in rows) for at in range(steps)]
    found: list[int] = []
    for at in range(steps - 2, -1, -1):
        if up[at + 1] and not up[at] and (not found or found[-1] - at >= apart):
            found.append(at)
    return found[:most]
