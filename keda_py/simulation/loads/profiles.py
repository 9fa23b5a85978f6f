"""Loads with the shape of a day, for those who have no trace yet. The same name gives the same load each time.

Values are a share of each trigger's peak, one a minute, with some noise. The hours are those of the zone in which the
object's schedule is written; UTC where it has none.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from keda_py.core.cron.zones import load_zone
from keda_py.errors import ConfigError
from keda_py.replay.engine.source import Source
from keda_py.simulation.loads.load import Need
from keda_py.simulation.sources import Column, Row, Rows

_STEP_SECONDS = 60.0
_NOISE = 0.15


def _office_day(hour: float, weekday: int) -> float:
    """Work from eight to six, a dip at noon, nothing at night and on weekends."""
    if weekday >= 5 or not 8 <= hour < 18:
        return 0.0
    rise = min(1.0, (hour - 8) / 1.5, (18 - hour) / 1.5)
    return rise * (0.6 if 12 <= hour < 13 else 1.0)


def _web_shop(hour: float, weekday: int) -> float:
    """Never quite nothing, most in the evening, more on weekends."""
    wave = 0.5 + 0.5 * math.sin((hour - 14) / 24 * 2 * math.pi)
    return (0.1 + 0.9 * wave**2) * (1.0 if weekday >= 5 else 0.75)


def _night_batch(hour: float, weekday: int) -> float:
    """Everything at once at two in the morning, worked off until five."""
    return max(0.0, 1.0 - (hour - 2) / 3) if 2 <= hour < 5 else 0.0


def _spikes(hour: float, weekday: int) -> float:
    """Five minutes of peak at each full hour, little in between."""
    return 1.0 if hour % 1 < 5 / 60 else 0.05


def _steady(hour: float, weekday: int) -> float:
    """Half of the peak, always."""
    return 0.5


PROFILES: Mapping[str, Callable[[float, int], float]] = {
    "office-day": _office_day,
    "web-shop": _web_shop,
    "night-batch": _night_batch,
    "spikes": _spikes,
    "steady": _steady,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A `Load`. `peak` replaces what the triggers' targets give."""

    name: str
    origin: datetime
    end: float
    peak: float | None = None

    def bind(self, needs: Sequence[Need]) -> Mapping[int, Source]:
        """Give each trigger the shape at its own peak."""
        for need in needs:
            if self.peak is None and need.peak is None:
                problem = f"--profile {self.name}: the peak of trigger {need.index} does not follow from its target"
                raise ConfigError(f"{problem}; give --peak{_peak_of(need.unit)}")
        peaks = [(self.peak if self.peak is not None else need.peak) or 0.0 for need in needs]
        zone = load_zone(needs[0].zone) if needs and needs[0].zone else ZoneInfo("UTC")
        rows = Rows(self._rows(peaks, zone))
        return {need.index: Column(rows, at) for at, need in enumerate(needs)}

    def _rows(self, peaks: Sequence[float], zone: ZoneInfo) -> Iterator[Row]:
        shape, noise = PROFILES[self.name], random.Random(self.name)
        for step in range(math.ceil(self.end / _STEP_SECONDS)):
            at = step * _STEP_SECONDS
            local = (self.origin + timedelta(seconds=at)).astimezone(zone)
            share = shape(local.hour + local.minute / 60 + local.second / 3600, local.weekday())
            yield at, tuple([peak * share * (1 + noise.uniform(-_NOISE, _NOISE)) for peak in peaks])


def _peak_of(unit: str) -> str:
    """Show units and an example: the target is a share of a request, and the load is what all pods use together."""
    examples = {"bytes": "--peak 4e9 for 4 GB", "cores": "--peak 2.5 for two and a half cores"}
    return f", the {unit} that all pods use together, such as {examples[unit]}" if unit in examples else ""
