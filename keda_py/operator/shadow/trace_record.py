"""A record of what triggers said while a shadow ran: a trace that `keda-py simulate FILE --metrics` replays.

A row is kept where a value has changed, and every half an hour: a trace has no gaps then. Bounded: so many objects, the
first that were seen, so many triggers and rows of each, of which the oldest go.
"""

import csv
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from math import isnan, nan

from keda_py.core.reading import Outcome, Round
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time
from keda_py.errors import ScalerError

MOST_OBJECTS, MOST_TRIGGERS, MOST_ROWS = 500, 20, 2880
AT_LEAST_EVERY = 1800.0


@dataclass(slots=True)
class _Rows:
    """Rows, one behind the other: seconds since 1970, then the values; NaN: the source did not answer."""

    names: tuple[str, ...]
    cells: "array[float]"

    def __iter__(self) -> "Iterator[array[float]]":
        width = 1 + len(self.names)
        return (self.cells[start : start + width] for start in range(0, len(self.cells), width))

    def add(self, row: "array[float]") -> None:
        """Keep a row that says something else than the last one, or comes long after it."""
        last = self.cells[-len(row) :]
        if not last or row[0] - last[0] >= AT_LEAST_EVERY or _values(row) != _values(last):
            self.cells.extend(row)
            del self.cells[: -MOST_ROWS * len(row)]


class TraceRecord:
    """The values of all objects, as far as there is room."""

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, _Rows] = {}

    def note(self, key: ObjectKey, seen: Round, at: datetime) -> None:
        """Note one round of readings; other triggers than before begin a new trace."""
        read = [reading for reading in seen.readings if not _knows_the_clock(reading.outcome)]
        names = tuple(one.metric.name for one in read)
        known = self._objects.get(key)
        if known is None and len(self._objects) >= MOST_OBJECTS:
            return
        if not names or len(names) > MOST_TRIGGERS:
            return
        if known is None or known.names != names:
            known = self._objects[key] = _Rows(names, array("d"))
        outcomes = (one.outcome for one in read)
        known.add(
            array("d", [at.timestamp(), *(nan if isinstance(one, ScalerError) else one.value for one in outcomes)])
        )

    def forget(self, key: ObjectKey) -> None:
        """Drop the trace of an object that is gone."""
        self._objects.pop(key, None)

    def trace(self, key: ObjectKey) -> str | None:
        """Write the trace as CSV; None without one. The last of several rows of one second is kept."""
        known = self._objects.get(key)
        if known is None:
            return None
        by_second = {int(row[0]): row for row in known}
        text = StringIO()
        table = csv.writer(text, lineterminator="\n")  # names may have commas
        table.writerow(("time", *known.names))
        for second, row in by_second.items():
            values = ("error" if isnan(value) else f"{value:.15g}" for value in row[1:])
            table.writerow((write_time(datetime.fromtimestamp(second, UTC)), *values))
        return text.getvalue()


def _knows_the_clock(said: Outcome) -> bool:
    """Return whether a simulation asks the trigger itself, as it does cron: a trace has no column for it."""
    return not isinstance(said, ScalerError) and said.changes_at is not None


def _values(row: "array[float]") -> list[float | None]:
    return [None if isnan(value) else value for value in row[1:]]
