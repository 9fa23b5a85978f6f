"""Ages in kubectl's format: two units at most, coarser with distance (119s, 9m30s, 3h5m, 47h, 6d23h, 324d)."""

from datetime import datetime, timedelta

UNKNOWN = "<unknown>"


def age(moment: object, now: datetime) -> str:
    """Format the time since an RFC 3339 `moment`; `<unknown>` if missing."""
    if not isinstance(moment, str) or not moment:
        return UNKNOWN
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return UNKNOWN
    return human_duration(now - then)


def human_duration(duration: timedelta) -> str:
    """Format a duration; up to two seconds of clock skew are 0s, below that it is `<invalid>`."""
    seconds = int(duration.total_seconds())
    if seconds < 0:
        return "<invalid>" if seconds < -1 else "0s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    steps = (
        (seconds < 120, f"{seconds}s"),
        (minutes < 10, _pair(minutes, "m", seconds % 60, "s")),
        (minutes < 180, f"{minutes}m"),
        (hours < 8, _pair(hours, "h", minutes % 60, "m")),
        (hours < 48, f"{hours}h"),
        (days < 8, _pair(days, "d", hours % 24, "h")),
        (days < 2 * 365, f"{days}d"),
        (days < 8 * 365, _pair(days // 365, "y", days % 365, "d")),
        (True, f"{days // 365}y"),
    )
    return next(text for fits, text in steps if fits)


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
