"""iCalendar files -> holidays: each day on which an event takes place, by its summary.

Tenants write these files: their bytes, events and lines are counted before anything is parsed, and the work is done in
steps. `read_ics` yields after each event, which takes at most some milliseconds; the caller lets the loop run between
two. `icalendar` reads one event at a time; `recurrence.py` finds the days of its rule.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from keda_py.calendars.recurrence import MOST_COUNTED_DAYS, days_of_rule, parse_rule
from keda_py.errors import ConfigError

MOST_BYTES = 1_000_000
MOST_EVENTS = 1_000
MOST_RULES = 200
"""Events that recur; each is looked at for each day of the window."""
MOST_EVENT_BYTES, MOST_EVENT_LINES = 8_192, 300
"""A line costs 25 us."""
MOST_EVENT_DAYS = 62
"""Of one event that lasts: longer ones are refused."""
_NAME = 120
_ONE = timedelta(days=1)


@dataclass(slots=True)
class _Found:
    days: dict[date, str] = field(default_factory=dict)
    moved: set[tuple[str, date]] = field(default_factory=set)
    """Occurrences of a rule that have an event of their own."""


def read_ics(text: bytes, since: date, until: date, zone: ZoneInfo, *, field: str) -> Iterator[Mapping[date, str]]:
    """Holidays from `since` to `until`, growing: what is yielded last is complete. Raises ConfigError.

    Events with times count for the days that they touch in `zone`. The window should not exceed 400 days.
    """
    blocks = _split(text, field)
    events = []
    for number, block in enumerate(blocks):
        events.append(_parse_event(block, f"{field}: event {number + 1}"))
        yield {}
    found = _Found()
    for number, event in enumerate(events):
        with _readable(f"{field}: event {number + 1}"):
            if (instead := event.get("RECURRENCE-ID")) is not None:
                found.moved.add((str(event.get("UID", "")), _local(instead.dt, zone)))
    for number, event in enumerate(events):
        with _readable(where := f"{field}: event {number + 1}"):
            _add(found, event, (since, until, zone), where)
        yield found.days
    yield dict(sorted(found.days.items()))


def _split(text: bytes, field: str) -> list[bytes]:
    """The text of each event. Raises ConfigError for more than can be read in little time."""
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
            told = f"has more than {MOST_EVENT_BYTES} bytes or {MOST_EVENT_LINES} lines" if end else "does not end"
            raise ConfigError(f"{field}: event {len(blocks) + 1} {told}; write it anew", field=field)
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
    """Raises ConfigError for what the library makes of an event that is not as it expects: a property that stands
    twice is a list there, a period a pair, and a day after the last one that there is cannot be reckoned with.
    """
    try:
        yield
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError):
        text = f"{field} cannot be read; it needs DTSTART and lines as RFC 5545 has them"
        raise ConfigError(text, field=field) from None


def _add(found: _Found, event: Any, window: tuple[date, date, ZoneInfo], field: str) -> None:
    since, until, zone = window
    start = _local(event["DTSTART"].dt, zone)
    lasts = _days_of(event, start, zone, field)
    uid, name = str(event.get("UID", "")), str(event.get("SUMMARY", ""))[:_NAME] or "holiday"
    occurrences = {start} if "RRULE" not in event or "RECURRENCE-ID" in event else set()
    if "RRULE" in event and "RECURRENCE-ID" not in event:
        rule = parse_rule(event["RRULE"], zone, field=field)
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
    """Days that it touches: DTEND is not part of it."""
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
    """The day in the calendar's zone; a time without a zone is one of that zone."""
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        return moment.date()
    return moment.astimezone(UTC).astimezone(zone).date()
