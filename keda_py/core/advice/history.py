"""A history of use: means of a rate over equal steps from an instant on. A missing value is NaN, and never 0."""

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from keda_py.errors import ConfigError

FINEST, COARSEST = 300, 3600
"""Seconds: finer samples are averaged, and coarser ones cannot show when use begins."""
STEPS = (300, 600, 900, 1800, 3600)
_HOLDS = 1.5
"""A value holds for so many of the usual distances between two samples, where the next one is late."""
Sample = tuple[float, float]
"""Unix seconds, and a value or NaN; it holds until the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """`values[i]` is the mean over [origin + i * step, origin + (i + 1) * step); `step` divides an hour."""

    origin: datetime
    step: int
    values: "array[float]"

    @property
    def ends(self) -> datetime:
        """The end of the last step."""
        return self.origin + timedelta(seconds=self.step * len(self.values))

    @property
    def known(self) -> float:
        """The share of steps that have a value."""
        found = sum(1 for value in self.values if not math.isnan(value))
        return found / len(self.values) if self.values else 0.0


def sample_history(samples: Iterable[Sample]) -> History:
    """Samples in the order of time, laid onto equal steps. Raises ConfigError for what shows no hours.

    A step has the mean of the samples that begin in it, and of a longer sample, the largest that covers it: the ends
    of use move outwards, not inwards.
    """
    rows = list(samples)
    if len(rows) < 2:
        raise ConfigError("there are fewer than two samples; give some weeks of them")
    usual = _usual_distance(rows)
    if usual > COARSEST:
        told = f"the samples are {usual / 60:.0f} min apart, which shows no hours"
        raise ConfigError(f"{told}; give one at least each hour, best each 5 min")
    step = next(each for each in STEPS if usual <= each)
    first = int(rows[0][0] // step)
    count = math.ceil((rows[-1][0] + min(usual, step)) / step - 1e-6) - first
    sums, seconds = array("d", bytes(8 * count)), array("d", bytes(8 * count))
    for number, (at, value) in enumerate(rows):
        following = rows[number + 1][0] if number + 1 < len(rows) else at + usual
        if not math.isnan(value):
            _lay(sums, seconds, (at / step - first, min(following, at + usual * _HOLDS) / step - first), value)
    values = array(
        "d", (total / length if length >= 0.5 else math.nan for total, length in zip(sums, seconds, strict=True))
    )
    return History(origin=datetime.fromtimestamp(first * step, UTC), step=step, values=values)


def _lay(sums: "array[float]", seconds: "array[float]", span: tuple[float, float], value: float) -> None:
    """The value in each step that the span covers, by how much it covers; in units of steps."""
    start, end = span
    at = int(start)
    while at < end and at < len(sums):
        share = min(end, at + 1) - max(start, at)
        if share > 1e-9:
            sums[at] += value * share
            seconds[at] += share
        at += 1


def _usual_distance(rows: list[Sample]) -> float:
    distances = sorted(after[0] - before[0] for before, after in pairwise(rows))
    if distances[0] <= 0:
        raise ConfigError("two samples have the same time, or are out of order; sort them and leave one of each")
    return distances[len(distances) // 2]
