"""Instants as people and Kubernetes write them: `2026-11-23T22:00:00+01:00`."""

from datetime import UTC, datetime
from typing import Any

from keda_py.apis.foreign import text_at
from keda_py.errors import ConfigError

YEARS = range(1970, 2201)
"""Years of an instant: what is added to it stays a time that can be written."""
_LONGEST_TEXT = 40
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def write_time(at: datetime) -> str:
    """An instant as Kubernetes writes it, to the second."""
    return f"{at.astimezone(UTC).isoformat(timespec='seconds')[:19]}Z"


def parse_time(text: str, *, field: str) -> datetime:
    """Read an instant as UTC. Raises ConfigError, also for a time without an offset, or of a year outside of YEARS."""
    told = text[:_LONGEST_TEXT]
    try:
        found = datetime.fromisoformat(told)
        if found.tzinfo is not None and found.year in YEARS:
            return found.astimezone(UTC)
    except ValueError:
        found = None
    if found is not None and found.year not in YEARS:
        raise ConfigError(f"{field}: {told!r} is not of the years {YEARS[0]} to {YEARS[-1]}; correct it", field=field)
    message = f"{field}: {told!r} is not a time with its offset; write for example 2026-11-23T22:00:00+01:00"
    raise ConfigError(message, field=field)


def parse_optional_time(text: str, *, field: str) -> datetime | None:
    """Read an instant; None for an empty text. Raises ConfigError."""
    return parse_time(text, field=field) if text else None


def earliest(*times: datetime | None) -> datetime | None:
    """Return the earliest of the times that are known, None if none is."""
    return min((time for time in times if time is not None), default=None)


def created_of(live: Any) -> datetime:
    """Return when an object was created; long ago if it does not say."""
    try:
        return parse_time(text_at(live, "metadata", "creationTimestamp"), field="metadata.creationTimestamp")
    except ConfigError:
        return _LONG_AGO
