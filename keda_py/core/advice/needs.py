"""Replicas that triggers asked for -> lower minimums, each with the hours of the week in which it was not enough. Pure.

A level is a count below the minimum. The hours in which more than a level was needed are found as hours of use are:
weekday profiles over the weeks. What is unknown counts as needed, so that missing data lowers nothing.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from keda_py.core.advice.candidates import Candidate
from keda_py.core.advice.floor import Floor
from keda_py.core.advice.history import History
from keda_py.core.advice.hours import asleep_hours, union_of
from keda_py.core.advice.marks import IDLE, UNKNOWN, USED, Marks
from keda_py.core.hpa.metrics import round_up

_MOST_LEVELS = 8
_MOST_TIERS = 2
"""Levels of one schedule, such as one by day and one at night: more are hard to read in a manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A lower minimum, and the hours of the week in which more was needed; no hours: it was enough at all times."""

    level: int
    candidate: Candidate


def needed_replicas(parts: Sequence[tuple[History, int]], most: int) -> History:
    """Replicas for histories of one grid with their targets per replica, in thousandths, in which the HPA reads.

    It takes the metric that asks for most. The count is unknown where one of them is.
    """
    first = parts[0][0]
    values = array("d", (math.nan for _ in first.values))
    for at in range(len(values)):
        asked = [(history.values[at], target) for history, target in parts]
        if not any(math.isnan(value) for value, _ in asked):
            values[at] = min(max(round_up(round(value * 1000) / target) for value, target in asked), most)
    return History(origin=first.origin, step=first.step, values=values)


def levels_below(need: History, minimum: int, least: int) -> Sequence[int]:
    """Counts from `least` to below `minimum` that may be enough, the lowest first: quantiles of what was needed."""
    known = sorted(max(int(value), least) for value in need.values if not math.isnan(value))
    below = [value for value in known if value < minimum]
    if not below:
        return []
    quantiles = (below[(len(below) - 1) * part // (_MOST_LEVELS - 1)] for part in range(_MOST_LEVELS))
    return sorted(set(quantiles))


def marks_above(need: History, level: int) -> tuple[Floor, Marks]:
    """Mark the steps in which more than `level` replicas were needed as use."""
    steps = bytearray(UNKNOWN if math.isnan(value) else USED if value > level else IDLE for value in need.values)
    return Floor(level=level, noise=level, clear=level), Marks(steps=steps, spikes=0, hourly=())


def choices(tiers: Sequence[Tier], minimum: int) -> Iterator[tuple[Tier, ...]]:
    """Tiers that go together, the lowest level first; those first that save most."""
    found = [each for count in range(1, _MOST_TIERS + 1) for each in combinations(tiers, count)]
    saving = [(saved_by(each, minimum), each) for each in found]
    # With equal savings the schedule of fewer tiers is the simpler one.
    yield from (each for _, each in sorted(saving, key=lambda one: (-one[0], len(one[1]))))


def saved_by(tiers: Sequence[Tier], minimum: int) -> float:
    """Replica hours a week, if the minimum alone decides."""
    saved, above = 0.0, minimum
    for number in reversed(range(len(tiers))):
        # A higher tier rules in all hours in which a lower one is not enough, and in its own besides.
        asleep = asleep_hours(union_of(*(tier.candidate.hours for tier in tiers[number:])))
        saved, above = saved + asleep * (above - tiers[number].level), tiers[number].level
    return saved
