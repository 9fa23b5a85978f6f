"""Time in formulas: durations and dates as Go writes them, and the members of a point in time.

Pure: `now()` is the instant that the caller gave. Precise to the microsecond; years 1 to 9999.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import re2

from keda_py.apis.go_values import parse_duration as parse_go_duration
from keda_py.core.formula.syntax.limits import FormulaError
from keda_py.core.formula.types import BOOL, DURATION, FLOAT, INT, NAMED, TEXT, TIME, Type, ValueKind
from keda_py.core.formula.values import Duration, NamedValue, Value, shift

_LONGEST = 100
"""Characters of a duration, a date, its layout, and the name of a time zone."""

_MONTHS = (
    "",
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_LAYOUTS = (
    "2006-01-02",
    "15:04:05",
    "2006-01-02 15:04:05",
    "2006-01-02T15:04:05Z07:00",
    "02 Jan 06 15:04 MST",
    "Monday, 02-Jan-06 15:04:05 MST",
    "Mon, 02 Jan 2006 15:04:05 MST",
)
_PIECES = {
    "2006": "%Y",
    "January": "%B",
    "Jan": "%b",
    "Monday": "%A",
    "Mon": "%a",
    "MST": "%Z",
    "Z07:00": "%z",
    "-07:00": "%z",
    "-0700": "%z",
    "01": "%m",
    "02": "%d",
    "03": "%I",
    "04": "%M",
    "05": "%S",
    "06": "%y",
    "15": "%H",
    "PM": "%p",
}
_PIECE = re2.compile("|".join(re2.escape(piece) for piece in _PIECES))
_NANOSECONDS = {"Nanoseconds": 1, "Microseconds": 10**3, "Milliseconds": 10**6}
_LONGER = {"Seconds": 10**9, "Minutes": 60 * 10**9, "Hours": 3600 * 10**9}


def parse_duration(text: str) -> Duration:
    """Parse a duration such as "1h30m". Raises FormulaError."""
    try:
        return Duration((parse_go_duration(text if len(text) <= _LONGEST else "") // timedelta(microseconds=1)) * 1000)
    except ValueError as error:
        raise FormulaError(f'duration(): "{text[:40]}" {error}') from None


def find_zone(name: str) -> ZoneInfo:
    """Load a time zone of the IANA database. Raises FormulaError."""
    try:
        return ZoneInfo("UTC" if name == "" else name[:_LONGEST])
    except (ValueError, OSError, KeyError):
        raise FormulaError(f'timezone(): unknown time zone "{name[:40]}"; write for example "Asia/Seoul"') from None


def parse_date(text: str, layout: str | None, zone: ZoneInfo | None) -> datetime:
    """Parse by a layout in Go's form (its reference time is Mon Jan 2 15:04:05 2006), or by one of the usual forms."""
    if max(len(text), len(layout or "")) > _LONGEST:
        raise FormulaError(f"date(): a date and its layout have {_LONGEST} characters at most")
    for one in _LAYOUTS if layout is None else (layout,):
        found = _parse_with(text, one, zone)
        if found:
            return found
    raise FormulaError(f'date(): "{text[:40]}" is no date; write for example "2026-01-31" or "2026-01-31 08:00:00"')


def _parse_with(text: str, layout: str, zone: ZoneInfo | None) -> datetime | None:
    directives = [_PIECES[piece] for piece in _PIECE.findall(layout)]
    if len(set(directives)) < len(directives):
        raise FormulaError("date(): the layout names a part of the date twice")
    pattern = _PIECE.sub(lambda found: _PIECES[found[0]], layout.replace("%", "%%"))
    try:
        found = datetime.strptime(text, pattern)  # noqa: DTZ007 - the zone is added below
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=zone or UTC)


def print_duration(nanoseconds: int) -> str:
    """Print nanoseconds in the units that Go chooses: 1h0m0s, 1.5s, 300ms."""
    if not nanoseconds:
        return "0s"
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    for size, unit in ((10**3, "ns"), (10**6, "µs"), (10**9, "ms")):
        if rest < size:
            return f"{sign}{_decimal(rest, size // 1000)}{unit}"
    minutes, seconds = divmod(rest, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{head}{_decimal(seconds, 10**9)}s"


def _decimal(number: int, unit: int) -> str:
    whole, part = divmod(number, unit)
    digits = f"{part:0{len(str(unit)) - 1}d}".rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)


def print_time(moment: datetime) -> str:
    """Print a point in time in the default layout of Go: 2026-11-21 06:00:00 +0000 UTC."""
    fraction = f"{moment:.%f}".rstrip("0").rstrip(".")
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction} {moment:%z} {moment:%Z}"


def _weekday(moment: datetime) -> NamedValue:
    number = moment.isoweekday() % 7
    return NamedValue(number, _WEEKDAYS[number])


def _unix(moment: datetime, unit: timedelta) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // unit


Method = tuple[tuple[ValueKind, ...], Type, Callable[..., Value]]
"""A method: the kinds of its arguments, its result type, and its implementation."""

_OF_TIME: dict[str, Method] = {
    "Year": ((), INT, lambda moment: moment.year),
    "Month": ((), NAMED, lambda moment: NamedValue(moment.month, _MONTHS[moment.month])),
    "Day": ((), INT, lambda moment: moment.day),
    "Hour": ((), INT, lambda moment: moment.hour),
    "Minute": ((), INT, lambda moment: moment.minute),
    "Second": ((), INT, lambda moment: moment.second),
    "Nanosecond": ((), INT, lambda moment: moment.microsecond * 1000),
    "YearDay": ((), INT, lambda moment: moment.timetuple().tm_yday),
    "Weekday": ((), NAMED, _weekday),
    "Unix": ((), INT, lambda moment: _unix(moment, timedelta(seconds=1))),
    "UnixMilli": ((), INT, lambda moment: _unix(moment, timedelta(milliseconds=1))),
    "UTC": ((), TIME, lambda moment: moment.astimezone(UTC)),
    "In": ((ValueKind.ZONE,), TIME, lambda moment, zone: moment.astimezone(zone)),
    "Add": ((ValueKind.DURATION,), TIME, shift),
    "Sub": (
        (ValueKind.TIME,),
        DURATION,
        lambda moment, other: Duration((moment - other) // timedelta(microseconds=1) * 1000),
    ),
    "Before": ((ValueKind.TIME,), BOOL, lambda moment, other: moment < other),
    "After": ((ValueKind.TIME,), BOOL, lambda moment, other: moment > other),
    "Equal": ((ValueKind.TIME,), BOOL, lambda moment, other: moment == other),
    "String": ((), TEXT, print_time),
}
_OF_DURATION: dict[str, Method] = {
    **{name: ((), FLOAT, lambda it, unit=unit: it.nanoseconds / unit) for name, unit in _LONGER.items()},
    **{name: ((), INT, lambda it, unit=unit: _cut(it.nanoseconds, unit)) for name, unit in _NANOSECONDS.items()},
    "String": ((), TEXT, lambda duration: print_duration(duration.nanoseconds)),
}
_OF_NAMED: dict[str, Method] = {"String": ((), TEXT, lambda named: named.name)}


def _cut(number: int, unit: int) -> int:
    return number // unit if number >= 0 else -(-number // unit)


def methods_of(kind: ValueKind) -> dict[str, Method]:
    """Return the members of a kind of value, by name; most kinds have none."""
    return {ValueKind.TIME: _OF_TIME, ValueKind.DURATION: _OF_DURATION, ValueKind.NAMED: _OF_NAMED}.get(kind, {})
