"""Slots of a week: how much of each was used, weighted by age, and in which a workload has to be awake.

What is unknown counts as use here, so that the loss of data never makes a slot idle.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

from keda_py.core.advice.marks import ABSENT, IDLE, UNKNOWN, USED

Days = Mapping[date, bytearray]
Awake = list[bytearray]
"""Monday to Sunday: 1 for each slot in which it has to be awake."""
_HALF_LIFE = 112.0
"""Days after which a week counts half."""
LEAST_WEEKS, _LEAST_DAYS = 3, 2
"""A slot was seen idle in so many weeks at least, in so many of them on a day that counts."""
# What was idle in neither of the last two weeks is a habit, however many weeks were before.
_NEWEST = timedelta(days=14)
RECENT, RECENT_DAYS = timedelta(days=7), 3
"""What was used on so many days of the last week, and not before, is a habit already."""


def awake_slots(days: Days, tolerated: float, further: Days, weeks: int = LEAST_WEEKS) -> Awake:
    """Slots that were not idle in more than `tolerated` of the weeks, by weight, or in too few of them seen at all.

    `further` days do not count: they only confirm that a slot is idle, where few days of its weekday count. A slot has
    to be seen idle in so many `weeks`.
    """
    newest, slots = max(days), len(next(iter(days.values())))
    found = []
    for dated, others in zip(by_weekday(days), by_weekday(further), strict=True):
        known: dict[tuple[int, ...], int] = {}
        confirmed = _idle_days(others, slots)
        weights = [0.5 ** ((newest - day).days / _HALF_LIFE) for day, _ in dated]
        awake = bytearray(b"\1") * slots
        newest_two = [number for number, (day, _) in enumerate(dated) if day > newest - _NEWEST]
        for at, marks in enumerate(zip(*(row for _, row in dated), strict=True)):
            missing = max(weeks - confirmed[at], _LEAST_DAYS)
            if (missing, *marks) not in known:
                new = [marks[number] for number in newest_two]
                is_new = len(new) == 2 and IDLE not in new and ABSENT not in new
                idle = marks.count(IDLE) >= missing and _is_idle(marks, weights, tolerated)
                known[missing, *marks] = int(is_new or not idle)
            awake[at] = known[missing, *marks]
        found.append(awake)
    _add_recent(found, days, newest)
    return found


def ever_awake(days: Days) -> Awake:
    """Slots that were used in any of the weeks."""
    slots = len(next(iter(days.values())))
    found = [bytearray(slots) for _ in range(7)]
    for day, row in days.items():
        for at, mark in enumerate(row):
            if mark == USED:
                found[day.weekday()][at] = 1
    return found


def _is_idle(marks: Sequence[int], weights: Sequence[float], tolerated: float) -> bool:
    total = sum(weight for mark, weight in zip(marks, weights, strict=True) if mark != ABSENT)
    idle = sum(weight for mark, weight in zip(marks, weights, strict=True) if mark == IDLE)
    return total - idle <= tolerated * total


def _idle_days(dated: Sequence[tuple[date, bytearray]], slots: int) -> Sequence[int]:
    """On how many of the days each slot was idle."""
    return [marks.count(IDLE) for marks in zip(*(row for _, row in dated), strict=True)] or [0] * slots


def _add_recent(awake: Awake, days: Days, newest: date) -> None:
    recent = [(day, row) for day, row in days.items() if day > newest - RECENT]
    for at, marks in enumerate(zip(*(row for _, row in recent), strict=True)):
        used = (day.weekday() for (day, _), mark in zip(recent, marks, strict=True) if mark == USED)
        new = [weekday for weekday in used if not awake[weekday][at]]
        if len(new) >= RECENT_DAYS:
            for weekday in new:
                awake[weekday][at] = 1


def by_weekday(days: Days) -> list[list[tuple[date, bytearray]]]:
    """Monday to Sunday: the days in order."""
    found: list[list[tuple[date, bytearray]]] = [[] for _ in range(7)]
    for day, row in sorted(days.items()):
        found[day.weekday()].append((day, row))
    return found


def patterns(dated: Sequence[tuple[date, bytearray]]) -> Iterator[tuple[tuple[int, ...], int]]:
    """What each slot was over the weeks, and how many slots of the day were so: few patterns, many slots."""
    yield from Counter(zip(*(row for _, row in dated), strict=True)).items()


def used_share(marks: Sequence[int]) -> float | None:
    """Return the share of the known weeks that had use; None if nothing is known."""
    known = len(marks) - marks.count(ABSENT) - marks.count(UNKNOWN)
    return marks.count(USED) / known if known else None


def idle_share(marks: Sequence[int]) -> float:
    """Of all weeks: what is unknown is not idle."""
    there = len(marks) - marks.count(ABSENT)
    return marks.count(IDLE) / there if there else 0.0
