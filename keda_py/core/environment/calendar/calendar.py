"""Calendars that have been read: spans of local time for each day, each with its reason.

A span belongs to the day on which it begins: a night from Friday 22:00 to 06:00 goes on into a Saturday that is a
holiday, and one that begins on a holiday does not take place. Local times are laid over the zone in `zones.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from zoneinfo import ZoneInfo

from keda_py.core.environment.calendar.days import DAY


@dataclass(frozen=True, slots=True)
class DaySpan:
    """[start, end) in minutes after a day's midnight; `end` is at most 24 hours after `start`."""

    start: int
    end: int
    because: str


@dataclass(frozen=True, slots=True)
class ExceptionDay:
    """A day with spans of its own, whatever hours and holidays are. Without spans it is closed."""

    spans: tuple[DaySpan, ...]
    because: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calendar:
    """`week` has the spans of Monday to Sunday; `holidays` and `exceptions` are by local date."""

    zone: ZoneInfo
    week: tuple[tuple[DaySpan, ...], ...]
    holidays: Mapping[date, str] = field(default_factory=dict)
    exceptions: Mapping[date, ExceptionDay] = field(default_factory=dict)

    def spans_of(self, day: date) -> tuple[DaySpan, ...]:
        """Return the spans that begin on that day."""
        if (exception := self.exceptions.get(day)) is not None:
            return exception.spans
        return () if day in self.holidays else self.week[day.weekday()]

    def why_closed(self, day: date) -> str:
        """Say why it is not open on that day, or not any more."""
        if (exception := self.exceptions.get(day)) is not None:
            return exception.because
        if day in self.holidays:
            return f"holiday: {self.holidays[day]}"
        return "outside of the hours" if self.week[day.weekday()] else "no hours on this day of the week"


def join_spans(spans: Sequence[DaySpan]) -> tuple[DaySpan, ...]:
    """Order spans and join those that overlap or touch, with the reason of the first."""
    joined: list[DaySpan] = []
    for span in sorted(spans, key=lambda each: (each.start, each.end)):
        if joined and span.start <= joined[-1].end:
            end = min(max(span.end, joined[-1].end), joined[-1].start + 2 * DAY)
            joined[-1] = DaySpan(joined[-1].start, end, joined[-1].because)
        else:
            joined.append(span)
    return tuple(joined)
