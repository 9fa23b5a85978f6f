"""CalendarSpec -> Calendar, or a ConfigError that names field, value and remedy.

Holidays of countries and of iCalendar files are looked up outside of the core: `found` has them, in the order of
`spec.holidays`. A day that is named twice keeps its first name.
"""

from collections.abc import Mapping, Sequence
from datetime import date

from keda_py.apis.environments.calendar import CalendarException, CalendarSpec, HolidaySource, Hours, Span
from keda_py.core.cron.zones import load_zone
from keda_py.core.environment.calendar.calendar import Calendar, DaySpan, ExceptionDay, join_spans
from keda_py.core.environment.calendar.days import DAY, MOST_DAYS, WEEKDAYS, parse_dates, parse_minute, parse_weekdays
from keda_py.core.values.mistakes import Mistakes
from keda_py.errors import ConfigError

Holidays = Mapping[date, str]
"""Names of holidays by date, as a country or a file has them."""

LONGEST_NAME = 120
"""Characters of a holiday's name or a reason that are kept."""


def read_calendar(spec: CalendarSpec, found: Sequence[Holidays] = (), *, field: str = "spec") -> Calendar:
    """Read the calendar; `found` has a mapping for each of `spec.holidays`, empty for dates. Raises ConfigError."""
    mistakes = Mistakes()
    with mistakes.noted():
        zone = load_zone(spec.time_zone, field=f"{field}.timeZone")
    with mistakes.noted():
        week = read_week(spec.hours, field=f"{field}.hours")
    with mistakes.noted():
        holidays = _read_holidays(spec.holidays, found, f"{field}.holidays")
    with mistakes.noted():
        exceptions = _read_exceptions(spec.exceptions, f"{field}.exceptions")
    mistakes.refuse()
    return Calendar(zone=zone, week=week, holidays=holidays, exceptions=exceptions)


def read_week(hours: Sequence[Hours], *, field: str) -> tuple[tuple[DaySpan, ...], ...]:
    """Read the spans of Monday to Sunday. Raises ConfigError, also for hours that overlap."""
    week: list[list[DaySpan]] = [[] for _ in range(7)]
    mistakes = Mistakes()
    for number, entry in enumerate(hours):
        with mistakes.noted():
            _add_hours(week, entry, f"{field}[{number}]")
    mistakes.refuse()
    return tuple(join_spans(spans) for spans in week)


def _add_hours(week: Sequence[list[DaySpan]], entry: Hours, where: str) -> None:
    mistakes = Mistakes()
    with mistakes.noted():
        days = parse_weekdays(entry.days, field=f"{where}.days")
    with mistakes.noted():
        span = _read_span(entry, f"hours {entry.days or 'every day'} {entry.from_}-{entry.to}", where)
    mistakes.refuse()
    for day in days:
        _refuse_overlap(week, day, span, where)
        week[day].append(span)


def _read_span(entry: Span, because: str, field: str) -> DaySpan:
    mistakes = Mistakes()
    with mistakes.noted():
        start = parse_minute(entry.from_, field=f"{field}.from")
    with mistakes.noted():
        end = parse_minute(entry.to, field=f"{field}.to")
    mistakes.refuse()
    if start in (end, DAY):
        text = f"{field}: {entry.from_} to {entry.to} has no length; write 00:00 to 24:00 for the whole day"
        raise ConfigError(text, field=field)
    return DaySpan(start, end if end > start else end + DAY, because)


def _refuse_overlap(week: Sequence[Sequence[DaySpan]], day: int, span: DaySpan, field: str) -> None:
    """Refuse overlaps, also with what reaches over midnight from the day before or into the day after."""
    for shift in (-1, 0, 1):
        for other in week[(day + shift) % 7]:
            if span.start < other.end + shift * DAY and other.start + shift * DAY < span.end:
                text = f"on {WEEKDAYS[day]} these overlap with the {other.because}"
                raise ConfigError(f"{field}: {text}; let one end where the other begins", field=field)


def _read_holidays(sources: Sequence[HolidaySource], found: Sequence[Holidays], field: str) -> Holidays:
    days: dict[date, str] = {}
    count, mistakes = 0, Mistakes()
    for number, source in enumerate(sources):
        where = f"{field}[{number}]"
        with mistakes.noted():
            check_source(source, field=where)
            for day in parse_dates(source.dates, field=f"{where}.dates", most=MOST_DAYS - count):
                count += 1
                days.setdefault(day, source.name[:LONGEST_NAME] or day.isoformat())
            for day, name in (found[number] if number < len(found) else {}).items():
                days.setdefault(day, name[:LONGEST_NAME])
        _refuse_many(days, where)
    mistakes.refuse()
    return days


def check_source(source: HolidaySource, *, field: str) -> None:
    """Refuse a source of holidays of no kind, or of more than one. Raises ConfigError."""
    kinds = [
        name for name, given in (("country", source.country), ("ics", source.ics), ("dates", source.dates)) if given
    ]
    if len(kinds) != 1:
        text = " and ".join(kinds) or "nothing"
        raise ConfigError(f"{field}: has {text}; give one of country, ics and dates", field=field)
    if source.subdivision and not source.country:
        raise ConfigError(f"{field}.subdivision: goes with country; add it", field=f"{field}.subdivision")


def _read_exceptions(entries: Sequence[CalendarException], field: str) -> Mapping[date, ExceptionDay]:
    days: dict[date, ExceptionDay] = {}
    count, mistakes = 0, Mistakes()
    for number, entry in enumerate(entries):
        with mistakes.noted():
            found, listed = _read_exception(entry, f"{field}[{number}]", MOST_DAYS - count)
            count += len(listed)
            for day in listed:
                days.setdefault(day, found)
    mistakes.refuse()
    return days


def _read_exception(entry: CalendarException, where: str, most: int) -> tuple[ExceptionDay, Sequence[date]]:
    if entry.closed == bool(entry.hours):
        text = "closed and hours" if entry.closed else "neither"
        raise ConfigError(f"{where}: has {text}; give one of closed: true and hours", field=where)
    because = f"exception: {entry.reason[:LONGEST_NAME]}" if entry.reason else "exception"
    spans = join_spans([_read_span(span, because, f"{where}.hours[{at}]") for at, span in enumerate(entry.hours)])
    return ExceptionDay(spans, because), tuple(parse_dates(entry.dates, field=f"{where}.dates", most=most))


def _refuse_many(days: Mapping[date, object], field: str) -> None:
    if len(days) > MOST_DAYS:
        raise ConfigError(f"{field}: makes more than {MOST_DAYS} days; write shorter ranges", field=field)
