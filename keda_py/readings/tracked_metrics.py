"""One external metric of one ScaledObject, with its last reading and the read on its way: its flight.

A flight belongs to `readings.py`, which shares it with all who ask: to wait for one never owns it.
"""

import asyncio
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from keda_py.clock import SystemClock
from keda_py.core.metric_names import NamedMetric
from keda_py.core.pacing.polling_grid import Grid
from keda_py.core.reading import MetricReading, Outcome, Reading, Round
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.credential_keys import SharingKey
from keda_py.readings.guard import guard, shorten
from keda_py.readings.http_requests import asking_for
from keda_py.readings.scaler_set import ScalerSet
from keda_py.sdk.registry import AnyScaler

_REAL_TIME = SystemClock()
"""How long a source takes is real time, whatever the clock of decisions; the loop's own has steps of a millisecond."""

SHARED_SECONDS = 2.0
"""A reading younger than this is shared by the poll and the HPA's question."""

_HAIR = 0.001
"""A timer may fire so many seconds early."""


@dataclass(slots=True, kw_only=True, eq=False)
class TrackedMetric:
    """The state of one external metric. Times are monotonic seconds of the decision clock."""

    key: ObjectKey
    scalers: ScalerSet
    metric: NamedMetric
    grid: Grid
    last: MetricReading | None = None
    news: MetricReading | None = None
    """The last reading that the engine was told of."""
    last_at: float = -math.inf
    polled_at: float = -math.inf
    due_at: float = -math.inf
    flight: asyncio.Future[MetricReading] | None = None
    began: float = 0.0
    asked: bool = False
    joined: SharingKey | None = None
    """The source whose member it is."""
    suspect: bool = False
    """It failed by itself when the question to all of its source had failed: it is asked alone until it answers."""
    told: bool = False
    """The log says that it fails."""
    told_at: float = -math.inf
    retired: bool = False
    """Its ScaledObject is gone or was built anew: the outcome of its last read counts for nothing."""
    last_call: float | None = None
    """When its read is ended, on the loop's time, if it is one of its own."""
    patience: asyncio.Timeout | None = None
    """Of its read, while that is under way."""

    def retire(self, seconds: float) -> None:
        """No read counts any more; one of its own is ended after so many seconds."""
        self.retired, self.last_call = True, asyncio.get_running_loop().time() + seconds
        if self.patience is not None and not self.patience.expired():
            self.patience.reschedule(self.last_call)

    @property
    def scaler(self) -> AnyScaler:
        """The scaler as it is now; a renewal replaces it."""
        return self.scalers.scaler(self.metric.trigger_index)

    @property
    def cached(self) -> bool:
        """Does the trigger set useCachedMetrics?"""
        return self.scalers.spec.triggers[self.metric.trigger_index].use_cached_metrics

    @property
    def batch_key(self) -> SharingKey | None:
        """What it is read together with others by, None where it is not."""
        return self.scalers.joined_key(self.metric.trigger_index)

    @property
    def trigger_type(self) -> str:
        """For messages."""
        return self.scalers.spec.triggers[self.metric.trigger_index].type

    @property
    def timeout(self) -> float:
        """Seconds for one reading."""
        return self.scalers.timeout(self.metric.trigger_index)

    @property
    def failed(self) -> bool:
        """Was the last reading an error?"""
        return self.last is not None and isinstance(self.last.outcome, ScalerError)

    def shared(self, now: float) -> MetricReading | None:
        """The last reading, if it is young enough for the next asker.

        Half a polling interval at most: a reading takes time, so with an interval of 1 s the one before is 0.99 s old.
        """
        return self.last if now - self.last_at < min(SHARED_SECONDS, self.grid.interval / 2) else None

    def has_found_work_for_hpa(self, now: float) -> bool:
        """Did the HPA's question just now find the trigger active?"""
        last = self.last
        found = last is not None and last.asked and isinstance(last.outcome, Reading) and bool(last.outcome.active)
        return found and self.shared(now) is not None

    def rests(self, now: float) -> bool:
        """Does the trigger set useCachedMetrics, with its next poll still to come?"""
        return self.cached and self.last_at > -math.inf and now < self.due_at - _HAIR

    def is_due(self, now: float) -> bool:
        """Would its object be polled now anyway? Not for an object that the engine has stopped polling."""
        idle = self.flight is None and not self.retired
        return idle and self.due_at <= now and now - self.polled_at < 1.5 * self.grid.interval

    def under_way(self, now: float) -> asyncio.Future[MetricReading] | None:
        """The flight whose outcome the next asker shares, landed where its reading is young; None: `begin` one."""
        if self.flight:
            return self.flight
        shared = self.shared(now)
        return None if shared is None else landed(shared)

    def begin(self, *, asked: bool = False) -> asyncio.Future[MetricReading]:
        """A read begins, for a poll or because it is `asked` for; who asks until it ends shares its future."""
        self.flight = asyncio.get_running_loop().create_future()
        self.began, self.asked = _REAL_TIME.monotonic(), asked
        return self.flight

    def complete(self, outcome: Outcome, at: datetime, now: float) -> MetricReading:
        """The read has ended, at `at` on the wall clock and `now` on the monotonic one."""
        reading = MetricReading(
            metric=self.metric,
            outcome=self._with_activity(outcome),
            taken_at=at,
            seconds=_REAL_TIME.monotonic() - self.began,
            asked=self.asked,
        )
        self.last, self.last_at, self.due_at = reading, now, self.grid.next_after(now)
        flight, self.flight = self.flight, None
        if flight is not None and not flight.done():
            flight.set_result(reading)
        return reading

    def _with_activity(self, outcome: Outcome) -> Outcome:
        if isinstance(outcome, ScalerError):
            # It is kept until the next reading; its frames would keep answers and connections alive with it.
            outcome.__traceback__ = outcome.__context__ = outcome.__cause__ = None
            return outcome
        if outcome.active is not None:
            return outcome
        return replace(outcome, active=outcome.value > self.scalers.activation(self.metric.trigger_index))


def known_to_poll(meters: Sequence[TrackedMetric], now: float) -> list[MetricReading | None]:
    """What a poll need not read: young readings, and resting triggers while the HPA has asked about work elsewhere."""
    asked_about = any(meter.has_found_work_for_hpa(now) for meter in meters)
    return [
        meter.last if asked_about and meter.rests(now) else None if meter.flight else meter.shared(now)
        for meter in meters
    ]


def round_of(meters: Sequence[TrackedMetric], now: float) -> Round | None:
    """What a poll has begun to read, once all has come and while the last of it is young."""
    if any(meter.flight or meter.last_at == -math.inf for meter in meters):
        return None
    if meters and not any(meter.shared(now) for meter in meters):
        return None
    return Round(readings=tuple([meter.last for meter in meters if meter.last]))


async def gather(flights: Sequence[asyncio.Future[MetricReading]]) -> tuple[MetricReading, ...]:
    """Wait without owning: cancelling the waiter leaves the reads alone."""
    if waiting := [flight for flight in flights if not flight.done()]:
        await asyncio.wait(waiting)
    return tuple(flight.result() for flight in flights)


def when_done(
    flights: Iterable[asyncio.Future[MetricReading]], changed: asyncio.Future[None] | None
) -> asyncio.Future[None] | None:
    """Done when the flights are, which it does not own, or `changed` is; None where they are. Every poll comes here."""
    left = {flight for flight in flights if not flight.done()}
    if not left:
        return None
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def note(flight: asyncio.Future[MetricReading]) -> None:
        left.discard(flight)
        if not left:
            _finish(over)

    for flight in left:
        flight.add_done_callback(note)
    if changed is not None:
        changed.add_done_callback(partial(_finish, over))  # not `note`: they would hold each other
    return over


def _finish(over: asyncio.Future[None], _: object = None) -> None:
    if not over.done():
        over.set_result(None)


def landed(reading: MetricReading) -> asyncio.Future[MetricReading]:
    """A flight that has landed."""
    future = asyncio.get_running_loop().create_future()
    future.set_result(reading)
    return future


async def measure(meter: TrackedMetric, timeout: float) -> Outcome:
    """Ask one scaler within seconds; once more if its parameters have changed since it was built. Never raises."""
    scaler = meter.scaler
    outcome = await _ask(meter, scaler, timeout)
    return await measure_renewed(meter, scaler, outcome) if isinstance(outcome, ScalerError) else outcome


async def measure_renewed(meter: TrackedMetric, failed: AnyScaler, error: ScalerError) -> Outcome:
    """What a scaler with other parameters says where one has failed; `error` where these are the same. Never raises."""
    if not meter.retired and await meter.scalers.renew(meter.metric.trigger_index, failed):
        return await _ask(meter, meter.scaler, meter.timeout)
    return error


def check_reading(answer: object, trigger_type: str) -> Outcome:
    """A plug-in may answer anything; only a Reading with a number is one."""
    if isinstance(answer, ScalerError):
        shorten(answer)
        return answer
    if isinstance(answer, Reading) and isinstance(answer.value, int | float):
        return answer
    return ScalerError(f"scaler {trigger_type} answered {type(answer).__name__} where a Reading with a number is due")


async def _ask(meter: TrackedMetric, scaler: AnyScaler, timeout: float) -> Outcome:
    try:
        answer = await guard(_read(meter, scaler), timeout, what=f"scaler {meter.trigger_type}")
    except (ScalerError, ConfigError) as error:
        return error if isinstance(error, ScalerError) else ScalerError(str(error))
    return check_reading(answer, meter.trigger_type)


async def _read(meter: TrackedMetric, scaler: AnyScaler) -> object:
    with asking_for(meter):
        return await scaler.read_metric(meter.metric.spec)
