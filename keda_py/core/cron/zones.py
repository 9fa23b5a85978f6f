"""Time zones by name: those of IANA, and suggestions for unknown names."""

from difflib import get_close_matches
from functools import cache, lru_cache
from importlib import resources
from zoneinfo import ZoneInfo

from keda_py.errors import ConfigError

_LONGEST_ZONE = 255
_LONGEST_GUESS = 40
_SIMILAR = 0.75
_WRITTEN = "write an IANA name, e.g. Europe/Prague or UTC"

_ABBREVIATIONS = {
    "kst": "Asia/Seoul",
    "jst": "Asia/Tokyo",
    "ist": "Asia/Kolkata",
    "sgt": "Asia/Singapore",
    "hkt": "Asia/Hong_Kong",
    "pht": "Asia/Manila",
    "wib": "Asia/Jakarta",
    "ict": "Asia/Bangkok",
    "aest": "Australia/Sydney",
    "aedt": "Australia/Sydney",
    "awst": "Australia/Perth",
    "nzst": "Pacific/Auckland",
    "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles",
    "mdt": "America/Denver",
    "cst": "America/Chicago",
    "cdt": "America/Chicago",
    "edt": "America/New_York",
    "brt": "America/Sao_Paulo",
    "art": "America/Buenos_Aires",
    "bst": "Europe/London",
    "cest": "Europe/Berlin",
    "eest": "Europe/Athens",
    "msk": "Europe/Moscow",
    "beijing": "Asia/Shanghai",
    "asia/beijing": "Asia/Shanghai",
    "utc+0": "UTC",
    "z": "UTC",
}
"""The most populated of the zones with that abbreviation; IANA has no such name."""


def load_zone(timezone: str, *, field: str = "timezone") -> ZoneInfo:
    """Load the zone of that IANA name; raises ConfigError."""
    if len(timezone) > _LONGEST_ZONE:
        raise ConfigError(f"{field}: more than {_LONGEST_ZONE} characters are no time zone", field=field)
    try:
        return ZoneInfo(timezone or "UTC")
    except (KeyError, ValueError, OSError):
        message = f"{field}: {timezone!r} is not a known time zone; {zone_remedy(timezone)}"
        raise ConfigError(message, field=field) from None


def zone_remedy(unknown: str) -> str:
    """Suggest what to write instead of an unknown name."""
    near = _nearest(unknown)
    return f"did you mean {near}?" if near else _WRITTEN


@lru_cache(maxsize=1024)
def _nearest(unknown: str) -> str:
    """Return the most similar zone, "" without one. Long names are not compared, since each comparison takes time."""
    wanted = unknown.strip().casefold().replace(" ", "_")
    if not wanted or len(wanted) > _LONGEST_GUESS:
        return ""
    names = _names()
    exact = _ABBREVIATIONS.get(wanted) or names.get(wanted)
    if exact:
        return exact
    near = get_close_matches(wanted, names, n=1, cutoff=_SIMILAR)
    return names[near[0]] if near else ""


@cache
def _names() -> dict[str, str]:
    """Return each zone by its lower-case name and, if it is unambiguous, by its city."""
    zones = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    places = [zone for zone in zones if "/" in zone and not zone.startswith("Etc/")]
    cities = {zone.rpartition("/")[2].casefold(): zone for zone in reversed(places)}
    return cities | {zone.casefold(): zone for zone in zones if zone != "Factory"}
