"""Durations and instants as people and Kubernetes write them: `90s`, `1h30m`, `2026-11-23T22:00:00+01:00`."""

from datetime import UTC, datetime, timedelta

from keda_py.errors import ConfigError

_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1), "s": timedelta(seconds=1)}
_LONGEST_TEXT, _LONGEST_NUMBER = 40, 7
LONGEST = timedelta(days=366)
YEARS = range(1970, 2201)
"""Years of an instant: what is added to it stays a time that can be written."""


def parse_duration(text: str, default: timedelta, *, field: str) -> timedelta:
    """Read a duration, `default` for an empty text. Raises ConfigError naming `field`, value and remedy."""
    if not text:
        return default
    found, rest, units = timedelta(0), text, "dhms"
    while rest and len(text) <= _LONGEST_TEXT:
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        unit = rest[len(digits) : len(digits) + 1]
        if not digits or len(digits) > _LONGEST_NUMBER or not unit or unit not in units:
            break
        found += int(digits) * _UNITS[unit]
        units = units[units.index(unit) + 1 :]
        rest = rest[len(digits) + 1 :]
    if rest or found > LONGEST:
        shown = text[:_LONGEST_TEXT]
        raise ConfigError(
            f"{field}: {shown!r} is not a duration up to 366d; write for example 90s, 5m or 1h30m", field=field
        )
    return found


def in_words(span: timedelta) -> str:
    """Write `2 d 3 h`, `2 h 10 min`, `40 s`: the two largest units, seconds only below a minute."""
    seconds = max(int(span.total_seconds()), 0)
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    parts = [(minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min")]
    units = [f"{count} {unit}" for count, unit in parts if count]
    return " ".join(units[:2])


def parse_time(text: str, *, field: str) -> datetime:
    """Read an instant as UTC. Raises ConfigError, also for a time without an offset, or of a year outside of YEARS."""
    shown = text[:_LONGEST_TEXT]
    try:
        found = datetime.fromisoformat(shown)
        if found.tzinfo is not None and found.year in YEARS:
            return found.astimezone(UTC)
    except ValueError:
        found = None
    if found is not None and found.year not in YEARS:
        raise ConfigError(f"{field}: {shown!r} is not of the years {YEARS[0]} to {YEARS[-1]}; correct it", field=field)
    message = f"{field}: {shown!r} is not a time with its offset; write for example 2026-11-23T22:00:00+01:00"
    raise ConfigError(message, field=field)


def parse_optional_time(text: str, *, field: str) -> datetime | None:
    """Read an instant; None for an empty text. Raises ConfigError."""
    return parse_time(text, field=field) if text else None
