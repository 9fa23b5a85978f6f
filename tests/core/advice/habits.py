"""Histories of invented workloads, whose habits are known, and what is proposed for them."""

import math
import random
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from keda_py.core.advice.candidates import Candidate, NoCandidate, Use, candidates, look_at, measure
from keda_py.core.advice.history import History
from keda_py.core.advice.hours import AwakeHours
from keda_py.core.environment.calendar.days import DAY, parse_minute, parse_weekdays
from keda_py.core.environment.calendar.zones import instant_of

STEP = 300
SLACK = 30
"""Minutes by which an end may lie outside of the truth."""
Window = tuple[str, str, str]
"""Days, from, to."""


@dataclass(slots=True, kw_only=True)
class Habit:
    """A workload that is used in these local windows; the same seed gives the same values."""

    windows: Sequence[Window] = (("Mon-Fri", "09:00", "18:00"),)
    zone: str = "UTC"
    start: date = date(2026, 8, 3)
    weeks: int = 6
    floor: float = 0.0
    rough: float = 0.05
    """Noise of the floor, as a share of it."""
    density: float = 1.0
    """The share of steps in a window that have use."""
    jitter: int = 0
    """Minutes by which a day's use begins later and ends earlier than its window, at most."""
    off: Sequence[date] = ()
    """Days without use."""
    seed: int = 1

    def history(self) -> History:
        """Its values."""
        zone, chance = ZoneInfo(self.zone), random.Random(self.seed)
        origin, ends = (instant_of(self.start + timedelta(days=days), 0, zone) for days in (0, 7 * self.weeks))
        values = array("d", (self._idle(chance) for _ in range(int((ends - origin).total_seconds()) // STEP)))
        for number in range(-1, 7 * self.weeks):
            day = self.start + timedelta(days=number)
            for days, begins, closes in () if day in self.off else self.windows:
                if day.weekday() in parse_weekdays(days, field="days"):
                    first, last = self._span(day, minutes_of(begins, closes), zone, chance)
                    for at in range(index_of(origin, first), index_of(origin, last)):
                        if 0 <= at < len(values) and chance.random() < self.density:
                            values[at] = self.floor + chance.uniform(1.5, 6.0)
        return History(origin=origin.astimezone(UTC), step=STEP, values=values)

    def _idle(self, chance: random.Random) -> float:
        return max(chance.gauss(self.floor, self.floor * self.rough), 0.0) if self.floor else 0.0

    def _span(
        self, day: date, minutes: tuple[int, int], zone: ZoneInfo, chance: random.Random
    ) -> tuple[datetime, datetime]:
        late, early = chance.randint(0, self.jitter), chance.randint(0, self.jitter)
        return instant_of(day, minutes[0] + late, zone), instant_of(day, minutes[1] - early, zone)


def minutes_of(begins: str, closes: str) -> tuple[int, int]:
    start, end = parse_minute(begins, field="from"), parse_minute(closes, field="to")
    return start, end if end > start else end + DAY


def index_of(origin: datetime, at: datetime) -> int:
    return int((at - origin).total_seconds()) // STEP


def changed(history: History, change: Callable[["array[float]"], None]) -> History:
    """The same history with other values."""
    values = array("d", history.values)
    change(values)
    return History(origin=history.origin, step=history.step, values=values)


def without(history: History, *spans: tuple[int, int]) -> History:
    """Nothing is known of these steps."""

    def forget(values: "array[float]") -> None:
        for start, end in spans:
            for at in range(start, min(end, len(values))):
                values[at] = math.nan

    return changed(history, forget)


def found_in(history: History, zone: str = "UTC", holidays: dict[date, str] | None = None) -> Use | NoCandidate:
    """What is found in a history."""
    measured = measure(history)
    if isinstance(measured, NoCandidate):
        return measured
    return look_at(history, measured, ZoneInfo(zone), holidays or {})


def first_candidate(
    history: History, zone: str = "UTC", holidays: dict[date, str] | None = None
) -> Candidate | NoCandidate:
    """The shortest hours that may be proposed."""
    use = found_in(history, zone, holidays)
    return use if isinstance(use, NoCandidate) else next(candidates(use))


def hours(history: History, zone: str = "UTC") -> list[str]:
    """Those of the first candidate, as text."""
    found = first_candidate(history, zone)
    assert isinstance(found, Candidate), found
    return [str(each) for each in found.hours]


def awake_minutes(hours: Sequence[AwakeHours]) -> set[int]:
    """The minutes of a week in which it is awake."""
    return {
        (day * DAY + minute) % (7 * DAY)
        for each in hours
        for day in each.days
        for minute in range(each.start, each.end)
    }


def is_right(hours: Sequence[AwakeHours], windows: Sequence[Window]) -> bool:
    """Whether the hours have all of the truth, and no more than half an hour at each end besides."""
    awake = awake_minutes(hours)
    truth, allowed = set[int](), set[int]()
    for days, begins, closes in windows:
        start, end = minutes_of(begins, closes)
        for day in parse_weekdays(days, field="days"):
            truth |= {(day * DAY + minute) % (7 * DAY) for minute in range(start, end)}
            allowed |= {(day * DAY + minute) % (7 * DAY) for minute in range(start - SLACK, end + SLACK)}
    return truth <= awake <= allowed
