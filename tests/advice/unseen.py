"""Traces of invented workloads with their truth: layers of use over a floor, each with its own days, zone and curve."""

import math
import random
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from keda_py.core.advice.history import STEPS, History, sample_history
from keda_py.core.environment.calendar.days import parse_weekdays
from keda_py.core.environment.calendar.zones import instant_of
from tests.core.advice.habits import Window, minutes_of

MONDAY = date(2026, 8, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Use in these local windows, on days of [first, last) that are not `off`, every `every`-th week.

    A day's use rises from `least` to `most` and falls again. `moved`: minutes by which its ends lie inside, at most.
    """

    windows: Sequence[Window]
    zone: str = ""
    first: date = date.min
    last: date = date.max
    off: Sequence[date] = ()
    every: int = 1
    phase: int = 0
    least: float = 2.0
    most: float = 6.0
    moved: int = 0
    presence: float = 1.0
    """The share of steps that have use."""

    def spans(
        self, day: date, number: int, zone: ZoneInfo, chance: random.Random
    ) -> Iterator[tuple[datetime, datetime]]:
        """The spans that begin on that day, the `number`-th of the trace."""
        if day in self.off or not self.first <= day < self.last or number // 7 % self.every != self.phase:
            return
        zone = ZoneInfo(self.zone) if self.zone else zone
        for days, begins, closes in self.windows:
            if day.weekday() in parse_weekdays(days, field="days"):
                start, end = minutes_of(begins, closes)
                late, early = chance.randint(0, self.moved), chance.randint(0, self.moved)
                yield instant_of(day, start + late, zone), instant_of(day, end - early, zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleFloor:
    """Values while idle: health checks at a rate, more from some days on, with a relative noise; jobs of some minutes."""

    level: float = 0.0
    noise: float = 0.05
    minutes: Sequence[int] = ()
    """Minutes of each hour at which a sidecar has a job."""
    job: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A trace that no recording has. `truth`: local windows, () for never used, None where nothing may be proposed."""

    layers: Sequence[Layer] = ()
    truth: Sequence[Window] | None
    zone: str = "UTC"
    start: date = MONDAY
    days: int = 42
    step: int = 300
    floor: IdleFloor = field(default_factory=IdleFloor)
    lost: Sequence[tuple[float, float]] = ()
    """[first, last) days of which nothing is known."""
    dropped: float = 0.0
    """The share of samples that are missing at random."""

    def history(self, seed: int = 1) -> History:
        """Its values; the same seed gives the same ones."""
        zone, chance = ZoneInfo(self.zone), random.Random(seed)
        origin, ends = (instant_of(self.start + timedelta(days=each), 0, zone) for each in (0, self.days))
        fine = array("d", self._idle(origin, int((ends - origin).total_seconds()) // STEPS[0], chance))
        for number in range(-1, self.days):
            for layer in self.layers:
                for start, end in layer.spans(self.start + timedelta(days=number), number, zone, chance):
                    _use(
                        fine,
                        layer,
                        ((start - origin).total_seconds() / 300, (end - origin).total_seconds() / 300),
                        chance,
                    )
        for first, last in self.lost:
            for at in range(int(first * 288), min(int(last * 288), len(fine))):
                fine[at] = math.nan
        for at in range(len(fine)):
            fine[at] = round(fine[at], 3)
        each = self.step // STEPS[0]
        values = array("d", (math.nan if chance.random() < self.dropped else 0.0 for _ in range(0, len(fine), each)))
        first = origin.timestamp()
        skipped = int(-first % self.step) // STEPS[0]
        starts = range(skipped, len(fine) - each + 1, each)
        return sample_history(
            [first + at * STEPS[0] for at in starts],
            [_mean(fine[at : at + each]) + values[at // each] for at in starts],
        )

    def _idle(self, origin: datetime, count: int, chance: random.Random) -> Iterator[float]:
        floor = self.floor
        for number in range(count):
            minute = (origin.minute + number * 5) % 60
            job = floor.job if minute in floor.minutes else 0.0
            yield max(chance.gauss(floor.level, floor.noise * floor.level), 0.0) + job


def _use(values: "array[float]", layer: Layer, span: tuple[float, float], chance: random.Random) -> None:
    first, last = span
    for at in range(max(int(first), 0), min(math.ceil(last), len(values))):
        if chance.random() < layer.presence:
            curve = math.sin(math.pi * (at + 0.5 - first) / (last - first))
            mean = layer.least + (layer.most - layer.least) * max(curve, 0.0)
            values[at] += max(chance.gauss(mean, 0.15 * mean), 0.05 * mean)


def _mean(values: "array[float]") -> float:
    """NaN where half is unknown."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if 2 * len(known) > len(values) else math.nan
