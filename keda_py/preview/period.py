"""The period of a preview, and the zone of its days, by `--days`, `--from` and `--timezone`. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from keda_py.apis.foreign import map_at, maps_at, text_at
from keda_py.core.cron.zones import load_zone
from keda_py.core.values.times import parse_time
from keda_py.errors import ConfigError
from keda_py.replay.days import midnight
from keda_py.replay.reading.manifests import ManifestSource

MOST_DAYS = 366
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """[begins, ends) in UTC; `zone` is that of the days that are shown.

    `present` is when a cluster was read, None for files.
    """

    begins: datetime
    ends: datetime
    zone: ZoneInfo
    present: datetime | None = None


def period_of(sources: Iterable[ManifestSource], now: datetime, *, days: int, since: str, timezone: str) -> Period:
    """Read the flags: "" is now, and the zone that most schedules are written in. Raises ConfigError."""
    if not 1 <= days <= MOST_DAYS:
        raise ConfigError(f"--days: {days} is not between 1 and {MOST_DAYS}", field="--days")
    zone = load_zone(timezone or usual_zone(sources) or "UTC", field="--timezone")
    begins = _begin(since, now, zone)
    last = (begins.astimezone(zone) + timedelta(days=days)).replace(tzinfo=None)
    return Period(begins=begins, ends=last.replace(tzinfo=zone).astimezone(UTC), zone=zone)


def _begin(since: str, now: datetime, zone: ZoneInfo) -> datetime:
    if not since:
        return now.replace(second=0, microsecond=0)
    try:
        return midnight(date.fromisoformat(since), zone)
    except ValueError:
        return parse_time(since, field="--from")


def earliest(since: str, now: datetime) -> datetime:
    """Return an instant before such a period in any zone; `now` if that is earlier, or `since` is not a time."""
    try:
        return min(now, _begin(since, now, ZoneInfo("UTC")) - timedelta(days=1))
    except ConfigError:
        return now


def refuse_past(begins: datetime, now: datetime, since: str) -> None:
    """Refuse a past period for a cluster: what was there does not follow from what is. Raises ConfigError."""
    if begins < now - _MINUTE:
        text = f"--from: {since} is before now, and a cluster's past is not what its manifests of today would have made"
        raise ConfigError(f"{text}; keda-py explain tells what was, or name files", field="--from")


def usual_zone(sources: Iterable[ManifestSource]) -> str:
    """Return the zone that most schedules are written in; "" if none names one."""
    found = Counter(zone for source in sources for zone in _zones(source.body))
    for zone, _ in found.most_common():
        try:
            return load_zone(zone).key
        except ConfigError:
            continue  # told with the object that it is written in
    return ""


def _zones(body: dict[str, object]) -> Iterator[str]:
    written = [text_at(trigger, "metadata", "timezone") for trigger in maps_at(body, "spec", "triggers")]
    spec = map_at(body, "spec")
    written += [text_at(spec, "timeZone"), text_at(spec, "calendar", "timeZone")]
    yield from filter(None, written)
