"""The days of a recurrence rule (RFC 5545) within a window, found by `dateutil.rrule` in few steps.

dateutil walks from DTSTART, one period (a day, week, month or year) a step, and compares with UNTIL only when a day
matches: a daily rule for 30 February walks on to the year 9999, which takes seconds. Therefore the walk begins with the
period in which the window begins, and the interval counts the steps: a rule costs as many as the window has periods,
400 at most for a year and a month. A rule with COUNT has to be followed from DTSTART, so that may be ten years ago at
most. Rules for parts of a day, and of other calendars than the Gregorian one, are refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

from keda_py.errors import ConfigError

if TYPE_CHECKING:
    from dateutil.rrule import weekday

# dateutil's numbers, written out: importing its constants would load dateutil with this file.
_FREQUENCIES: Mapping[str, Literal[0, 1, 2, 3]] = {"YEARLY": 0, "MONTHLY": 1, "WEEKLY": 2, "DAILY": 3}
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
MOST_COUNTED_DAYS = 3_660
MOST_VALUES = 60
_LARGEST = {"BYMONTH": 12, "BYMONTHDAY": 31, "BYYEARDAY": 366, "BYWEEKNO": 53, "BYSETPOS": 366}
_PARTS = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *_LARGEST}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An RRULE that was checked. `parts` holds the BY... parts as keyword arguments of `dateutil.rrule.rrule`."""

    frequency: str
    interval: int
    week_start: int
    count: int | None
    until: date | None
    parts: Mapping[str, Any]

    def period(self, day: date) -> int:
        """The number of the day, week, month or year that `day` is in."""
        if self.frequency == "DAILY":
            return day.toordinal()
        if self.frequency == "WEEKLY":
            return (day.toordinal() - 1 - self.week_start) // 7  # day 1 of the calendar was a Monday
        return day.year * 12 + day.month - 1 if self.frequency == "MONTHLY" else day.year

    def first_day(self, period: int) -> date:
        """The inverse of `period`."""
        if self.frequency == "DAILY":
            return date.fromordinal(period)
        if self.frequency == "WEEKLY":
            return date.fromordinal(period * 7 + 1 + self.week_start)
        return date(period // 12, period % 12 + 1, 1) if self.frequency == "MONTHLY" else date(period, 1, 1)


def parse_rule(parts: Mapping[str, Any], start: date, zone: ZoneInfo, *, field: str) -> Rule:
    """Check an RRULE in the form that `icalendar` gives it, lists by name; `start` says what it leaves open.

    Raises ConfigError for parts and values that are not supported.
    """
    odd = sorted(set(map(str.upper, parts)) - _PARTS)
    frequency = str(_one(parts, "FREQ", ""))
    if odd or frequency not in _FREQUENCIES:
        unknown = ", ".join(odd)[:80] or f"FREQ={frequency[:80]}"
        known = "FREQ=DAILY to YEARLY, INTERVAL, COUNT, UNTIL, WKST, BYDAY, BYMONTHDAY, BYYEARDAY, BYWEEKNO, BYMONTH"
        text = f"{field}: {unknown} is not understood in RRULE; use {known} and BYSETPOS, or write single events"
        raise ConfigError(text, field=field)
    if sum(len(values) for values in parts.values() if isinstance(values, list)) > MOST_VALUES:
        raise ConfigError(f"{field}: RRULE has more than {MOST_VALUES} values; write single events", field=field)
    try:
        return Rule(
            frequency=frequency,
            interval=max(int(_one(parts, "INTERVAL", 1)), 1),
            week_start=_WEEKDAYS.index(str(_one(parts, "WKST", "MO"))),
            count=None if "COUNT" not in parts else int(_one(parts, "COUNT", 0)),
            until=_until(_one(parts, "UNTIL", None), zone),
            parts=_complete(_by_parts(parts), frequency, start),
        )
    except ValueError:
        raise ConfigError(f"{field}: RRULE cannot be read; write it as RFC 5545 has it", field=field) from None


def _one(parts: Mapping[str, Any], name: str, default: Any) -> Any:
    value = parts.get(name, default)
    return value[0] if isinstance(value, list) else value


def _until(value: object, zone: ZoneInfo) -> date | None:
    if isinstance(value, datetime):
        return (value.astimezone(zone) if value.tzinfo is not None else value).date()
    return value if isinstance(value, date) else None


def _by_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Raises ValueError for numbers out of range: dateutil takes BYMONTHDAY=0 for every day of the month."""
    found: dict[str, Any] = {}
    for name, largest in _LARGEST.items():
        if name in parts:
            numbers = found[name.lower()] = [int(value) for value in parts[name]]
            if any(not 1 <= abs(number) <= largest for number in numbers):
                raise ValueError
    if "BYDAY" in parts:
        found["byweekday"] = [_weekday(str(word)) for word in parts["BYDAY"]]
    return found


def _weekday(word: str) -> "weekday":
    from dateutil.rrule import weekday

    return weekday(_WEEKDAYS.index(word[-2:]), int(word[:-2] or 0) or None)


def _complete(parts: dict[str, Any], frequency: str, start: date) -> Mapping[str, Any]:
    """Add the parts that a rule takes from its first day (RFC 5545, 3.3.10), since the walk begins on another day."""
    if parts.keys() & {"byweekno", "byyearday", "bymonthday", "byweekday"}:
        return parts
    if frequency == "WEEKLY":
        return parts | {"byweekday": start.weekday()}
    if frequency == "MONTHLY":
        return parts | {"bymonthday": start.day}
    return {"bymonth": start.month, "bymonthday": start.day} | parts if frequency == "YEARLY" else parts


class _AllStepsTaken(Exception):
    """The walk has passed the window."""


class _CountedInterval(int):
    """INTERVAL of a walk; adding it more often than `steps` times raises _AllStepsTaken.

    dateutil adds the interval to its position once a step (a week's times seven), so a step can be counted here, and
    nowhere else from outside of the library.
    """

    def __new__(cls, interval: int, steps: int) -> "_CountedInterval":
        counted = super().__new__(cls, interval)
        counted._left = steps
        return counted

    _left: int

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _AllStepsTaken

    def __radd__(self, position: int) -> int:
        self._count()
        return position + int(self)

    def __mul__(self, days: int) -> int:
        self._count()
        return int(self) * days


def days_of_rule(rule: Rule, start: date, since: date, until: date) -> Iterator[date]:
    """The days from `since` to `until` on which the rule holds; no day before `start` is one."""
    from dateutil.rrule import rrule

    last = until if rule.until is None else min(until, rule.until)
    first, skipped = rule.period(start), 0
    # Whole intervals before the window are skipped; with COUNT each day before it has to be counted.
    if rule.count is None and start < since:
        skipped = (rule.period(since) - first) // rule.interval * rule.interval
    steps = (rule.period(last) - first - skipped) // rule.interval
    if steps < 0 or last < start:
        return
    begins = rule.first_day(first + skipped) if skipped else start
    walk = rrule(
        _FREQUENCIES[rule.frequency],
        dtstart=datetime.combine(begins, time()),
        interval=_CountedInterval(rule.interval, steps),
        wkst=rule.week_start,
        count=rule.count,
        **rule.parts,
    )
    try:
        for moment in walk:
            if (day := moment.date()) > last:
                return
            if day >= since:
                yield day
    except _AllStepsTaken:
        return
