"""The openings of a window on the wall clock of its zone, independent of now, as a reader of the manifest sees them.

A schedule repeats every week, or every year if it restricts days of the month or months. All firings of one such cycle
are laid side by side (a bounded number of them): between two firings the later one decides, open before an end, closed
before a start alone. That is `windows.py`'s rule, E <= S, for all moments at once. Summer time is left to `windows.py`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from itertools import pairwise

from keda_py.core.cron.fields import CronFields

DAY = 24 * 60
WEEK = 7 * DAY
# Firings of a start or an end in a cycle; a schedule that fires more often is not analysed.
MOST_FIRINGS = 2_000
_LEAP_YEAR = 2032
"""A year in which every day of the month occurs."""
_DAYS_IN_YEAR = 366

Span = tuple[int, int]
"""Minutes from the beginning of the cycle: opens, closes; closes may lie in the next cycle."""
_Day = tuple[int, int, int]
"""Month, day of the month, day of the week from Sunday, 0."""


def _parts(day: date) -> _Day:
    return day.month, day.day, day.isoweekday() % 7


_A_YEAR = [_parts(date(_LEAP_YEAR, 1, 1) + timedelta(days=number)) for number in range(_DAYS_IN_YEAR)]
_A_WEEK = [_parts(date(_LEAP_YEAR, 3, 1) + timedelta(days=number)) for number in range(7)]
"""The days of a week that begins on a Monday."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Openings:
    """The spans in which a window is open; `cycle` is a week from Monday, or a year, in minutes. Ordered, disjoint."""

    cycle: int
    spans: tuple[Span, ...]

    @property
    def minutes(self) -> int:
        """Total minutes of all spans in a cycle."""
        return sum(closes - opens for opens, closes in self.spans)

    @property
    def always(self) -> bool:
        """Whether the window never closes."""
        return self.minutes == self.cycle

    @property
    def weekly(self) -> bool:
        """Whether the cycle is a week."""
        return self.cycle == WEEK

    def covers(self, minute: int) -> bool:
        """Whether the window is open at that minute of the cycle."""
        return any(opens <= at < closes for opens, closes in self.spans for at in (minute, minute + self.cycle))


@lru_cache(maxsize=64)
def openings_of(start: CronFields, end: CronFields) -> Openings | None:
    """Compute the openings of one cycle; None if it fires too often to be analysed."""
    weekly = _is_weekly(start) and _is_weekly(end)
    cycle = WEEK if weekly else _DAYS_IN_YEAR * DAY
    starts, ends = firings(start, weekly=weekly), firings(end, weekly=weekly)
    if starts is None or ends is None:
        return None
    both = sorted(starts | ends)
    if not ends:
        return Openings(cycle=cycle, spans=())
    before_end = [span for span in pairwise([*both, both[0] + cycle]) if span[1] % cycle in ends]
    return Openings(cycle=cycle, spans=_joined(before_end, cycle))


def firings(fields: CronFields, *, weekly: bool) -> set[int] | None:
    """Return all firings of one cycle, a week from Monday or a year; None if there are too many."""
    days = _matching(fields, _A_WEEK if weekly else _A_YEAR)
    if len(days) * len(fields.hour.values) * len(fields.minute.values) > MOST_FIRINGS:
        return None
    times = times_of_day(fields)
    return {day * DAY + time for day in days for time in times}


def union(many: Iterable[Openings], cycle: int) -> Openings:
    """Return the spans in which at least one of them is open; all have that cycle."""
    pieces = sorted(piece for one in many for span in one.spans for piece in _within(span, cycle))
    return Openings(cycle=cycle, spans=_joined(pieces, cycle))


def shared_minutes(one: Openings, other: Openings) -> int:
    """Return the minutes of a cycle in which both are open; both have the same cycle."""
    return one.minutes + other.minutes - union((one, other), one.cycle).minutes


def gaps_between(openings: Openings) -> Sequence[Span]:
    """Return the spans in which the window is closed."""
    if not openings.spans or openings.always:
        return ()
    first = openings.spans[0][0] + openings.cycle
    followed = pairwise([*openings.spans, (first, first)])
    return [(closes, opens) for (_, closes), (opens, _) in followed]


def day_matches(fields: CronFields, day: date) -> bool:
    """Whether the expression fires on that day, at any time."""
    return bool(_matching(fields, [_parts(day)]))


def times_of_day(fields: CronFields) -> Sequence[int]:
    """Return the minutes from midnight at which it fires on a day that matches."""
    return [hour * 60 + minute for hour in sorted(fields.hour.values) for minute in sorted(fields.minute.values)]


def _is_weekly(fields: CronFields) -> bool:
    return len(fields.month.values) == 12 and len(fields.day_of_month.values) == 31


def _matching(fields: CronFields, days: Sequence[_Day]) -> Sequence[int]:
    """The positions of the days on which it fires."""
    months, by_month, by_week = fields.month.values, fields.day_of_month.values, fields.day_of_week.values
    if fields.matches_any_weekday():
        return [
            at for at, (month, day, week) in enumerate(days) if month in months and (day in by_month or week in by_week)
        ]
    return [at for at, (month, day, week) in enumerate(days) if month in months and day in by_month and week in by_week]


def _within(span: Span, cycle: int) -> Sequence[Span]:
    """Split a span that reaches into the next cycle."""
    opens, closes = span
    return [span] if closes <= cycle else [(opens, cycle), (0, closes - cycle)]


def _joined(spans: Sequence[Span], cycle: int) -> tuple[Span, ...]:
    """Merge spans that touch or overlap, also across the end of the cycle."""
    joined: list[Span] = []
    for opens, closes in spans:
        if joined and opens <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], closes))
        else:
            joined.append((opens, closes))
    if len(joined) > 1 and joined[-1][1] >= joined[0][0] + cycle:
        opens, _ = joined.pop()
        joined[0] = (opens - cycle, joined[0][1])
    begins = [(opens % cycle, opens % cycle + min(closes - opens, cycle)) for opens, closes in joined]
    return tuple(sorted(begins))
