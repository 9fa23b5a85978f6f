"""Questions about a calendar: whether it is open, what changes next and why, which holidays come.

Answers look HORIZON ahead at most. One costs as much as the days to the next change: a year of holidays 2 ms.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from keda_py.apis.environments.calendar import CalendarStatus, ChangeStatus, HolidayStatus
from keda_py.apis.wire import Condition
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.days import DAY
from keda_py.core.environment.calendar.zones import instant_of, local_date
from keda_py.core.values.times import write_time

HORIZON = timedelta(days=400)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """[start, end) in UTC without a break. `because` is why it begins."""

    start: datetime
    end: datetime
    because: str
    ends_because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A calendar at one instant: whether it is open and why, and its first opening or closing after that instant.

    `changes_at` (UTC) is None if nothing changes within the horizon; `opens` and `because` are about the change.
    """

    open: bool
    why: str
    changes_at: datetime | None = None
    opens: bool = False
    because: str = ""


def moment_of(calendar: Calendar, at: datetime) -> Moment:
    """Ask the calendar about an instant (aware), once for all that may be wanted: each answer walks the same days."""
    first = next(openings(calendar, at), None)
    if first is not None and first.start <= at:
        lasts = first.end >= at + HORIZON
        changes_at, because = (None, "") if lasts else (first.end, first.ends_because)
        return Moment(open=True, why=first.because, changes_at=changes_at, because=because)
    closed = calendar.why_closed(local_date(at, calendar.zone))
    if first is None:
        return Moment(open=False, why=closed)
    return Moment(open=False, why=closed, changes_at=first.start, opens=True, because=first.because)


def last_change(calendar: Calendar, at: datetime) -> datetime | None:
    """Return when the current opening began, or when the last one ended; None if it has been closed for two days."""
    before = None
    for opening in openings(calendar, at - 2 * _DAY):
        if opening.start > at:
            break
        before = opening.end if opening.end <= at else opening.start
    return before


def openings(calendar: Calendar, after: datetime) -> Iterator[Opening]:
    """Yield the openings that end after that instant, in order, up to the horizon; those that touch are one."""
    if (unbroken := _unbroken(calendar, after)) is not None:
        yield unbroken
        return
    start: datetime | None = None
    end, because, ends = after, "", ""
    for span_start, span_end, span_because, span_ends in _spans(calendar, after):
        if span_end <= after or span_end <= span_start:
            continue
        if start is None or span_start > end:
            if start is not None:
                yield Opening(start=start, end=end, because=because, ends_because=ends)
            start, end, because, ends = span_start, span_end, span_because, span_ends
        else:
            end, ends = max((end, ends), (span_end, span_ends))
    if start is not None:
        yield Opening(start=start, end=end, because=because, ends_because=ends)


def _unbroken(calendar: Calendar, after: datetime) -> Opening | None:
    """Return the one opening of a calendar that does not close up to the horizon, None of any other.

    Such calendars are common where only `idleAfter` ends an environment's day, and each look would walk 403 whole days.
    """
    first, last = _days(calendar, after)
    whole = calendar.week[0]
    if any(spans != whole for spans in calendar.week) or [(span.start, span.end) for span in whole] != [(0, DAY)]:
        return None
    if any(first <= day <= last for days in (calendar.holidays, calendar.exceptions) for day in days):
        return None
    return Opening(
        # The days before have ended, so that a walk would begin with this one, too.
        start=instant_of(local_date(after, calendar.zone), 0, calendar.zone),
        end=instant_of(last, DAY, calendar.zone),
        because=whole[0].because,
        ends_because=_ends_because(calendar, last, DAY, whole[0].because),
    )


def _days(calendar: Calendar, after: datetime) -> tuple[date, date]:
    """Return the first and the last day to look at: from two days before, as one reaches into the next."""
    first = local_date(after, calendar.zone) - 2 * _DAY
    return first, first + (HORIZON.days + 2) * _DAY


def _spans(calendar: Calendar, after: datetime) -> Iterator[tuple[datetime, datetime, str, str]]:
    """Yield start, end and both reasons of spans day by day; they are joined only within a day."""
    day, last = _days(calendar, after)
    while day <= last:
        for span in calendar.spans_of(day):
            start = instant_of(day, span.start, calendar.zone)
            end = instant_of(day, span.end, calendar.zone)
            yield start, end, span.because, _ends_because(calendar, day, span.end, span.because)
        day += _DAY


def _ends_because(calendar: Calendar, day: date, end: int, because: str) -> str:
    """Say why a span ends; at midnight the next day is the reason."""
    if end < DAY or end % DAY:
        return f"end of the {because}" if because.startswith("hours") else because
    return calendar.why_closed(day + end // DAY * _DAY)


@dataclass(frozen=True, slots=True)
class Holiday:
    """A day on which it is closed, and what it is called."""

    day: date
    name: str


def next_holidays(calendar: Calendar, after: datetime, count: int = 5) -> tuple[Holiday, ...]:
    """Return the next holidays, today's too; those that an exception opens are left out."""
    today = local_date(after, calendar.zone)
    days = sorted(day for day in calendar.holidays if day >= today and not _opened(calendar, day))
    return tuple(Holiday(day, calendar.holidays[day]) for day in days[:count])


def _opened(calendar: Calendar, day: date) -> bool:
    exception = calendar.exceptions.get(day)
    return exception is not None and bool(exception.spans)


def hours_a_week(calendar: Calendar) -> float:
    """Sum up the hours of a week without holidays, exceptions and changes of the clock."""
    return sum(span.end - span.start for spans in calendar.week for span in spans) / 60


# The status of a Calendar: a pure function of the calendar and the time, written only when it differs.


def status_of(calendar: Calendar, moment: Moment, now: datetime) -> CalendarStatus:
    """Write the status of a valid calendar at its moment `now`; it is another at the next change, and at midnight."""
    change = None
    if moment.changes_at is not None:
        to = "Open" if moment.opens else "Closed"
        change = ChangeStatus(at=write_time(moment.changes_at), to=to, because=moment.because)
    return CalendarStatus(
        open=moment.open,
        next_change=change,
        next_holidays=[
            HolidayStatus(date=each.day.isoformat(), name=each.name) for each in next_holidays(calendar, now)
        ],
        hours_a_week=f"{hours_a_week(calendar):g}",
        conditions=[Condition(type="Valid", status="True", reason="Valid")],
    )


def invalid_status(error: str) -> CalendarStatus:
    """Write the status of an invalid one; `error` names field, value and remedy. Whether it is open is not known."""
    return CalendarStatus(conditions=[Condition(type="Valid", status="False", reason="CalendarInvalid", message=error)])
