"""Local time -> the instant: a skipped one is the first instant after the gap, one that occurs twice its first.

So the boundaries of a day keep their order in every zone, and a window never loses or gains a night. In Europe/Prague,
02:30 is 01:00Z on 2026-03-29 (03:00 CEST) and 00:30Z on 2026-10-25.
"""

from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

_SECOND = timedelta(seconds=1)


@lru_cache(maxsize=16_384)
def instant_of(day: date, minute: int, zone: ZoneInfo) -> datetime:
    """Return the instant (UTC) of `minute` minutes on the wall clock after the midnight with which `day` begins."""
    local = datetime.combine(day, time()) + timedelta(minutes=minute)
    at = local.replace(tzinfo=zone).astimezone(UTC)
    if at.astimezone(zone).replace(tzinfo=None) == local:
        return at
    before = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _end_of_gap(before, at, local, zone)


def _end_of_gap(before: datetime, after: datetime, local: datetime, zone: ZoneInfo) -> datetime:
    """Find the first instant whose wall clock is not before `local`; `before` is too early, `after` is not."""
    while after - before > _SECOND:
        middle = before + (after - before) // 2 // _SECOND * _SECOND
        if middle.astimezone(zone).replace(tzinfo=None) < local:
            before = middle
        else:
            after = middle
    return after


def local_date(at: datetime, zone: ZoneInfo) -> date:
    """Return the day that it is in that zone."""
    return at.astimezone(zone).date()
