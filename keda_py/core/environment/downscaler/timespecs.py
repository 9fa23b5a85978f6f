"""Time specs: `Mon-Fri 08:00-18:00 UTC`, `2024-12-24T00:00:00+01:00-2024-12-26T23:59:59+01:00`, lists, `always`.

A list is read from the left up to the first spec that matches, so a mistake behind it does no harm. Times are compared
with the wall clock to the minute; 24:00 and more is the end of the day. Where the end is before the begin, the window
crosses midnight, which it never does there.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

import re2

from keda_py.errors import ConfigError

ALWAYS, NEVER = "always", "never"
LONGEST = 4_096
"""Most characters of a spec."""
MOST_REMEMBERED = 4_096
"""Windows that are kept read, for all objects together."""
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKLY = re2.compile(r"^([A-Za-z]{3})-([A-Za-z]{3}) (\d\d):(\d\d)-(\d\d):(\d\d) ([A-Za-z/_]+)$")
_INSTANT = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[-+]\d\d:\d\d)"
_ABSOLUTE = re2.compile(f"^{_INSTANT}-{_INSTANT}$")
_TIMES = re2.compile(r"^\s*(?:[A-Za-z]{3}-[A-Za-z]{3} )?(\d\d:\d\d)-(\d\d:\d\d)")
_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_NO_ZONE = re2.compile(r"\d\d$")
_NO_DAYS = re2.compile(r"^\d\d:")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecDefaults:
    """Defaults for specs that leave a part out, "" without one."""

    time_zone: str = ""
    days: str = ""


def matches(spec: str, at: datetime, defaults: SpecDefaults, *, field: str) -> bool:
    """Return whether the instant lies in the spec. Raises ConfigError for an invalid one, as far as it is read."""
    if spec.lower() in (ALWAYS, NEVER):
        return spec.lower() == ALWAYS
    if len(spec) > LONGEST:
        raise ConfigError(f"{field}: a time spec has at most {LONGEST} characters; write fewer", field=field)
    return any(_matches_one(part.strip(), at, defaults, field) for part in spec.split(","))


def check_spec(spec: str, defaults: SpecDefaults, *, field: str) -> None:
    """Read all of it. Raises ConfigError for the first part that cannot be read, whatever stands before it."""
    if spec.lower() in (ALWAYS, NEVER):
        return
    if len(spec) > LONGEST:
        matches(spec, _ANY_TIME, defaults, field=field)
    for part in spec.split(","):
        _read(part.strip(), defaults, field)


def crosses_midnight(part: str) -> bool:
    """Return whether a window of a valid spec ends before it begins."""
    found = _TIMES.search(part)
    return found is not None and found.group(1) > found.group(2)


@dataclass(frozen=True, slots=True)
class _Absolute:
    """A window of absolute times; both ends are in it."""

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class _Weekly:
    """A window of each week: weekdays from 0, minutes of the day."""

    days: tuple[int, int]
    start: int
    end: int
    zone: ZoneInfo


def _matches_one(part: str, at: datetime, defaults: SpecDefaults, field: str) -> bool:
    window = _read(part, defaults, field)
    if isinstance(window, _Absolute):
        return window.since <= at <= window.until
    return _is_within(at.astimezone(window.zone), window.days, window.start, window.end)


@lru_cache(maxsize=MOST_REMEMBERED)
def _read(part: str, defaults: SpecDefaults, field: str) -> _Absolute | _Weekly:
    """Read one window, once for the many objects that have the same few. Raises ConfigError."""
    if (absolute := _ABSOLUTE.match(part)) is not None:
        since, until = (_instant(word, field) for word in absolute.groups())
        return _Absolute(since, until)
    weekly = _WEEKLY.match(_completed(part, defaults, field))
    if weekly is None:
        remedy = "write Mon-Fri 08:00-18:00 Europe/Prague, or two times as 2024-12-24T00:00:00+01:00 with - between"
        raise ConfigError(f"{field}: {part[:100]!r} is not a time spec; {remedy}", field=field)
    first, last, *times, zone = weekly.groups()
    days = _weekday(first, field), _weekday(last, field)
    start, end = int(times[0]) * 60 + int(times[1]), int(times[2]) * 60 + int(times[3])
    return _Weekly(days, start, end, _zone(zone, field))


def _is_within(local: datetime, days: tuple[int, int], start: int, end: int) -> bool:
    minute, length = local.hour * 60 + local.minute, (days[1] - days[0]) % 7

    def on(weekday: int) -> bool:
        return (weekday - days[0]) % 7 <= length

    if start <= end:
        return on(local.weekday()) and start <= minute < end
    return (on(local.weekday()) and minute >= start) or (on(local.weekday() - 1) and minute < end)


def _completed(part: str, defaults: SpecDefaults, field: str) -> str:
    if _NO_ZONE.search(part):
        if not defaults.time_zone:
            raise ConfigError(
                f"{field}: {part[:100]!r} has no time zone, and there is no default; add one", field=field
            )
        part = f"{part} {defaults.time_zone}"
    if _NO_DAYS.match(part):
        if not defaults.days:
            raise ConfigError(f"{field}: {part[:100]!r} has no days, and there is no default; add Mon-Fri", field=field)
        part = f"{defaults.days} {part}"
    return part


def _instant(word: str, field: str) -> datetime:
    try:
        return datetime.fromisoformat(word).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigError(f"{field}: {word!r} is not a time; write as 2024-12-24T00:00:00+01:00", field=field) from None


def _weekday(word: str, field: str) -> int:
    if word.lower() not in _DAYS:
        raise ConfigError(f"{field}: {word!r} is not a day of the week; write Mon to Sun", field=field)
    return _DAYS.index(word.lower())


def _zone(name: str, field: str) -> ZoneInfo:
    """Find a zone whatever the case of its letters; all names are listed once."""
    found = _zones().get(name.lower())
    if found is None:
        raise ConfigError(
            f"{field}: {name[:100]!r} is not a known time zone; write for example Europe/Prague", field=field
        )
    return ZoneInfo(found)


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}
