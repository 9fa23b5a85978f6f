"""Readings: asks scalers on behalf of all callers, so that each source is asked once for all of them.

The poll (`operator/scaled_objects/look.py`) and the HPA's request (`external_metrics/query.py`) come here. One read per
trigger is under way at a time and shared by concurrent callers; it belongs to the engine, so that a cancelled caller
does not cancel it for the others. A reading younger than two seconds is shared as well. A failed read is an error for
all callers, and an older good value is never used instead. Every completed reading is counted for the fallback and
reported to the engine.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from keda_py.core.fallback import FallbackState, has_valid_fallback
from keda_py.core.metric_names import MetricSet
from keda_py.core.metric_specs import MetricSpec
from keda_py.core.reading import MetricReading, Outcome, Round
from keda_py.core.spec import TriggersSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.credential_keys import SharingKey
from keda_py.readings.batching import Engine, Sources
from keda_py.readings.built_objects import BuiltObject, BuiltObjects, counted_metrics
from keda_py.readings.failures import Failures
from keda_py.readings.formula_turns import FormulaTurns
from keda_py.readings.observer import Observer, Unobserved
from keda_py.readings.pushes import Pushes
from keda_py.readings.scaler_set import ScalerSet, ScalerSource
from keda_py.readings.tracked_metrics import TrackedMetric, begin_poll, gather, landed, round_of, when_done
from keda_py.readings.zero_polls import ZeroPolls

log = logging.getLogger(__name__)

UNOBSERVED = Unobserved()
QUIET_SECONDS = 60.0
"""Seconds between two warnings about one trigger."""


class Readings:
    """Readings of all objects. `on_reading` is called on the loop after a completed reading.

    It is not called if the HPA's request finds no work: `pollingInterval` decides how soon a workload may stop, so that
    is left to the next poll. Reads run in `tasks`; call `aclose` before that group ends.
    """

    def __init__(
        self,
        *,
        scalers: ScalerSource,
        tasks: asyncio.TaskGroup,
        on_reading: Callable[[ObjectKey], None],
        observer: Observer = UNOBSERVED,
        failures: Failures | None = None,
    ) -> None:
        self._scalers, self._tasks, self._on_reading, self._observer = scalers, tasks, on_reading, observer
        self._clock = scalers.shared_context.clock
        self._failures = failures or Failures()
        engine = Engine(
            clock=self._clock,
            journal=scalers.journal,
            spawn=self._spawn,
            complete=self._complete,
            count_batch=observer.record_batch,
        )
        self._sources = Sources(engine)
        self._objects = BuiltObjects(
            scalers=scalers,
            sources=self._sources,
            observer=observer,
            spawn=self._spawn,
            note_use=self._note_use,
        )
        self._pushes = Pushes(self._spawn, self._read_pushed, self._restate)
        self._zero_polls = ZeroPolls(engine, scalers.zero_polling_interval, self._read_pushed)
        self.formulas = FormulaTurns()
        self._running: set[asyncio.Task[None]] = set()
        self._begin_read = self._sources.request
        # One for all objects: each bound method is an object of its own.
        self._on_renewed = self._follow_renewed

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Follow push sources and poll idle objects often while inside; for the replica that polls."""
        with self._pushes.listening(), self._zero_polls.asking():
            yield

    async def build(self, spec: TriggersSpec) -> MetricSet:
        """Return the metrics of a spec, as `BuiltObjects.build` does. Raises ConfigError or ScalerError."""
        return await self._objects.build(spec)

    async def renew(self, key: ObjectKey, triggers: Iterable[int]) -> bool:
        """Renew scalers as `BuiltObjects.renew` does; `built` is None afterwards if a `build` is due."""
        return await self._objects.renew(key, triggers)

    def built(self, key: ObjectKey) -> ScalerSet | None:
        """Return the scalers of an object, None before `build` and after `forget`."""
        built = self._objects.get(key)
        return built.scalers if built else None

    def keys(self) -> tuple[ObjectKey, ...]:
        """Return the objects whose scalers are built."""
        return tuple(self._objects)

    def read_ahead(
        self, key: ObjectKey, changed: asyncio.Future[None] | None = None, *, now: float | None = None
    ) -> asyncio.Future[None] | None:
        """Start the reads that `poll` would wait for; the future is done when they are, or `changed` is. None:
        nothing to wait for. `now` saves asking the clock.
        """
        built = self._objects.get(key)
        if built is None:
            return None
        flights, reads = begin_poll(built.meters, self._clock.monotonic() if now is None else now)
        over = when_done(flights, changed)
        for meter in reads:
            self._begin_read(meter)
        return over

    def known_round(self, key: ObjectKey, now: float | None = None) -> Round | None:
        """Return the round that was read ahead while it is young; None if something has to be read or awaited."""
        built = self._objects.get(key)
        now = self._clock.monotonic() if now is None else now
        return round_of(built.meters, now) if built is not None else None

    async def poll(
        self, key: ObjectKey, changed: asyncio.Future[None] | None = None, *, ahead: bool = False
    ) -> Round | None:
        """Read every external metric; a trigger's failure is its outcome. Raises ScalerError if the object is not
        built.

        Returns None if `changed` is done first; the reads go on for the next caller. With `ahead`, this is the poll
        that `read_ahead` has started.

        While the only news is work that the HPA's request found, useCachedMetrics keeps its trigger's last reading:
        otherwise each request for another trigger would cause a read of this one's source.
        """
        meters, now = self._get(key).meters, self._clock.monotonic()
        if ahead and (known := self.known_round(key, now)) is not None:
            return known
        flights, reads = begin_poll(meters, now)
        for meter in reads:
            self._begin_read(meter)
        over = when_done(flights, changed)
        if over is not None:
            await over
            if not all(flight.done() for flight in flights):
                return None
        return Round(readings=tuple([flight.result() for flight in flights]))

    def has_news(self, key: ObjectKey, known: Round) -> bool:
        """Return whether a reading is newer than the round and was reported, for example a push during the look."""
        built = self._objects.get(key)
        meters = built.meters if built is not None else ()
        return any(
            meter.news is meter.last is not reading for meter, reading in zip(meters, known.readings, strict=False)
        )

    async def ask(self, key: ObjectKey, metric_name: str) -> tuple[MetricReading, ...]:
        """Return the readings for a request of the HPA, none for an unknown metric; under scalingModifiers those of
        all metrics.

        With useCachedMetrics the last poll's outcome is returned, an error too; a read happens only before the first
        poll, and on a replica that does not poll. Raises ScalerError if the object is not built.
        """
        return await gather([self._answer(meter) for meter in self._get(key).meters_of(metric_name)])

    def cached_readings(self, key: ObjectKey, metric_name: str) -> tuple[MetricReading, ...] | None:
        """Return what `ask` would, if it need not wait or read; otherwise None."""
        built = self._objects.get(key)
        if built is None:
            return None
        meters, now = built.meters_of(metric_name), self._clock.monotonic()
        known = [self._fresh_reading(meter, now) for meter in meters]
        if None in known:
            return None
        for meter in meters:
            meter.note_question(now)
        return tuple(filter(None, known))

    def health(self, key: ObjectKey) -> Mapping[str, FallbackState]:
        """Return consecutive failures by metric name; empty without a valid fallback."""
        built = self._objects.get(key)
        counted = counted_metrics(built.scalers) if built else ()
        return self._failures.of(key, counted) if counted else {}

    def recount(self, kind: str) -> None:
        """Drop the failure counts of a kind, so that counting starts from the status again."""
        self._failures.clear(kind)

    def batch_key(self, key: ObjectKey) -> SharingKey | None:
        """Return the key of the batch that the object's polls belong to, None without one."""
        return self._get(key).batch_key

    def note_idle(self, key: ObjectKey, *, idle: bool) -> None:
        """Record whether a look found the object idle at zero, where only this engine can notice new work.

        It applies to renewed scalers too, until a look finds otherwise.
        """
        built = self._objects.get(key)
        if built is not None:
            self._pushes.note_idle(built.scalers, idle=idle)
            self._zero_polls.note_idle(built.scalers, idle=idle)

    def next_poll(self, key: ObjectKey, known: Round, now: float) -> float:
        """Return the monotonic time of the next poll after a look; 0.0, at once, if it `has_news`."""
        return 0.0 if self.has_news(key, known) else self.next_phase(key, now)

    def next_phase(self, key: ObjectKey, at: float) -> float:
        """The monotonic time of the next poll after a reading at `at`: on the key's grid, within a polling interval."""
        return self._get(key).grid.next_after(at)

    async def forget(self, key: ObjectKey) -> None:
        """Close an object's scalers and drop everything known of it."""
        await self._objects.forget(key)
        self._failures.forget(key)

    async def aclose(self) -> None:
        """Cancel every read and close every scaler."""
        # First of all: a read that began from here on would outlive the group that its task belongs to.
        self._begin_read = self._abandon
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        # A cancelled task never resolves its flight, for which a look or a question of the HPA may be waiting.
        for key in self._objects:
            for meter in self._get(key).meters:
                self._abandon(meter)
        await self._objects.aclose()

    def _get(self, key: ObjectKey) -> BuiltObject:
        built = self._objects.get(key)
        if built is None:
            raise ScalerError(f"the scalers of {key.namespace}/{key.name} are not built")
        return built

    def _note_use(self, scalers: ScalerSet, in_use: bool) -> None:
        if in_use:
            self._pushes.follow(scalers)
            scalers.on_renewed = self._on_renewed
            self._failures.keep(scalers.spec.key, counted_metrics(scalers))
            return
        scalers.on_renewed = None
        self._pushes.end(scalers)
        self._zero_polls.end(scalers)

    def _follow_renewed(self, scalers: ScalerSet, index: int) -> None:
        """Follow a renewed scaler as the replaced one was."""
        self._pushes.renew(scalers, index)
        self._zero_polls.renew(scalers)

    async def _read_pushed(self, scalers: ScalerSet, index: int) -> None:
        """Read a trigger whose source reports work; `on_reading` reports the result."""
        built = self._objects.get(scalers.spec.key)
        for meter in built.meters if built is not None and built.scalers is scalers else ():
            if meter.metric.trigger_index == index:
                if meter.flight:
                    await asyncio.wait([meter.flight])  # it may have started before the work arrived
                # Invalidate the last reading: a shared one would hide the work that the source has just reported.
                meter.last_at, meter.polled_at = -math.inf, self._clock.monotonic()
                self._request(meter, meter.polled_at)

    def _restate(self, scalers: ScalerSet, index: int, specs: Sequence[MetricSpec]) -> None:
        """Take the metrics that a source tells of; `on_reading` has the object reconciled, so that its HPA follows."""
        names = scalers.spec.key.log_fields | {"trigger": index}
        try:
            changed = self._objects.restate(scalers, index, specs)
        except ConfigError as error:
            log.warning("a scaler's stream has metrics that cannot be used", extra={**names, "error": str(error)})
            return
        if changed:
            log.info("a scaler's metrics have changed", extra=names)
            self._failures.keep(scalers.spec.key, counted_metrics(scalers))
            self._on_reading(scalers.spec.key)

    def _request(self, meter: TrackedMetric, now: float, *, asked: bool = False) -> asyncio.Future[MetricReading]:
        if (under_way := meter.under_way(now)) is not None:
            return under_way
        flight = meter.begin(asked=asked)
        self._begin_read(meter)
        return flight

    def _answer(self, meter: TrackedMetric) -> asyncio.Future[MetricReading]:
        now = self._clock.monotonic()
        meter.note_question(now)
        known = self._fresh_reading(meter, now)
        return self._request(meter, now, asked=True) if known is None else landed(known)

    def _fresh_reading(self, meter: TrackedMetric, now: float) -> MetricReading | None:
        """Return the reading that answers the HPA without a read."""
        if meter.cached and meter.last and self._failures.counting(meter.key):
            return meter.last
        return None if meter.flight else meter.shared(now)

    def _error(self, meter: TrackedMetric, text: str) -> MetricReading:
        return MetricReading(metric=meter.metric, outcome=ScalerError(text), taken_at=self._clock.now())

    def _abandon(self, meter: TrackedMetric) -> None:
        if meter.flight and not meter.flight.done():
            meter.flight.set_result(self._error(meter, "not read: shutting down"))

    def _complete(self, meter: TrackedMetric, outcome: Outcome) -> None:
        failed_before = meter.failed
        now = self._clock.monotonic()
        reading = meter.complete(outcome, self._clock.now(), now)
        _log_reading(meter, reading, now, failed_before=failed_before)
        # Its callers have the reading. It counts for nothing else, since other scalers may have taken its place
        # meanwhile.
        if meter.retired:
            return
        self._observer.record_reading(meter.key, meter.scalers, reading)
        if has_valid_fallback(meter.scalers.spec):
            self._failures.count(meter.key, meter.metric.name, failed=isinstance(outcome, ScalerError))
        # "No work" found by the HPA's request is not reported: with cooldown 0 it would stop a workload between polls.
        if not reading.asked or failed_before or reading.tells_of_work:
            meter.news = reading
            self._on_reading(meter.key)

    def _spawn(self, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        try:
            task = self._tasks.create_task(work)
        except RuntimeError:  # the group is ending, and the caller with it
            work.close()
            raise
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task


def _log_reading(meter: TrackedMetric, reading: MetricReading, now: float, *, failed_before: bool) -> None:
    """Log when a trigger begins to fail and when it recovers; if it alternates, at most once in QUIET_SECONDS."""
    # This runs for every reading: build no fields for the common case, a good one without debug logging.
    is_notable = failed_before or isinstance(reading.outcome, ScalerError)
    if not (is_notable or log.isEnabledFor(logging.DEBUG)):
        return
    names = meter.key.log_fields | {"metric": meter.metric.name}
    if isinstance(reading.outcome, ScalerError):
        level = logging.DEBUG
        if not failed_before and now - meter.warned_at >= QUIET_SECONDS:
            level, meter.warned, meter.warned_at = logging.WARNING, True, now
        log.log(level, "trigger cannot be read", extra={**names, "error": str(reading.outcome)})
    elif failed_before:
        log.log(logging.INFO if meter.warned else logging.DEBUG, "trigger can be read again", extra=names)
        meter.warned = False
    else:
        log.debug("trigger read", extra={**names, "value": reading.outcome.value, "active": reading.outcome.active})
