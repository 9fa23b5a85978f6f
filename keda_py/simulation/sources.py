"""Sources of simulations: recorded values and failures, or what a scaler says by itself.

Seconds count from the beginning of the simulation. A source is asked with moments that never go back.
"""

import math
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any, TypeVar

from keda_py.clock import Timer
from keda_py.core.reading import Outcome, Reading
from keda_py.errors import ConfigError, ScalerError
from keda_py.replay.engine.source import Sample
from keda_py.sdk.registry import AnyScaler

_MOST_PASSED = 1000
T = TypeVar("T")
Row = tuple[float, Sequence[Sample]]
"""Seconds, and a sample for each column; it holds until the next row."""


class Rows:
    """The rows of a trace, read as time passes; the first holds from the beginning.

    Kept are the row that holds, the next, and the first of those that passed unseen between two readings.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: Iterator[Row] = iter(rows)
        first = next(self._rows, None)
        if first is None:
            raise ConfigError("the trace has no rows; give at least one")
        self.since, self.row = first
        self.passed: list[Row] = []
        self._next_at, self._next = math.inf, first[1]
        self._advance()

    def at(self, at: float) -> Sequence[Sample]:
        """Return the row that holds then."""
        if self._next_at > at:
            return self.row
        self.passed = []
        while self._next_at <= at:
            if len(self.passed) < _MOST_PASSED:
                self.passed.append((self._next_at, self._next))
            self.since, self.row = self._next_at, self._next
            self._advance()
        return self.row

    def _advance(self) -> None:
        following = next(self._rows, None)
        self._next_at, self._next = following if following is not None else (math.inf, self.row)


class Column:
    """The source that is one column of a trace."""

    def __init__(self, rows: Rows, index: int) -> None:
        self._rows, self._index = rows, index

    def read(self, at: float) -> Sample:
        """Return the sample of the row that holds."""
        return self._rows.at(at)[self._index]

    def rose(self, above: float) -> float:
        """Return the time of the first row that passed since and is above."""
        for at, row in self._rows.passed:
            sample = row[self._index]
            if isinstance(sample, float) and sample > above:
                return at
        return self._rows.since


class SimulatedClock:
    """The clock that scalers are lent: a moment of the simulation, set before each reading. Nothing can wait on it."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        """The simulated wall clock."""
        return self.at

    def monotonic(self) -> float:
        """Seconds of the simulated wall clock."""
        return self.at.timestamp()

    def call_later(self, seconds: float, callback: Any) -> Timer:
        """Raise ConfigError: a scaler that knows its value by the time alone needs no timer."""
        raise ConfigError("a simulated clock has no timers")

    async def sleep(self, seconds: float) -> None:
        """Raise ConfigError, as for timers."""
        raise ConfigError("a simulated clock has no timers")

    def busy(self) -> AbstractContextManager[None]:
        return nullcontext()


class OwnReading:
    """A scaler that needs nothing but the clock, such as a schedule: its reading holds until the change it names."""

    def __init__(self, scaler: AnyScaler, clock: SimulatedClock, origin: datetime) -> None:
        self._scaler, self._clock, self._origin = scaler, clock, origin
        self._until, self._since, self._last = -math.inf, -math.inf, Reading(value=0.0)

    def read(self, at: float) -> Outcome:
        """Ask the scaler once, until the change that its reading names."""
        if at < self._until:
            return self._last
        self._clock.at = self._origin + timedelta(seconds=at)
        try:
            self._last = finish(self._scaler.read())
        except ScalerError as error:
            return error
        self._since, changes = at, self._last.changes_at
        self._until = (changes - self._origin).total_seconds() if changes is not None else at
        return self._last

    def rose(self, above: float) -> float:
        """Return when the reading was made: a schedule is read at its boundary."""
        return self._since


def reads_by_itself(scaler: AnyScaler, clock: SimulatedClock) -> bool:
    """Ask the scaler once: does it know by the clock alone what it reads, and when that changes?"""
    try:
        reading = finish(scaler.read())
    except ScalerError:
        return False
    except Exception:  # noqa: BLE001 - without a connection a scaler may fail in any way; then a trace has to speak
        return False
    return isinstance(reading, Reading) and reading.changes_at is not None


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that has nothing to wait for, and return its result. Raises ConfigError for one that waits."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise ConfigError("it has to be asked over the network")
