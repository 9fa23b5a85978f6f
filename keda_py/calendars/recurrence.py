"""The days of a recurrence rule (RFC 5545), by asking each day of a window whether the rule holds on it.

So the cost is known beforehand: a window of 400 days takes under a millisecond, whatever the rule. A library that walks
from DTSTART to the next match walks to the year 9999 for 30 February. Parts of a day, and the rarer parts of the
grammar (BYSETPOS, BYWEEKNO, BYYEARDAY) are refused; a test compares the rest with `dateutil.rrule`.
"""

from calendar import monthrange
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from keda_py.errors import ConfigError

_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_PARTS = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", "BYMONTHDAY", "BYMONTH"}
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
MOST_COUNTED_DAYS = 3_660
"""A rule with COUNT is followed from its start: ten years at most."""
MOST_VALUES = 60
_ONE = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`weekdays` are (position, weekday), position 0 for every one; empty parts do not restrict."""

    frequency: str
    interval: int = 1
    count: int | None = None
    until: date | None = None
    week_start: int = 0
    weekdays: tuple[tuple[int, int], ...] = ()
    month_days: tuple[int, ...] = ()
    months: tuple[int, ...] = ()


def parse_rule(parts: Mapping[str, Any], zone: ZoneInfo, *, field: str) -> Rule:
    """The rule of an RRULE as `icalendar` has it: lists by name. Raises ConfigError for what is not understood."""
    odd = sorted(set(map(str.upper, parts)) - _PARTS)
    frequency = str(_one(parts, "FREQ", ""))
    if odd or frequency not in _FREQUENCIES:
        told = ", ".join(odd)[:80] or f"FREQ={frequency[:80]}"
        known = "FREQ=DAILY to YEARLY, INTERVAL, COUNT, UNTIL, BYDAY, BYMONTHDAY and BYMONTH"
        raise ConfigError(
            f"{field}: {told} is not understood in RRULE; use {known}, or write single events", field=field
        )
    if sum(len(values) for values in parts.values() if isinstance(values, list)) > MOST_VALUES:
        raise ConfigError(f"{field}: RRULE has more than {MOST_VALUES} values; write single events", field=field)
    try:
        return Rule(
            frequency=frequency,
            interval=max(int(_one(parts, "INTERVAL", 1)), 1),
            count=None if "COUNT" not in parts else int(_one(parts, "COUNT", 0)),
            until=_until(_one(parts, "UNTIL", None), zone),
            week_start=_WEEKDAYS.index(str(_one(parts, "WKST", "MO"))),
            weekdays=tuple(_weekday(str(word)) for word in parts.get("BYDAY", ())),
            month_days=tuple(int(day) for day in parts.get("BYMONTHDAY", ())),
            months=tuple(int(month) for month in parts.get("BYMONTH", ())),
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


def _weekday(word: str) -> tuple[int, int]:
    position = word[:-2]
    return int(position) if position else 0, _WEEKDAYS.index(word[-2:])


def days_of_rule(rule: Rule, start: date, since: date, until: date) -> Iterator[date]:
    """The days from `since` to `until` on which the rule holds; `start` is its first day."""
    first, last = max(start, since), until if rule.until is None else min(until, rule.until)
    counted = 0
    if rule.count is not None:
        first, last = start, min(last, start + MOST_COUNTED_DAYS * _ONE)
    for step in range(max((last - first).days + 1, 0)):
        day = first + step * _ONE
        if not _holds(rule, start, day):
            continue
        counted += 1
        if rule.count is not None and counted > rule.count:
            return
        if day >= since:
            yield day


def _holds(rule: Rule, start: date, day: date) -> bool:
    return _in_period(rule, start, day) and _matches(rule, start, day)


def _in_period(rule: Rule, start: date, day: date) -> bool:
    """Whether its day, week, month or year is one of every INTERVAL."""
    if rule.frequency == "DAILY":
        return (day - start).days % rule.interval == 0
    if rule.frequency == "WEEKLY":
        shift = (start.weekday() - rule.week_start) % 7
        return ((day - start).days + shift) // 7 % rule.interval == 0
    if rule.frequency == "MONTHLY":
        return ((day.year - start.year) * 12 + day.month - start.month) % rule.interval == 0
    return (day.year - start.year) % rule.interval == 0


def _matches(rule: Rule, start: date, day: date) -> bool:
    if rule.months and day.month not in rule.months:
        return False
    length = monthrange(day.year, day.month)[1] if rule.month_days or rule.weekdays else 0
    if rule.month_days and day.day not in rule.month_days and day.day - length - 1 not in rule.month_days:
        return False
    if rule.weekdays:
        return any(_is_weekday(rule, day, length, *each) for each in rule.weekdays)
    return bool(rule.month_days) or _like_start(rule, start, day)


def _like_start(rule: Rule, start: date, day: date) -> bool:
    """What no part says is as on the first day."""
    if rule.frequency == "DAILY":
        return True
    if rule.frequency == "WEEKLY":
        return day.weekday() == start.weekday()
    return day.day == start.day and (rule.frequency == "MONTHLY" or bool(rule.months) or day.month == start.month)


def _is_weekday(rule: Rule, day: date, length: int, position: int, weekday: int) -> bool:
    """The n-th of a month; of the year for a yearly rule without months. Only there positions count."""
    if day.weekday() != weekday:
        return False
    if position == 0 or rule.frequency in ("DAILY", "WEEKLY"):
        return True
    if rule.frequency == "YEARLY" and not rule.months:
        number, length = day.timetuple().tm_yday, (date(day.year, 12, 31) - date(day.year, 1, 1)).days + 1
    else:
        number = day.day
    return (number - 1) // 7 + 1 == position if position > 0 else (length - number) // 7 + 1 == -position
