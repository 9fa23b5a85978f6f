"""A history of use: means of a rate over equal steps from an instant on. A missing value is NaN, and never 0."""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from keda_py.errors import ConfigError

# Seconds; samples that are further apart cannot show when use begins.
COARSEST = 3600
# Both divide a quarter of an hour, by multiples of which the clocks of all zones are off UTC.
STEPS = (300, 900)
_HOLDS = 1.5
"""A value holds for so many of the usual distances between two samples, where the next one is late."""
_HALF = 0.5 + 1e-6
_LOOKED_AT = 10_000


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

    def part(self, start: int, end: int) -> "History":
        """Return the steps [start, end)."""
        origin = self.origin + timedelta(seconds=start * self.step)
        return History(origin=origin, step=self.step, values=self.values[start:end])

    @property
    def known(self) -> float:
        """The share of steps that have a value."""
        found = sum(1 for value in self.values if not math.isnan(value))
        return found / len(self.values) if self.values else 0.0


def sample_history(times: Sequence[float], found: Sequence[float]) -> History:
    """Samples in the order of time, laid onto equal steps: Unix seconds, and values, which hold until the next one.

    A value of NaN is missing, and so is one below 0, as a counter gives that began again. A step has the mean of what
    holds in it; of a step of which half is unknown, the value is missing. Raises ConfigError for what shows no hours.
    """
    if len(times) < 2:
        raise ConfigError("there are fewer than two samples; give some weeks of them")
    usual = _usual_distance(times)
    if usual > COARSEST:
        text = f"the samples are {usual / 60:.0f} min apart, which shows no hours"
        raise ConfigError(f"{text}; give one at least each hour, best each 5 min")
    step = next((each for each in reversed(STEPS) if usual >= each), STEPS[0])
    first = int(times[0] // step)
    count = math.ceil((times[-1] + min(usual, step)) / step - 1e-6) - first
    sums, known = array("d", bytes(8 * count)), array("d", bytes(8 * count))
    for number, (at, value) in enumerate(zip(times, found, strict=True)):
        following = times[number + 1] if number + 1 < len(times) else at + usual
        if value >= 0:  # NaN is not
            _lay(sums, known, (at / step - first, min(following, at + usual * _HOLDS) / step - first), value)
    values = array(
        "d", (total / share if share > _HALF else math.nan for total, share in zip(sums, known, strict=True))
    )
    return History(origin=datetime.fromtimestamp(first * step, UTC), step=step, values=values)


def _lay(sums: "array[float]", known: "array[float]", span: tuple[float, float], value: float) -> None:
    """The value in each step that the span covers, by how much it covers; in units of steps."""
    start, end = span
    at = int(start)
    while at < end and at < len(sums):
        share = min(end, at + 1) - max(start, at)
        if share > 1e-9:
            sums[at] += value * share
            known[at] += share
        at += 1


def _usual_distance(times: Sequence[float]) -> float:
    """The median of some thousand distances between neighbours, over the whole length."""
    stride = max(len(times) // _LOOKED_AT, 1)
    distances = sorted(times[at + 1] - times[at] for at in range(0, len(times) - 1, stride))
    if distances[0] <= 0:
        raise ConfigError("two samples have the same time, or are out of order; sort them and leave one of each")
    return distances[len(distances) // 2]
