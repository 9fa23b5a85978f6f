"""The zone of the person at the terminal: $TZ, else the system's; UTC where neither names one of IANA's."""

from zoneinfo import ZoneInfo

from tzlocal import get_localzone


def user_zone() -> ZoneInfo:
    """Return the zone by its name, so that summer time is known."""
    try:
        found = get_localzone()
    except (LookupError, ValueError, OSError):  # ZoneInfoNotFoundError is a LookupError
        return ZoneInfo("UTC")
    return found if isinstance(found, ZoneInfo) else ZoneInfo("UTC")
