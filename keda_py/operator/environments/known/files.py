"""iCalendar files that were read: many calendars name the same one, and each reading takes up to a second of CPU.

In: the bytes of a file. Out: its holidays around today, or a ConfigError. Next: `calendars.py`.
"""

from datetime import date, timedelta
from hashlib import sha256

from keda_py.calendars.ics import read_ics
from keda_py.clock import Clock
from keda_py.core.cron.zones import load_zone
from keda_py.core.environment.calendar.reading import Holidays
from keda_py.errors import ConfigError
from keda_py.operator.environments.known.parsed import given, kept

BEFORE, AHEAD = timedelta(days=7), timedelta(days=400)
"""Days that are read, around today."""
MOST_KEPT = 32
"""Files of all namespaces; the one that was not asked for longest is forgotten. One has a name for 408 days at most."""

_Key = tuple[bytes, date, str, str]


class Files:
    """Reads each once a day, by what is in it; one that cannot be read once for each place that is to be told."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._read: dict[_Key, Holidays | ConfigError] = {}

    async def holidays(self, file: bytes, today: date, time_zone: str, field: str) -> Holidays:
        """Its days. Raises ConfigError that names `field`."""
        contents = (sha256(file).digest(), today, time_zone)
        for key in ((*contents, ""), (*contents, field)):
            if (known := self._read.pop(key, None)) is not None:
                self._read[key] = known
                return given(known)
        try:
            found = await self._read_anew(file, today, time_zone, field)
        except ConfigError as error:
            self._keep((*contents, field), kept(error))
            raise
        self._keep((*contents, ""), found)
        return found

    def _keep(self, key: _Key, found: Holidays | ConfigError) -> None:
        self._read[key] = found
        while len(self._read) > MOST_KEPT:
            del self._read[next(iter(self._read))]

    async def _read_anew(self, file: bytes, today: date, time_zone: str, field: str) -> Holidays:
        """Step by step; between two the loop has as long for all else as the step took."""
        found: Holidays = {}
        zone = load_zone(time_zone, field="spec.timeZone")
        began = self._clock.monotonic()
        for step in read_ics(file, today - BEFORE, today + AHEAD, zone, field=field):
            found = step
            await self._clock.sleep(self._clock.monotonic() - began)
            began = self._clock.monotonic()
        return found
