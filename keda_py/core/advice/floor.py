"""The idle floor: what a workload shows while it is not used, such as health checks, scrapes, sidecars.

It is found, not given: the lowest level at which the values stay close together, with a clear distance to what lies
above. A floor of 0 is the plain case: there, each request is use. A workload without such a level is never idle.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from keda_py.core.advice.history import History

# Quantile at which the search for the floor begins; not the minimum, because restarts show less for a moment.
_LOW = 0.05
_DRIFT = 0.25
"""How far the median of an hour of the day may lie from the floor, as a share of it."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """Values up to `noise` are the floor, above `clear` they are use. Between them use has to last, or touch use."""

    level: float = 0.0
    noise: float = 0.0
    clear: float = 0.0


@dataclass(frozen=True, slots=True)
class NoFloor:
    """Why no value can be told from use."""

    because: str


def find_floor(history: History) -> Floor | NoFloor:
    """The floor of a history that has values."""
    known = sorted(value for value in history.values if not math.isnan(value))
    low = known[int(_LOW * (len(known) - 1))]
    if low <= 0:
        return Floor()
    found = [_fit(history, known, low, shape) for shape in _SHAPES]
    return next((each for each in found if isinstance(each, Floor)), found[0])


def _fit(history: History, known: Sequence[float], low: float, shape: _Shape) -> Floor | NoFloor:
    inside = _lowest_level(known, low, shape.band)
    level = inside[len(inside) // 2]
    spread = (inside[int(0.9 * (len(inside) - 1))] - inside[int(0.1 * (len(inside) - 1))]) / 2.56
    steady = spread <= shape.widest * level and _is_flat(history, level, shape.band)
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
    hours: list[list[float]] = [[] for _ in range(24)]
    first, step = history.origin.hour * 3600 + history.origin.minute * 60, history.step
    for number, value in enumerate(history.values):
        if value <= band * level:  # NaN is not
            hours[(first + number * step) // 3600 % 24].append(value)
    medians = [sorted(found)[len(found) // 2] for found in hours if len(found) >= 12]
    return all(abs(each - level) <= _DRIFT * level for each in medians)
