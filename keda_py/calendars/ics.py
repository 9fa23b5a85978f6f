"""iCalendar files -> holidays: each day on which an event takes place, by its summary.

Tenants write these files. Bytes, events and lines are counted before anything is parsed, and each event costs at most
some milliseconds: `icalendar` parses one at a time, `recurrence.py` finds the days of its rule. A whole file may still
take a second of CPU, so the operator has it read by a worker process (`answer_with_holidays`, by `AnswerBounds.parse`);
`keda-py preview` calls `read_ics` itself.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypedDict
from zoneinfo import ZoneInfo

from keda_py.calendars.recurrence import MOST_COUNTED_DAYS, days_of_rule, parse_rule
from keda_py.errors import ConfigError

MOST_BYTES = 1_000_000
MOST_EVENTS = 1_000
# Events that recur. The costliest rule takes about 10 ms: one with COUNT, followed for ten years of days.
MOST_RULES = 200
# `icalendar` takes 25 us for a line, so one event costs 8 ms at most.
MOST_EVENT_BYTES, MOST_EVENT_LINES = 8_192, 300
# Days of one event: a longer one is more likely a slip in DTEND than a holiday.
MOST_EVENT_DAYS = 62
_NAME = 120
_SHORT_NAME = 10
# Bytes of JSON that fit into a worker's answer, with room to spare.
_MOST_ANSWERED = 60_000
_ONE = timedelta(days=1)


class HolidaysAnswer(TypedDict, total=False):
    """What a worker process answers: `days`, names by ISO date, or `refused`, message and field of a ConfigError."""

    days: dict[str, str]
    refused: tuple[str, str]


@dataclass(slots=True)
class _Holidays:
    """`moved` has the occurrences of rules, as (UID, day), that an event of its own replaces (RECURRENCE-ID)."""

    days: dict[date, str] = field(default_factory=dict)
    moved: set[tuple[str, date]] = field(default_factory=set)


def answer_with_holidays(text: bytes, since: str, until: str, zone: str, field: str) -> HolidaysAnswer:
    """Call `read_ics` with plain arguments, for a plain answer: what a worker process can be asked.

    Names are cut to ten characters if all of them would make the answer longer than a worker may give.
    """
    window = (date.fromisoformat(since), date.fromisoformat(until))
    try:
        found = read_ics(text, *window, ZoneInfo(zone), field=field)
    except ConfigError as error:
        return {"refused": (str(error), error.field)}
    days = {day.isoformat(): name for day, name in found.items()}
    if len(json.dumps(days)) > _MOST_ANSWERED:
        days = {day: name[:_SHORT_NAME] for day, name in days.items()}
    return {"days": days}


def read_ics(text: bytes, since: date, until: date, zone: ZoneInfo, *, field: str) -> Mapping[date, str]:
    """Names of the holidays from `since` to `until`, by day. Raises ConfigError.

    Events with times count for the days that they touch in `zone`. The window should not exceed 400 days, since rules
    are followed through it day by day.
    """
    events = [
        (_parse_event(block, where := f"{field}: event {number}"), where)
        for number, block in enumerate(_split(text, field), start=1)
    ]
    # Replaced occurrences come first: a replacement may stand before or after the event whose rule has the day.
    found = _Holidays()
    for event, where in events:
        with _readable(where):
            if (instead := event.get("RECURRENCE-ID")) is not None:
                found.moved.add((str(event.get("UID", "")), _local(instead.dt, zone)))
    for event, where in events:
        with _readable(where):
            _add(found, event, (since, until, zone), where)
    return dict(sorted(found.days.items()))


def _split(text: bytes, field: str) -> list[bytes]:
    """The text of each event. Raises ConfigError for a file whose size alone makes it too costly to read."""
    for many, most, what in (
        (len(text), MOST_BYTES, "bytes"),
        (text.count(b"BEGIN:VEVENT"), MOST_EVENTS, "events"),
        (text.count(b"RRULE"), MOST_RULES, "events that recur"),
    ):
        if many > most:
            raise ConfigError(f"{field}: {many} {what}; {most} at most: leave out years that are over", field=field)
    if not text.lstrip().startswith(b"BEGIN:VCALENDAR"):
        raise ConfigError(f"{field}: not an iCalendar file; it begins with BEGIN:VCALENDAR", field=field)
    blocks: list[bytes] = []
    for part in text.split(b"BEGIN:VEVENT")[1:]:
        inside, end, _ = part.partition(b"END:VEVENT")
        lines = inside.count(b"\n") - inside.count(b"\n ")
        if not end or len(inside) > MOST_EVENT_BYTES or lines > MOST_EVENT_LINES:
            problem = f"has more than {MOST_EVENT_BYTES} bytes or {MOST_EVENT_LINES} lines" if end else "does not end"
            raise ConfigError(f"{field}: event {len(blocks) + 1} {problem}; write it anew", field=field)
        blocks.append(b"BEGIN:VEVENT" + inside + b"END:VEVENT\r\n")
    return blocks


def _parse_event(block: bytes, field: str) -> Any:
    from icalendar import Event

    with _readable(field):
        event = Event.from_ical(block)
        start = event.get("DTSTART")
        if start is None or not isinstance(start.dt, date) or event.errors:
            raise ValueError
    return event


@contextmanager
def _readable(field: str) -> Iterator[None]:
    """Turn the library's errors into a ConfigError.

    An event that is malformed shows late, and in many ways: `icalendar` gives a list for a property that stands twice
    and a pair for a period, and no date follows the year 9999.
    """
    try:
        yield
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError):
        text = f"{field} cannot be read; it needs DTSTART and lines as RFC 5545 has them"
        raise ConfigError(text, field=field) from None


def _add(found: _Holidays, event: Any, window: tuple[date, date, ZoneInfo], field: str) -> None:
    since, until, zone = window
    start = _local(event["DTSTART"].dt, zone)
    lasts = _days_of(event, start, zone, field)
    uid, name = str(event.get("UID", "")), str(event.get("SUMMARY", ""))[:_NAME] or "holiday"
    occurrences = {start} if "RRULE" not in event or "RECURRENCE-ID" in event else set()
    if "RRULE" in event and "RECURRENCE-ID" not in event:
        rule = parse_rule(event["RRULE"], start, zone, field=field)
        if rule.count is not None and (since - start).days > MOST_COUNTED_DAYS:
            raise ConfigError(f"{field} counts from {start}, over ten years ago; write UNTIL for COUNT", field=field)
        occurrences |= {start, *days_of_rule(rule, start, since - lasts * _ONE, until)}
    occurrences |= {_local(value.dt, zone) for value in _dates(event, "RDATE")}
    occurrences -= {_local(value.dt, zone) for value in _dates(event, "EXDATE")}
    if "RECURRENCE-ID" not in event:
        occurrences = {day for day in occurrences if (uid, day) not in found.moved}
    if str(event.get("STATUS", "")).upper() == "CANCELLED":
        return
    for first in occurrences:
        for step in range(lasts):
            if since <= (day := first + step * _ONE) <= until:
                found.days.setdefault(day, name)


def _dates(event: Any, key: str) -> list[Any]:
    lists = event.get(key, [])
    return [value for each in (lists if isinstance(lists, list) else [lists]) for value in each.dts]


def _days_of(event: Any, start: date, zone: ZoneInfo, field: str) -> int:
    """The number of days that an event touches; DTEND itself is not part of it."""
    if "DTEND" in event:
        end = event["DTEND"].dt
        last = _local(end - (timedelta(microseconds=1) if isinstance(end, datetime) else _ONE), zone)
        days = (last - start).days + 1
    else:
        duration = event.get("DURATION")
        days = -(-max(duration.dt, _ONE) // _ONE) if duration is not None else 1
    if days > MOST_EVENT_DAYS:
        raise ConfigError(f"{field} lasts {days} days; {MOST_EVENT_DAYS} at most: split it", field=field)
    return max(int(days), 1)


def _local(moment: date, zone: ZoneInfo) -> date:
    """The day of a moment in the calendar's zone; a time without a zone is a time of that zone."""
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        return moment.date()
    return moment.astimezone(UTC).astimezone(zone).date()
