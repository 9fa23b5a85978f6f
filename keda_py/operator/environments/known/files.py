"""iCalendar files, each read once a day: many calendars name the same one, and reading takes up to a second of CPU.

In: the bytes of a file. Out: its holidays around today, or a ConfigError. Next: `calendars.py`. A worker process reads
them, with limits on CPU time and memory: nothing that a tenant writes into a file holds up the loop.
"""

from datetime import date, timedelta
from hashlib import sha256

from keda_py.answers.bounds import AnswerBounds
from keda_py.calendars.ics import HolidaysAnswer, answer_with_holidays
from keda_py.clock import Clock
from keda_py.core.cron.zones import load_zone
from keda_py.core.environment.calendar.reading import Holidays
from keda_py.errors import AnswerTooCostly, ConfigError, ScalerError, Unavailable
from keda_py.operator.environments.known.manifest_cache import given, kept

BEFORE, AHEAD = timedelta(days=7), timedelta(days=400)
"""The window of days around today for which holidays are read from a file."""
# Files of all namespaces that are kept; the least recently used one is dropped. A kept file has at most 408 names (one
# a day).
MOST_KEPT = 32
# Time-out. A worker spends two seconds of CPU on a file; the rest is waiting for files of other tenants.
SECONDS = 60.0

_Key = tuple[bytes, date, str, str]


class Files:
    """Reads each file once a day, by its content; errors are kept for each field, since their texts name the field."""

    def __init__(self, clock: Clock, answers: AnswerBounds) -> None:
        self._clock, self._answers = clock, answers
        self._read: dict[_Key, Holidays | ConfigError] = {}

    async def holidays(self, namespace: str, file: bytes, today: date, time_zone: str, field: str) -> Holidays:
        """Read the holidays of a file; `namespace` queues for the worker. Raises ConfigError that names `field`, and
        KubeError if the file cannot be read now.
        """
        contents = (sha256(file).digest(), today, time_zone)
        # All calendars share the holidays of a file, while an error belongs to one field. A used entry moves to the end
        # of the dict, whose first entry is therefore the least recently used one.
        for key in ((*contents, ""), (*contents, field)):
            if (known := self._read.pop(key, None)) is not None:
                self._read[key] = known
                return given(known)
        try:
            found = await self._read_anew(namespace, file, today, time_zone, field)
        except ConfigError as error:
            self._keep((*contents, field), kept(error))
            raise
        self._keep((*contents, ""), found)
        return found

    def _keep(self, key: _Key, found: Holidays | ConfigError) -> None:
        self._read[key] = found
        while len(self._read) > MOST_KEPT:
            del self._read[next(iter(self._read))]

    async def _read_anew(self, namespace: str, file: bytes, today: date, time_zone: str, field: str) -> Holidays:
        load_zone(time_zone, field="spec.timeZone")
        window = ((today - BEFORE).isoformat(), (today + AHEAD).isoformat())
        arguments = (*window, time_zone, field)
        try:
            with self._clock.busy():
                answer = await self._answers.parse(namespace, answer_with_holidays, file, arguments, SECONDS)
        except AnswerTooCostly as error:
            text = f"{field}: the file is too costly to read ({error}); leave out events that recur"
            raise ConfigError(text, field=field) from None
        except ScalerError as error:
            raise Unavailable(f"{field}: cannot be read now: {error}") from None
        return _holidays_of(answer)


def _holidays_of(answer: HolidaysAnswer) -> Holidays:
    if "refused" in answer:
        message, field = answer["refused"]
        raise ConfigError(message, field=field)
    return {date.fromisoformat(day): name for day, name in answer["days"].items()}
