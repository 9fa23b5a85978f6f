"""Find boundaries of windows in the local times that summer time skips."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from keda_py.core.cron.fields import CronFields
from keda_py.core.cron.openings import day_matches, times_of_day
from keda_py.core.cron.windows import first_shift
from keda_py.core.cron.zones import load_zone

_YEAR = 2032
"""A typical year: one in the future, when only the zone's permanent rule applies."""
_MOST_HOURS = 12
"""Hours of the day; an expression for more of them is meant to fire in each hour, so a skipped one is no surprise."""


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
