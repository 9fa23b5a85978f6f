"""Poll times of a key: triggers of one source share a grid of due times, grids of different sources are spread.

Pure arithmetic on monotonic seconds. A grid has one point per polling interval; the next poll is the latest point no
later than one interval after the last reading. So 500 objects on one server settle on one instant and become one
request, and no object waits longer than the polling interval (once, when a grid is joined within two seconds of a
reading that is still shared, those two seconds longer). Ten thousand on one server would keep the CPU for a second each
time: every thousand has points of its own, half a second after those of the thousand before.

The first object of a source begins its grid: it is polled after one interval, not before. Only in a crowd, as after a
start, do sources take an offset that is derived from their name: else all would be read at the same instant for ever.
"""

import math
import zlib
from collections.abc import Hashable
from dataclasses import dataclass, field

# Sources that begin closer together are a crowd: at most 50 of them a second begin a grid at the moment when they join.
CROWD_SECONDS = 0.02
GROUP, APART_SECONDS = 1000, 0.5
# Below this a grid point counts as passed: float noise, not time.
_NOISE = 1e-6
_SPREAD_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Due times of one key: `offset` + k * `interval`, in seconds. `group` numbers the thousands of its source."""

    interval: float
    offset: float
    group: int = 0

    def next_after(self, at: float) -> float:
        """Return the latest point in (at, at + interval]."""
        steps = math.floor((at + self.interval - self.offset + _NOISE) / self.interval)
        point = self.offset + steps * self.interval
        return point if point > at + _NOISE else point + self.interval


@dataclass(slots=True, kw_only=True)
class _Phase:
    """The common origin of the grids of one source, and the number of objects in each group."""

    origin: float
    groups: list[int] = field(default_factory=list)

    def take(self) -> int:
        """Add an object to the first group with room, and return the group."""
        group = next((at for at, users in enumerate(self.groups) if users < GROUP), len(self.groups))
        if group == len(self.groups):
            self.groups.append(0)
        self.groups[group] += 1
        return group


class Phases:
    """The grids of all sources; a source is kept while an object uses it."""

    def __init__(self) -> None:
        self._phases: dict[Hashable, _Phase] = {}
        self._newest = -math.inf

    def join(self, source: Hashable, interval: float, now: float) -> Grid:
        """Return the grid of an object that begins to use a source at `now`; grids of 15 s and 30 s share points."""
        phase = self._phases.get(source)
        if phase is None:
            crowded = now - self._newest < CROWD_SECONDS
            phase = self._phases[source] = _Phase(origin=spread(source) if crowded else now)
            self._newest = now
        group = phase.take()
        return Grid(interval=interval, offset=(phase.origin + group * APART_SECONDS) % interval, group=group)

    def leave(self, source: Hashable, group: int = 0) -> None:
        """Undo a `join` that gave a grid of that group."""
        groups = self._phases[source].groups
        groups[group] -= 1
        if not any(groups):
            del self._phases[source]


def spread(source: Hashable) -> float:
    """Return a source's offset within an hour, the same in every process."""
    return zlib.crc32(repr(source).encode()) / 2**32 * _SPREAD_SECONDS
