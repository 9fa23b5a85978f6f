"""Durations as people and Kubernetes write them: `90s`, `1h30m`. Instants are in `times.py`."""

from datetime import timedelta

from keda_py.errors import ConfigError

_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1), "s": timedelta(seconds=1)}
_LONGEST_TEXT, _LONGEST_NUMBER = 40, 7
LONGEST = timedelta(days=366)


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
