"""Times as people write them: `22:00`, `Mon`, `tomorrow 08:30`, `2026-11-23 22:00`, on the user's own clock. Pure.

Each means its next occurrence; a time that the change of the clock skips is the first instant after the gap.
"""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from keda_py.core.environment.calendar.days import parse_minute
from keda_py.core.environment.calendar.zones import instant_of, local_date
from keda_py.core.values.durations import parse_duration
from keda_py.core.values.times import YEARS, write_time
from keda_py.errors import ConfigError

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LEAST_LETTERS = 3
_DAY = timedelta(days=1)
_NO_TIME = timedelta(0)
_WRITTEN = "write for example 22:00, Mon, 'Mon 08:30', tomorrow, 2026-11-23, '2026-11-23 22:00' or next"


def parse_moment(text: str, now: datetime, zone: ZoneInfo, *, field: str) -> datetime:
    """Parse an instant, in UTC; a day alone means its midnight. Raises ConfigError, also for one that has passed."""
    try:
        at: datetime | None = _instant(text.strip(), now, zone, field)
    except OverflowError:  # the last hours of the year 9999
        at = None
    if at is None or at.year > YEARS[-1]:
        raise ConfigError(f"{field}: {text[:40]!r} is too far away; write an earlier time", field=field)
    if at <= now:
        raise ConfigError(f"{field}: {text[:40]!r} is over, it was {write_time(at)}; write a later time", field=field)
    return at


def parse_length(text: str, *, field: str) -> timedelta:
    """Parse `3h`, `1h30m`. Raises ConfigError, also for zero."""
    length = parse_duration(text, _NO_TIME, field=field)
    if not length:
        raise ConfigError(f"{field}: {text!r} has no length; write for example 3h or 1h30m", field=field)
    return length


def _instant(text: str, now: datetime, zone: ZoneInfo, field: str) -> datetime:
    whole = _iso(text)
    if whole is not None and whole.tzinfo is not None:
        return whole.astimezone(UTC)
    day_text, _, clock = text.replace("T", " ", 1).partition(" ") if text[:1].isdigit() else text.partition(" ")
    if ":" in day_text and not clock:
        return _next(parse_minute(day_text, field=field), None, now, zone)
    minute = parse_minute(clock.strip(), field=field) if clock else 0
    word = day_text.lower()
    today = local_date(now, zone)
    if word in ("today", "tomorrow"):
        return instant_of(today + (_DAY if word == "tomorrow" else _NO_TIME), minute, zone)
    for weekday, name in enumerate(_WEEKDAYS):
        if len(word) >= _LEAST_LETTERS and name.startswith(word):
            return _next(minute, weekday, now, zone)
    day = _date(day_text)
    if day is None:
        raise ConfigError(f"{field}: {text[:40]!r} is not a time; {_WRITTEN}", field=field)
    return instant_of(day, minute, zone)


def _next(minute: int, weekday: int | None, now: datetime, zone: ZoneInfo) -> datetime:
    """Find the first such instant after now; `weekday` None is any day."""
    day = local_date(now, zone)
    while True:
        at = instant_of(day, minute, zone)
        if at > now and weekday in (None, day.weekday()):
            return at
        day += _DAY


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
