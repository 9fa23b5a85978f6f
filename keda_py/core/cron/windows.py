"""Cron windows: KEDA's rule for when a schedule is on, and when that changes next.

The cron scaler parses a `CronWindow` once, asks `is_open` at a poll and `next_change` for the moment at which the
engine shall look again; the simulator does the same over virtual time. A window is [start, end): with S the next start
and E the next end, both strictly after now, it is open when E <= S. Windows over midnight, over a weekend, or with S
equal to E follow from this rule and are no special cases.

`cron/fields.py` parses the grammar; croniter, given only what that grammar allows, walks the calendar of a wall clock
without zones; this file maps that clock to the zone. A local time that occurs twice fires twice. A skipped local time
fires at the first existing instant after it: `30 2 * * *` in Europe/Prague fires on 2026-03-29 at 03:00 CEST. KEDA
skips that firing, which makes its window 02:30-20:00 open from 20:00 the evening before. (croniter's own zones are not
used: it fires across the gap for `30 2 * * *`, but not for `30 * * * *`.)
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from croniter import CroniterBadDateError, croniter

from keda_py.core.cron.fields import CronField, CronFields, parse_fields
from keda_py.core.cron.openings import day_matches, times_of_day
from keda_py.core.cron.zones import load_zone
from keda_py.errors import ConfigError

_MINUTE = timedelta(minutes=1)
# No zone changes its offset and back within a week.
_PROBE = timedelta(days=7)

# Years that KEDA looks ahead: from March 2096, 29 February (next in 2104) never comes.
_HORIZON_YEARS = 5


# Find boundaries of windows in the local times that summer time skips.


# A typical year: one in the future, when only the zone's permanent rule applies.
_YEAR = 2032
# Hours of the day; an expression for more of them is meant to fire in each hour, so a skipped one is no surprise.
_MOST_HOURS = 12


@dataclass(frozen=True, slots=True)
class Gap:
    """The local times [begins, ends) that a zone skips."""

    begins: datetime
    ends: datetime


def gap_of(fields: CronFields, timezone: str) -> Gap | None:
    """Return the gap of a typical year in which the expression fires. Raises ConfigError for an unknown zone."""
    if len(fields.hour.values) > _MOST_HOURS:
        return None
    times = times_of_day(fields)
    for gap in _gaps(timezone):
        midnight = gap.begins.replace(hour=0, minute=0)
        skipped = (gap.begins <= midnight + timedelta(minutes=time) < gap.ends for time in times)
        if day_matches(fields, gap.begins.date()) and any(skipped):
            return gap
    return None


@lru_cache(maxsize=1024)
def _gaps(timezone: str) -> tuple[Gap, ...]:
    zone = load_zone(timezone)
    after, until = datetime(_YEAR, 1, 1, tzinfo=UTC), datetime(_YEAR + 1, 1, 1, tzinfo=UTC)
    found = []
    while (shift := first_shift(after, until, zone)) is not None:
        skipped = shift.astimezone(zone).replace(tzinfo=None)
        before = (shift - timedelta(minutes=1)).astimezone(zone).replace(tzinfo=None) + timedelta(minutes=1)
        if before < skipped:
            found.append(Gap(before, skipped))
        after = shift
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class CronWindow:
    """A checked window; build it with `parse_window`. A `TZ=` prefix in an expression overrides `timezone`."""

    start: str
    end: str
    timezone: str


def parse_window(start: str, end: str, timezone: str) -> CronWindow:
    """Parse and check all three; raises ConfigError naming field, value and remedy."""
    for field, expression in (("start", start), ("end", end)):
        check_expression(expression, field=field)
    load_zone(timezone)
    if start == end:
        raise ConfigError(f"start and end: both are {start!r}; give the window an end of its own", field="end")
    return CronWindow(start=start, end=end, timezone=timezone)


def check_expression(expression: str, *, field: str) -> None:
    """Raise ConfigError if KEDA would refuse the expression."""
    fields = parse_fields(expression, field=field)
    if fields.timezone:
        load_zone(fields.timezone, field=field)


def is_open(window: CronWindow, now: datetime) -> bool:
    """Whether `now` (aware) lies in the window."""
    start, end = _next_start_and_end(window, now)
    if end is None:
        return False
    return start is None or end <= start


def next_change(window: CronWindow, now: datetime) -> datetime | None:
    """Return the next instant (UTC) at which `is_open` may change; None: not within five years."""
    firings = [firing for firing in _next_start_and_end(window, now) if firing is not None]
    return min(firings).at if firings else None


def next_fire(expression: str, timezone: str, after: datetime) -> datetime | None:
    """Return the first firing after `after` (aware), in UTC; None: not within five years. Raises ConfigError."""
    firing = _next_firing(expression, timezone, _whole_minute(after))
    return None if firing is None else firing.at


@dataclass(frozen=True, slots=True, order=True)
class _Firing:
    at: datetime
    lag: timedelta
    """Zero, or how far before `at` the skipped local time was written, negative.

    It orders two firings that one gap pushed to the same instant: without it a window 02:10-02:50 that falls into the
    gap (S equals E) would be open for the whole day before.
    """


def _next_start_and_end(window: CronWindow, now: datetime) -> tuple[_Firing | None, _Firing | None]:
    minute = _whole_minute(now)
    return _next_firing(window.start, window.timezone, minute), _next_firing(window.end, window.timezone, minute)


def _whole_minute(instant: datetime) -> datetime:
    # Firings lie on whole minutes, so a thousand objects with one schedule that wake together share one cached result.
    return instant.astimezone(UTC).replace(second=0, microsecond=0)


@lru_cache(maxsize=8192)
def _next_firing(expression: str, timezone: str, after: datetime) -> _Firing | None:
    schedule = _parse_schedule(expression, timezone)
    wall = _wall_clock(after, schedule.zone)
    offset, last_year = wall - after.replace(tzinfo=None), wall.year + _HORIZON_YEARS
    while (local := schedule.next_local(wall)) is not None and local.year <= last_year:
        at = (local - offset).replace(tzinfo=UTC)
        shift = first_shift(after, at, schedule.zone)
        if shift is None:
            return _Firing(at, timedelta(0))
        resumes_at = _wall_clock(shift, schedule.zone)
        if local < resumes_at:
            return _Firing(shift, local - resumes_at)
        # Continue from the new offset; a firing at the very instant of the shift still counts.
        after, wall, offset = shift, resumes_at - _MINUTE, resumes_at - shift.replace(tzinfo=None)
    return None


def _wall_clock(instant: datetime, zone: ZoneInfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None)


def first_shift(after: datetime, until: datetime, zone: ZoneInfo) -> datetime | None:
    """Return the first instant in (after, until] whose offset from UTC differs from that of `after`."""
    offset = after.astimezone(zone).utcoffset()
    while after < until:
        probe = min(after + _PROBE, until)
        if probe.astimezone(zone).utcoffset() != offset:
            return _bisect_shift(after, probe, zone)
        after = probe
    return None


def _bisect_shift(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    offset = before.astimezone(zone).utcoffset()
    while after - before > _MINUTE:
        middle = before + (after - before) // 2 // _MINUTE * _MINUTE
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after


@dataclass(frozen=True, slots=True)
class _Schedule:
    calendar: croniter | None
    """Parsed once; every call sets its position. None: the schedule never fires."""
    zone: ZoneInfo

    def next_local(self, wall: datetime) -> datetime | None:
        """Return the first matching wall-clock minute strictly after `wall`."""
        if self.calendar is None:
            return None
        try:
            local: datetime = self.calendar.get_next(datetime, start_time=wall)
        except CroniterBadDateError:
            return None
        return local


@lru_cache(maxsize=4096)
def _parse_schedule(expression: str, timezone: str) -> _Schedule:
    fields = parse_fields(expression, field="expression")
    zone = load_zone(fields.timezone or timezone)
    if fields.never_fires():
        return _Schedule(None, zone)
    calendar = croniter(_write_for_croniter(fields), max_years_between_matches=_HORIZON_YEARS + 1)
    return _Schedule(calendar, zone)


def _write_for_croniter(fields: CronFields) -> str:
    """Write the schedule in terms on which croniter and robfig agree.

    They differ in `10-10` (croniter: the whole field) and in restricted days: `0 0 13 * 0-6` has no star, so either
    side suffices and it fires every day, but a field of all its values is a star to croniter.
    """
    days, weekdays = fields.day_of_month, fields.day_of_week
    day, weekday = _write_field(days), _write_field(weekdays)
    if fields.matches_any_weekday():
        if len(days.values) == 31 or len(weekdays.values) == 7:
            day = weekday = "*"
        elif not days.values or not weekdays.values:
            day, weekday = (day or "*"), (weekday or "*")
    return " ".join((_write_field(fields.minute), _write_field(fields.hour), day, _write_field(fields.month), weekday))


def _write_field(field: CronField) -> str:
    return "*" if field.star else ",".join(map(str, sorted(field.values)))
