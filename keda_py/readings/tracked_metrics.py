"""External metrics of one object, each with its last reading and the read under way: its flight.

`readings.py` owns a flight and shares it with all callers: a caller that waits never owns it.
"""

import asyncio
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from time import monotonic as real_time

from keda_py.answers.work_context import working
from keda_py.core.metric_names import NamedMetric
from keda_py.core.pacing.polling_grid import Grid
from keda_py.core.reading import MetricReading, Outcome, Reading, Round
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.credential_keys import SharingKey
from keda_py.readings.guard import guard, shorten
from keda_py.readings.scaler_set import ScalerSet
from keda_py.sdk.registry import AnyScaler

SHARED_SECONDS = 2.0
"""A reading younger than this is shared by the poll and the HPA's request."""

AHEAD_SECONDS = 1.0
"""A trigger about which the HPA will ask within this time is read together with one about which it asks now."""

_SAME_QUESTION = 0.1
"""Seconds between two calls that are one question: what cannot be answered from the cache is asked for again."""

_TIMER_SLACK = 0.001
"""Seconds by which a timer may fire early."""


@dataclass(slots=True, kw_only=True, eq=False)
class TrackedMetric:
    """State of one external metric. Times are monotonic seconds of the decision clock."""

    key: ObjectKey
    scalers: ScalerSet
    metric: NamedMetric
    grid: Grid
    last: MetricReading | None = None
    news: MetricReading | None = None
    """The last reading that was reported to the engine."""
    last_at: float = -math.inf
    ends_at: float = math.inf
    """When the last reading says that it changes."""
    polled_at: float = -math.inf
    due_at: float = -math.inf
    flight: asyncio.Future[MetricReading] | None = None
    began: float = 0.0
    """Real time: a latency is not measured by the clock of decisions, and uvloop's time advances in milliseconds."""
    asked: bool = False
    asked_at: float = -math.inf
    asked_every: float = 0.0
    expected_at: float = math.inf
    """Time of the HPA's next question, if the last ones came at equal intervals: it asks at each of its syncs."""
    joined: SharingKey | None = None
    """Key of the batch that it belongs to."""
    suspect: bool = False
    """Whether it failed alone after its batch had failed: it is read alone until it answers."""
    warned: bool = False
    """Whether the log has a warning that it fails."""
    warned_at: float = -math.inf
    retired: bool = False
    """Whether its object is gone or was built anew, so that the outcome of its last read is ignored."""
    last_call: float | None = None
    """Deadline of a single read under way, on the loop's time, after `retire`."""
    patience: asyncio.Timeout | None = None
    """Timeout of its single read, while that is under way."""

    def restate(self, metric: NamedMetric) -> None:
        """Take another target; the last reading is as good as before, and is compared with the new one."""
        is_news, self.metric = self.news is self.last, metric
        if self.last is not None:
            self.last = replace(self.last, metric=metric)
            self.news = self.last if is_news else self.news

    def retire(self, seconds: float) -> None:
        """Ignore all further outcomes; a single read under way is ended after `seconds`."""
        self.retired, self.last_call = True, asyncio.get_running_loop().time() + seconds
        if self.patience is not None and not self.patience.expired():
            self.patience.reschedule(self.last_call)

    @property
    def scaler(self) -> AnyScaler:
        """Return the current scaler; a renewal replaces it."""
        return self.scalers.scaler(self.metric.trigger_index)

    @property
    def cached(self) -> bool:
        """Return whether the trigger sets useCachedMetrics."""
        return self.scalers.spec.triggers[self.metric.trigger_index].use_cached_metrics

    @property
    def batch_key(self) -> SharingKey | None:
        """Return the key of the batch to read it in, None if it is read alone."""
        return self.scalers.joined_key(self.metric.trigger_index)

    @property
    def trigger_type(self) -> str:
        return self.scalers.spec.triggers[self.metric.trigger_index].type

    @property
    def timeout(self) -> float:
        return self.scalers.timeout(self.metric.trigger_index)

    @property
    def failed(self) -> bool:
        """Return whether the last reading was an error."""
        return self.last is not None and isinstance(self.last.outcome, ScalerError)

    def shared(self, now: float) -> MetricReading | None:
        """Return the last reading if it is young enough for another caller, and holds still."""
        return self.last if now - self.last_at < self.shared_seconds and now < self.ends_at else None

    @property
    def shared_seconds(self) -> float:
        """Return the age up to which a reading is shared.

        The limit is also half a polling interval: a reading takes time, so with an interval of 1 s the previous one is
        0.99 s old.
        """
        return min(SHARED_SECONDS, self.grid.interval / 2)

    def note_question(self, now: float) -> None:
        """Record that the HPA asks."""
        if now - self.asked_at > _SAME_QUESTION:
            every, before, self.asked_at = now - self.asked_at, self.asked_every, now
            self.asked_every, self.expected_at = every, now + every if abs(every - before) < AHEAD_SECONDS else math.inf

    def is_expected(self, now: float) -> bool:
        """Return whether the HPA is about to ask, and a reading of now would answer it."""
        at = self.expected_at
        if not -AHEAD_SECONDS < at - now < AHEAD_SECONDS or self.flight or self.retired or self.cached:
            return False
        if self.asked_every < AHEAD_SECONDS:
            at = now + AHEAD_SECONDS  # not about its next question, but about the last one within that time
        return at - now < self.shared_seconds <= at - self.last_at

    def has_found_work_for_hpa(self, now: float) -> bool:
        """Return whether a recent request of the HPA found the trigger active."""
        last = self.last
        found = last is not None and last.asked and isinstance(last.outcome, Reading) and bool(last.outcome.active)
        return found and self.shared(now) is not None

    def keeps_cached_value(self, now: float) -> bool:
        """Return whether the trigger sets useCachedMetrics and its next poll is still to come."""
        return self.cached and self.last_at > -math.inf and now < self.due_at - _TIMER_SLACK

    def is_due(self, now: float) -> bool:
        """Return whether its object would be polled now; False if the engine has stopped polling the object."""
        idle = self.flight is None and not self.retired
        # An object that was not polled for one and a half intervals is paused, held back or another replica's: a batch
        # must not go on reading it for no caller.
        return idle and self.due_at <= now and now - self.polled_at < 1.5 * self.grid.interval

    def under_way(self, now: float) -> asyncio.Future[MetricReading] | None:
        """Return the flight to share, or a completed one with a young reading; None if `begin` has to start one."""
        if self.flight:
            return self.flight
        shared = self.shared(now)
        return None if shared is None else landed(shared)

    def begin(self, *, asked: bool = False) -> asyncio.Future[MetricReading]:
        """Start a flight, for a poll or, with `asked`, for the HPA; later callers share its future."""
        self.flight = asyncio.get_running_loop().create_future()
        self.began, self.asked = real_time(), asked
        return self.flight

    def complete(self, outcome: Outcome, at: datetime, now: float) -> MetricReading:
        """End the flight with its outcome, at `at` on the wall clock and `now` on the monotonic one."""
        reading = MetricReading(
            metric=self.metric,
            outcome=self._with_activity(outcome),
            taken_at=at,
            seconds=real_time() - self.began,
            asked=self.asked,
        )
        # Stored before the future is resolved: its callbacks look at the meter.
        self.last, self.last_at, self.due_at = reading, now, self.grid.next_after(now)
        changes_at = reading.outcome.changes_at if isinstance(reading.outcome, Reading) else None
        self.ends_at = math.inf if changes_at is None else now + (changes_at - at).total_seconds()
        flight, self.flight = self.flight, None
        if flight is not None and not flight.done():
            flight.set_result(reading)
        return reading

    def _with_activity(self, outcome: Outcome) -> Outcome:
        if isinstance(outcome, ScalerError):
            # The error is kept until the next reading, and its frames would keep answers and connections alive.
            outcome.__traceback__ = outcome.__context__ = outcome.__cause__ = None
            return outcome
        if outcome.active is not None:
            return outcome
        return replace(outcome, active=outcome.value > self.scalers.activation(self.metric.trigger_index))


def known_to_poll(meters: Sequence[TrackedMetric], now: float) -> list[MetricReading | None]:
    """Return the readings that a poll need not repeat: young ones, and cached ones while the HPA asks about others."""
    asked_about = any(meter.has_found_work_for_hpa(now) for meter in meters)
    return [
        meter.last if asked_about and meter.keeps_cached_value(now) else None if meter.flight else meter.shared(now)
        for meter in meters
    ]


def begin_poll(
    meters: Sequence[TrackedMetric], now: float
) -> tuple[list[asyncio.Future[MetricReading]], list[TrackedMetric]]:
    """A poll begins: what it waits for, and the metrics whose sources have to be asked for that."""
    flights, reads = list[asyncio.Future[MetricReading]](), list[TrackedMetric]()
    for meter, last in zip(meters, known_to_poll(meters, now), strict=True):
        # Also where nothing has to be read: `is_due` takes it as the sign that the engine still polls this object.
        meter.polled_at = now
        if last is not None:
            flights.append(landed(last))
        elif meter.flight:
            flights.append(meter.flight)
        else:
            flights.append(meter.begin())
            reads.append(meter)
    return flights, reads


def round_of(meters: Sequence[TrackedMetric], now: float) -> Round | None:
    """Return the round that a poll has begun to read, if all readings have arrived and one is still young."""
    if any(meter.flight or meter.last_at == -math.inf for meter in meters):
        return None
    if meters and not any(meter.shared(now) for meter in meters):
        return None
    return Round(readings=tuple([meter.last for meter in meters if meter.last]))


async def gather(flights: Sequence[asyncio.Future[MetricReading]]) -> tuple[MetricReading, ...]:
    """Wait for flights without owning them: cancelling the caller does not cancel the reads."""
    # `asyncio.wait` does not cancel what it waits for, as `gather` of asyncio would: other callers share the flights.
    if waiting := [flight for flight in flights if not flight.done()]:
        await asyncio.wait(waiting)
    return tuple(flight.result() for flight in flights)


def when_done(
    flights: Iterable[asyncio.Future[MetricReading]], changed: asyncio.Future[None] | None
) -> asyncio.Future[None] | None:
    """Return a future that is done when all flights are, or `changed` is; None if all are done already.

    Every poll calls this. It uses callbacks and one future, because `asyncio.wait` would make a task and a set of
    waiters for each of thousands of objects.
    """
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
        changed.add_done_callback(partial(_finish, over))  # not `note`, which would make a reference cycle
    return over


def _finish(over: asyncio.Future[None], _: object = None) -> None:
    if not over.done():
        over.set_result(None)


def landed(reading: MetricReading) -> asyncio.Future[MetricReading]:
    """Make a completed flight."""
    future = asyncio.get_running_loop().create_future()
    future.set_result(reading)
    return future


async def measure(meter: TrackedMetric, timeout: float) -> Outcome:
    """Read one scaler within `timeout` seconds; again if it fails and its parameters have changed. Never raises."""
    scaler = meter.scaler
    outcome = await _ask(meter, scaler, timeout)
    return await measure_renewed(meter, scaler, outcome) if isinstance(outcome, ScalerError) else outcome


async def measure_renewed(meter: TrackedMetric, failed: AnyScaler, error: ScalerError) -> Outcome:
    """Read with a renewed scaler after a failure; return `error` if its parameters have not changed. Never raises."""
    if not meter.retired and await meter.scalers.renew(meter.metric.trigger_index, failed):
        return await _ask(meter, meter.scaler, meter.timeout)
    return error


def check_reading(answer: object, trigger_type: str) -> Outcome:
    """Check a plug-in's answer, which may be of any type: only a Reading with a number is accepted."""
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
    with working(meter.key.namespace, metric=meter):
        return await scaler.read_metric(meter.metric.spec)
