"""The idle floor: what a workload shows while it is not used, such as health checks, scrapes, sidecars.

It is found, not given: the lowest level at which the values stay close together, with a clear distance to what lies
above. A floor of 0 is the plain case: there, each request is use. A workload without such a level is never idle.
Another replica or sidecar may move the floor for good, so it is found again in each week (`floors_of`).
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby, pairwise
from statistics import fmean as mean
from statistics import pstdev

from keda_py.core.advice.history import History

# Quantile at which the search for the floor begins; not the minimum, because restarts show less for a moment.
_LOW = 0.05
_DRIFT = 0.25
"""How far the median of an hour of the day may lie from the floor, as a share of it."""
_LEAST_OFTEN = 0.1
"""The share of all values that lie at the floor: of a quiet Sunday a week it is 0.14."""
_NOISES = 6.0
_LEAST_RISE = 0.3
_CLEAR = 0.25
"""Of the distance from the floor to usual use: what rises less, alone and for a moment, is a spike of the floor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """Values of a floor lie below `band` times its median; few lie in the `valley`, as use begins at once above it."""

    band: float
    widest: float
    """Spread, as a share of the median."""
    valley: tuple[float, float]
    sparse: float
    """Values in the valley, as a share of those at the floor."""


# Checks at a fixed pace, of which one in 10 s has a Poisson noise of 18 % over 5 min; and what is rougher, with use far
# above it.
_SHAPES = (
    _Shape(band=1.5, widest=0.2, valley=(1.25, 1.5), sparse=0.1),
    _Shape(band=2.2, widest=0.35, valley=(2.0, 3.0), sparse=0.08),
)


# A floor that scatters too much for these, such as bots: it ends at an empty stretch, with use far above.
_ROUGH_END, _ROUGH_SPARSE, _ROUGH_USE = 1.5, 0.01, 3.0
_LEAST_IDLE, _MOST_IDLE = 0.3, 0.98
"""The share of all values that such a floor has."""
_MOVED = 1.25
"""A floor moved where the level of a week is so many times that of the week before or after."""
_LASTS = 2
"""Weeks for which a floor stays where it moved to, at least."""
_FAR_BELOW = 0.25
"""Of usual use: a level that moved up to more may be use, day and night."""
_WEEK = 7 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """Values up to `noise` are the floor, above `clear` they are use. Between them use has to last, or touch use."""

    level: float = 0.0
    noise: float = 0.0
    clear: float = 0.0
    earlier: tuple[float, ...] = ()
    """Levels that it had in the weeks before, the oldest first, where it moved."""


@dataclass(frozen=True, slots=True)
class NoFloor:
    """Why no value can be told from use."""

    because: str


def find_floor(history: History) -> Floor | NoFloor:
    """The floor of a history that has values."""
    known = _known(history)
    low = _low_of(known)
    found = [_fit(history, known, low, shape) for shape in _SHAPES] if low > 0 else [Floor()]
    steady = next((each for each in found if isinstance(each, Floor) and each.level), None)
    return steady or _fit_rough(history, known) or found[0]


def _known(history: History) -> Sequence[float]:
    return sorted(value for value in history.values if not math.isnan(value))


def _low_of(known: Sequence[float]) -> float:
    return known[int(_LOW * (len(known) - 1))]


def floors_of(history: History) -> Sequence[Floor]:
    """The floor of each week where it moved; () where it did not, or where a higher one may be use.

    A week without a floor of its own, such as one of holidays, has that of the week before it.
    """
    weeks = weeks_of(history)
    lows = [_low_of(_known(week)) for week in weeks if week.known]
    if max(lows) <= _MOVED * min(lows):
        return ()  # most histories: the search below takes as long as all else
    found = [find_floor(week) if week.known >= 1 / 2 else None for week in weeks]
    of_weeks = [each if isinstance(each, Floor) else None for each in found]
    first = next((each for each in of_weeks if each is not None), Floor())
    floors = [floor for floor in accumulate(of_weeks, lambda old, new: new or old, initial=first) if floor][1:]
    levels = [len(list(alike)) for _, alike in groupby(_ranks(floors))]
    if len(levels) == 1 or min(levels) < _LASTS:
        return ()
    # Above all of them: in the week in which it moved, the new level lies above the old noise.
    noise = max(each.noise for each in floors)
    used = sorted(value for value in history.values if value > noise)
    if not used or max(each.level for each in floors) > _FAR_BELOW * used[len(used) // 2]:
        return ()
    return _with_earlier(floors)


def _ranks(floors: Sequence[Floor]) -> Sequence[int]:
    """A number for each week, which grows by one where the floor moved."""
    moved = (not new.level / _MOVED <= old.level <= new.level * _MOVED for old, new in pairwise(floors))
    return list(accumulate(moved, initial=0))


def weeks_of(history: History) -> Sequence[History]:
    """Weeks from its beginning on; the last one has the rest, too."""
    size = _WEEK // history.step
    starts = [*range(0, max(len(history.values) // size, 1) * size, size), len(history.values)]
    return [history.part(start, end) for start, end in pairwise(starts)]


def _with_earlier(floors: Sequence[Floor]) -> Sequence[Floor]:
    """The newest one names the levels before it, one for each time that it moved."""
    ranks = _ranks(floors)
    moved = tuple(old.level for old, rank, following in zip(floors, ranks, ranks[1:], strict=False) if rank < following)
    return [*floors[:-1], replace(floors[-1], earlier=moved)]


def _fit_rough(history: History, known: Sequence[float]) -> Floor | None:
    """A floor of any shape that is there most of the time, day and night alike, below an empty stretch."""
    first, last = (int(share * len(known)) for share in (_LEAST_IDLE, _MOST_IDLE))
    for at in range(max(first, 2 * bisect_right(known, 0.0)), last):  # its median is above 0
        end = known[at]
        if _between(known, end, _ROUGH_END * end) <= _ROUGH_SPARSE * at and at + 1 < len(known):
            level, usual = known[at // 2], known[(at + 1 + len(known)) // 2]
            if usual > _ROUGH_USE * end and _is_even(history, end):
                noise = end * (1 + _ROUGH_END) / 2
                return Floor(level=level, noise=noise, clear=max(noise, level + _CLEAR * (usual - level)))
    return None


def _is_even(history: History, most: float) -> bool:
    """Whether the mean of what is below is alike at each hour of the day, as far as so few values can tell."""
    hours = [found for found in _by_hour(history, most) if len(found) >= 12]
    middle, deviation = mean(chain(*hours)), pstdev(chain(*hours))
    return all(abs(mean(found) - middle) <= _DRIFT * middle + 3 * deviation / len(found) ** 0.5 for found in hours)


def _fit(history: History, known: Sequence[float], low: float, shape: _Shape) -> Floor | NoFloor:
    inside = _lowest_level(known, low, shape.band)
    level = inside[len(inside) // 2]
    spread = (inside[int(0.9 * (len(inside) - 1))] - inside[int(0.1 * (len(inside) - 1))]) / 2.56
    often = len(inside) >= _LEAST_OFTEN * len(known)
    steady = often and spread <= shape.widest * level and _is_flat(history, level, shape.band)
    if steady and len(inside) == len(known):
        text = f"there is a steady {level:.3g} day and night and nothing above it, which may be use or health checks"
        return NoFloor(f"{text}; leave health checks out of the query")
    if not steady or _between(known, *(level * each for each in shape.valley)) > shape.sparse * len(inside):
        text = f"it is used day and night: seldom less than {low:.3g}"
        return NoFloor(f"{text}, and without a steady level at the bottom")
    above = known[len(inside) :]
    usual = above[len(above) // 2]
    noise = min(level + max(_NOISES * spread, _LEAST_RISE * level), (level + usual) / 2)
    return Floor(level=level, noise=noise, clear=max(noise, level + _CLEAR * (usual - level)))


def _lowest_level(known: Sequence[float], low: float, band: float) -> Sequence[float]:
    """The values up to `band` times their own median, from the lowest on: it grows until it ends at a gap."""
    level = low
    for _ in range(50):
        inside = known[: bisect_right(known, band * level)]
        found = inside[len(inside) // 2]
        if abs(found - level) <= 0.001 * level:
            break
        level = found
    return known[: bisect_right(known, band * level)]


def _between(known: Sequence[float], least: float, most: float) -> int:
    return bisect_right(known, most) - bisect_right(known, least)


def _is_flat(history: History, level: float, band: float) -> bool:
    """Whether what is at the floor has the same level at each hour of the day: people leave a curve, checks do not."""
    medians = [sorted(found)[len(found) // 2] for found in _by_hour(history, band * level) if len(found) >= 12]
    return all(abs(each - level) <= _DRIFT * level for each in medians)


def _by_hour(history: History, most: float) -> Sequence[Sequence[float]]:
    """The values up to `most`, by the hour of the day in UTC."""
    hours: list[list[float]] = [[] for _ in range(24)]
    first, step = history.origin.hour * 3600 + history.origin.minute * 60, history.step
    for number, value in enumerate(history.values):
        if value <= most:  # NaN is not
            hours[(first + number * step) // 3600 % 24].append(value)
    return hours
