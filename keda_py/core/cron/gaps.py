"""Boundaries of windows in the local times that summer time skips."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from keda_py.core.cron.fields import CronFields
from keda_py.core.cron.openings import day_matches, times_of_day
from keda_py.core.cron.windows import first_shift
from keda_py.core.cron.zones import load_zone

_YEAR = 2032
"""The rule that holds for good is told by a year to come."""
_MOST_HOURS = 12
"""An expression for more hours of the day than that is meant for each of them."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Local times [begins, ends) that a zone skips."""

    begins: datetime
    ends: datetime


def gap_of(fields: CronFields, timezone: str) -> Gap | None:
    """The gap of a typical year into which the expression falls. Raises ConfigError for an unknown zone."""
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
