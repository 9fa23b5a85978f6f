"""Openings in words: "Mon-Fri 08:30-19:30 Asia/Seoul, 55 h a week"."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import groupby

from keda_py.core.cron.fields import parse_fields
from keda_py.core.cron.openings import DAY, Openings, Span, openings_of
from keda_py.core.cron.windows import CronWindow

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SHOWN = 3
_LEAP_YEAR_BEGINS = date(2032, 1, 1)


def window_in_words(window: CronWindow) -> str:
    """Describe a checked window; "" if it fires too often, or its start and end have different zones."""
    start, end = (parse_fields(text, field="schedule") for text in (window.start, window.end))
    zones = {fields.timezone or window.timezone for fields in (start, end)}
    openings = openings_of(start, end) if len(zones) == 1 else None
    return in_words(openings, zones.pop()) if openings is not None else ""


def in_words(openings: Openings, zone: str) -> str:
    """Describe days, times and zone, and the total of open hours."""
    if not openings.spans:
        return "never open"
    if openings.always:
        return "always open"
    hours = f"{openings.minutes / 60:.4g} h"
    if not openings.weekly:
        first = _single(openings.spans[0], weekly=False)
        times = "once" if len(openings.spans) == 1 else f"{len(openings.spans)} times"
        return f"{times} a year, {hours}; first {first} {zone}"
    return f"{_listed(_groups(openings.spans))} {zone}, {hours} a week"


def span_in_words(span: Span, *, weekly: bool = True) -> str:
    """Describe one opening, as in "Fri 08:00-19:00" or "Fri 08:00 to Mon 01:00" if it spans days."""
    return _single(span, weekly=weekly)


def clock(minute: int) -> str:
    """Format minutes from midnight as HH:MM, modulo a day."""
    hour, rest = divmod(minute % DAY, 60)
    return f"{hour:02}:{rest:02}"


def days_in_words(days: Sequence[int]) -> str:
    """Describe weekdays from Monday, 0, as in "Mon-Fri", "Sat, Sun" or "daily" (for all seven)."""
    if len(days) == len(_DAYS):
        return "daily"
    return ", ".join(
        f"{_DAYS[run[0]]}-{_DAYS[run[-1]]}" if len(run) > 2 else ", ".join(_DAYS[day] for day in run)
        for run in runs(days)
    )


def runs(numbers: Sequence[int]) -> list[list[int]]:
    """Group ascending numbers into runs without a hole: 1 2 3 5 is [1, 2, 3] and [5]."""
    grouped = groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    return [[number for _, number in run] for _, run in grouped]


def duration(minutes: int) -> str:
    """Format minutes in the shortest unit, as in "65 h", "12.5 h" or "45 min" (below an hour)."""
    return f"{minutes / 60:.4g} h" if minutes >= 60 else f"{minutes} min"


def _groups(spans: Sequence[Span]) -> list[str]:
    """Describe openings grouped by equal times, with the days on which they begin."""
    alike: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for opens, closes in spans:
        alike[opens % DAY, closes - opens].append(opens // DAY)
    return [
        f"{days_in_words(days)} {clock(opens)}-{_closing(opens + length)}"
        if length <= DAY
        else _listed([_single((day * DAY + opens, day * DAY + opens + length), weekly=True) for day in days])
        for (opens, length), days in alike.items()
    ]


def _single(span: Span, *, weekly: bool) -> str:
    opens, closes = span
    begins = f"{_day(opens, weekly)} {clock(opens)}"
    if closes - opens <= DAY:
        return f"{begins}-{_closing(opens % DAY + closes - opens)}"
    return f"{begins} to {_day(closes, weekly)} {clock(closes)}"


def _closing(minute: int) -> str:
    """Format the closing time; midnight is 24:00 of the day that it closes."""
    return "24:00" if minute == DAY else clock(minute)


def _day(minute: int, weekly: bool) -> str:
    if weekly:
        return _DAYS[minute // DAY % 7]
    day = _LEAP_YEAR_BEGINS + timedelta(days=minute // DAY % 366)
    return f"{day.day} {_MONTHS[day.month - 1]}"


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return f"{', '.join(texts[:_SHOWN])}{more}"
