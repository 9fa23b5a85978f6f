"""Slots of a week in which a workload has to be awake, made hours of a calendar: outwards, never inwards.

Each step only adds time: ends that lie close together on several days become one, short gaps are closed, and times are
rounded to a quarter of an hour.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keda_py.core.advice.marks import runs_of
from keda_py.core.advice.profile import Awake
from keda_py.core.environment.calendar.days import DAY, WEEKDAYS

WEEK = 7 * DAY
ROUND = 15
"""Minutes."""
SHORTEST_SLEEP = 60
"""Minutes: to sleep for less is not worth a wake."""
_REACH = 20
"""Minutes by which an end moves out to where it is on another day, or was in any week; half an hour when rounded."""


@dataclass(frozen=True, slots=True, order=True)
class AwakeHours:
    """[start, end) in minutes after the midnight of each of `days`, Monday 0; less than 24 hours, or a whole day."""

    start: int
    end: int
    days: tuple[int, ...]

    @property
    def days_text(self) -> str:
        """As a calendar has them: Mon-Fri, Sat,Sun; Mon-Sun for all."""
        parts = []
        for first, last in _ranges(self.days):
            parts.append(WEEKDAYS[first] if first == last else f"{WEEKDAYS[first]}-{WEEKDAYS[last]}")
        return ",".join(parts)

    @property
    def from_text(self) -> str:
        """The start as text, such as 08:30."""
        return f"{self.start // 60:02}:{self.start % 60:02}"

    @property
    def to_text(self) -> str:
        """Such as 19:30, 24:00, or 03:00 of the next day."""
        end = self.end - DAY if self.end > DAY else self.end
        return f"{end // 60:02}:{end % 60:02}"

    def __str__(self) -> str:
        return f"{self.days_text} {self.from_text}-{self.to_text}"


def hours_of(awake: Awake, ever: Awake) -> tuple[AwakeHours, ...]:
    """The hours of a week, those that begin early in the day first; none where it has to be awake at no time.

    `ever` has the slots that were used in any week: beside the hours they count, elsewhere they are odd moments.
    """
    minutes = DAY // len(awake[0])
    week = _rounded(_joined(_aligned(awake, ever, _REACH // minutes), SHORTEST_SLEEP // minutes), ROUND // minutes)
    return _to_hours(week, minutes)


def _to_hours(week: bytearray, minutes: int) -> tuple[AwakeHours, ...]:
    windows: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for day, start, end in _windows(week, minutes):
        windows[start, end].append(day)
    found = (AwakeHours(start, end, tuple(sorted(days))) for (start, end), days in windows.items())
    return tuple(sorted(found, key=lambda each: (each.start, each.days)))


def union_of(*parts: Sequence[AwakeHours]) -> tuple[AwakeHours, ...]:
    """Awake whenever one of them is."""
    awake = [bytearray(DAY // ROUND) for _ in range(7)]
    for each in (window for part in parts for window in part):
        for day in each.days:
            for minute in range(each.start, each.end, ROUND):
                awake[(day + minute // DAY) % 7][minute % DAY // ROUND] = 1
    return _to_hours(bytearray().join(awake), ROUND)


def asleep_hours(hours: Sequence[AwakeHours]) -> float:
    """Return the hours of a week that lie outside of these hours."""
    return (WEEK - sum((each.end - each.start) * len(each.days) for each in hours)) / 60


def _aligned(awake: Awake, ever: Awake, reach: int) -> Awake:
    """The ends, moved out."""
    found = [bytearray(row) for row in awake]
    slots = len(awake[0])
    for day, row in enumerate(awake):
        for start, end in runs_of(row, 1):
            for at in range(max(start - reach, 0), start):
                found[day][at] |= any(other[at] for other in _alike(awake, ever, start))
            for at in range(end, min(end + reach, slots)):
                found[day][at] |= any(other[at] for other in _alike(awake, ever, end - 1))
    return found


def _alike(awake: Awake, ever: Awake, edge: int) -> list[bytearray]:
    """Rows of past use for the weekdays that are also awake at the edge of a window."""
    return [known for row, known in zip(awake, ever, strict=True) if row[edge]]


def _joined(awake: Awake, shortest: int) -> bytearray:
    """One row for the week, without gaps that are too short to sleep; Sunday night goes on into Monday."""
    week = bytearray().join(awake)
    if 1 not in week:
        return week
    first = week.index(1)
    turned = week[first:] + week[:first]
    for start, end in list(runs_of(turned, 0)):
        if end - start < shortest:
            turned[start:end] = b"\1" * (end - start)
    return turned[len(turned) - first :] + turned[: len(turned) - first]


def _rounded(week: bytearray, size: int) -> bytearray:
    if size < 2:
        return week
    return bytearray().join((b"\1" if 1 in week[at : at + size] else b"\0") * size for at in range(0, len(week), size))


def _windows(week: bytearray, minutes: int) -> Iterator[tuple[int, int, int]]:
    """(weekday, start, end) of each; one of a day or more is divided at midnight."""
    slots = len(week)
    if 1 not in week:
        return
    if 0 not in week:
        yield from ((day, 0, DAY) for day in range(7))
        return
    first = week.index(0)
    for begin, end in runs_of(week[first:] + week[:first], 1):
        start, length = (begin + first) % slots * minutes, (end - begin) * minutes
        while length > 0:
            day, at = start // DAY % 7, start % DAY
            part = length if length < DAY else min(length, DAY - at)
            yield day, at, at + part
            start, length = start + part, length - part


def _ranges(days: Sequence[int]) -> Iterator[tuple[int, int]]:
    start = None
    for day in days:
        if start is None:
            start = day
        if day + 1 not in days:
            yield start, day
            start = None
