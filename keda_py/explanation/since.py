"""The `--since` of `explain`: a time as people say it, read in the zone of the one who asks. Pure."""

import re  # noqa: TID251 - constant patterns, and the text is of the one who runs the command
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from keda_py.errors import ConfigError

_AGO = re.compile(r"(?:(\d{1,4})d)?(?:(\d{1,4})h)?(?:(\d{1,5})m)?")
_HOUR = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")


def parse_since(text: str, now: datetime, zone: ZoneInfo | None = None) -> datetime:
    """Parse `22:00` (its last occurrence), `yesterday`, `today`, `12h`, `2d`, or a date with or without a time.

    `zone` None is that of this machine. Raises ConfigError for another text, and for a time in the future.
    """
    local = now.astimezone(zone)
    try:
        at = _read(text.strip(), now, local, zone)
    except (ValueError, OverflowError):
        at = None
    if at is None:
        raise ConfigError(f"--since: {text!r} is not a time; use 22:00, yesterday, 12h, 2d or 2026-11-20T22:00")
    if at > now:
        raise ConfigError(f"--since: {text!r} has yet to come; use a time before {local:%Y-%m-%d %H:%M %Z}")
    return at


def _read(text: str, now: datetime, local: datetime, zone: ZoneInfo | None) -> datetime | None:
    midnight = datetime.combine(local.date(), time())
    if text == "today":
        return _aware(midnight, zone)
    if text == "yesterday":
        return _aware(midnight - timedelta(days=1), zone)
    if _HOUR.fullmatch(text):
        said = datetime.combine(local.date(), time.fromisoformat(text.rjust(len(text) + text.index(":") % 2, "0")))
        at = _aware(said, zone)
        return at if at <= now else _aware(said - timedelta(days=1), zone)
    if (ago := _AGO.fullmatch(text)) and text:
        days, hours, minutes = (int(part or 0) for part in ago.groups())
        return now - timedelta(days=days, hours=hours, minutes=minutes)
    return _aware(datetime.fromisoformat(text), zone)


def _aware(at: datetime, zone: ZoneInfo | None) -> datetime:
    """Add the zone to a time that names none."""
    if at.tzinfo is not None:
        return at
    return at.replace(tzinfo=zone) if zone is not None else at.astimezone()
