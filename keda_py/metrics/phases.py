"""When a key is polled: triggers of one source share a grid of due times, grids of different sources are spread.

Pure arithmetic on monotonic seconds. A grid has one point per polling interval; the next poll is the latest point no
later than one interval after the last reading. So 500 objects on one server settle on one instant and become one
question, and nobody waits longer than the polling interval (once, when a grid is joined within two seconds of a reading
that is still shared, those two seconds longer).
"""

import math
import zlib
from collections.abc import Hashable
from dataclasses import dataclass

# Below this a grid point counts as passed: float noise, not time.
_NOISE = 1e-6
_SPREAD_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Due times of one key: `offset` + k * `interval`, in seconds."""

    interval: float
    offset: float

    def next_after(self, at: float) -> float:
        """The latest point in (at, at + interval]."""
        steps = math.floor((at + self.interval - self.offset + _NOISE) / self.interval)
        point = self.offset + steps * self.interval
        return point if point > at + _NOISE else point + self.interval


def grid_of(key: Hashable, interval: float) -> Grid:
    """The grid of a key, the same in every process; its grids of 15 s and of 30 s have points in common."""
    spread = zlib.crc32(repr(key).encode()) / 2**32
    return Grid(interval=interval, offset=spread * _SPREAD_SECONDS % interval)
