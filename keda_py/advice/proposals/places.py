"""Where people use a workload: the zone, how it is known, and whose public holidays count.

The country of a zone is what the zone table of IANA's database has; a zone that was guessed has none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from zoneinfo import ZoneInfo

from keda_py.calendars.countries import country_holidays
from keda_py.core.advice.history import History
from keda_py.core.advice.zones import sharpest_zone


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A zone and a country, "" for none. `how` says how the zone is known."""

    zone: ZoneInfo
    how: str
    country: str = ""
    subdivision: str = ""

    @property
    def description(self) -> str:
        """Such as Europe/Berlin (as given), holidays of DE."""
        region = f"-{self.subdivision}" if self.subdivision else ""
        holidays = f"holidays of {self.country}{region}" if self.country else "no holidays, as no country is known"
        return f"{self.zone.key} ({self.how}), {holidays}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRule:
    """What a person says: `zone` None: `own`, or the one in which the habit is sharpest; `country` "": the zone's."""

    own: ZoneInfo
    zone: ZoneInfo | None = None
    country: str = ""
    subdivision: str = ""

    def find(self, history: History, steps: bytearray) -> Place:
        """The place of a history."""
        if self.zone is not None:
            return self._at(self.zone, "as given", country_of(self.zone.key))
        zone, changed = sharpest_zone(history, steps, self.own)
        if zone.key == self.own.key:
            how = "this machine's" + ("" if changed else ", as no clock changed in these weeks")
            return self._at(zone, how, country_of(zone.key))
        return self._at(zone, "guessed: its summer time makes the weeks alike, as that of its neighbours does", "")

    def _at(self, zone: ZoneInfo, how: str, country: str) -> Place:
        return Place(zone=zone, how=how, country=self.country or country, subdivision=self.subdivision)


def holidays_of(place: Place, history: History) -> Mapping[date, str]:
    """Those of the country in the years of the history. Raises ConfigError for a country that is unknown."""
    years = tuple(range(history.origin.year, history.ends.year + 1))
    return country_holidays(place.country, place.subdivision, years, field="--country") if place.country else {}


@cache
def _countries() -> Mapping[str, str]:
    text = (resources.files("tzdata") / "zoneinfo" / "zone.tab").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {row[2]: row[0] for row in rows}


def country_of(zone: str) -> str:
    """ISO 3166 code where the holidays of that country are known; "" for UTC and the like."""
    from holidays import list_supported_countries  # heavy: not for --help

    country = _countries().get(zone, "")
    return country if country in list_supported_countries(include_aliases=False) else ""
