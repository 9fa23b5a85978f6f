"""Readings: asks scalers for all callers, so that each source is asked once for all of them.

The poll (`operator/scaled_objects/look.py`) and the HPA's question (`external_metrics/query.py`) come here. One read
per trigger is on its way at a time and shared by all who ask meanwhile; it belongs to the engine, so a caller that
gives up takes no other caller's answer away. A reading younger than two seconds is shared as well. A failed read is an
error for both, and a good value is never served after it. Every completed reading is counted for the fallback and told
to the engine.
"""

import asyncio
import logging
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from keda_py.core.fallback import FallbackState, has_valid_fallback
from keda_py.core.metric_names import MetricSet
from keda_py.core.pacing.polling_grid import Grid, Phases
from keda_py.core.reading import MetricReading, Outcome, Round
from keda_py.core.spec import TriggersSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.credential_keys import SharingKey
from keda_py.readings.batching import Engine, Sources
from keda_py.readings.failures import Failures
from keda_py.readings.formula_turns import FormulaTurns
from keda_py.readings.observer import Observer, Unobserved
from keda_py.readings.pushes import Pushes
from keda_py.readings.scaler_set import ScalerSet, ScalerSource, build_set
from keda_py.readings.tracked_metrics import TrackedMetric, gather, known_to_poll, landed, round_of, when_done
from keda_py.readings.zero_polls import ZeroPolls

log = logging.getLogger(__name__)

UNOBSERVED = Unobserved()
QUIET_SECONDS = 60.0
"""Between two warnings about one trigger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watched:
    """An object whose scalers stand."""

    scalers: ScalerSet
    meters: tuple[TrackedMetric, ...]
    grid: Grid
    batch_key: SharingKey | None
    source: Hashable
    """Whose grid it is: the batch key, or the object itself."""


class Readings:
    """Scalers of all objects. `on_reading` is called, on the loop, after a completed reading.

    Not for an answer to the HPA that there is no work: how soon a workload may stop is what `pollingInterval` says, so
    the next poll finds that out. Reads run in `tasks`; close with `aclose` before that group ends.
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
        self._watched: dict[ObjectKey, _Watched] = {}
        self._failures = failures or Failures()
        engine = Engine(
            clock=self._clock,
            journal=scalers.journal,
            spawn=self._spawn,
            complete=self._complete,
            count_batch=observer.record_batch,
        )
        self._sources = Sources(engine)
        self._pushes = Pushes(self._spawn, self._read_pushed)
        self._zero_polls = ZeroPolls(engine, scalers.zero_polling_interval, self._read_pushed)
        self.formulas = FormulaTurns()
        self._phases = Phases()
        self._building: defaultdict[ObjectKey, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Inside it, sources are listened to, or asked often about idle objects: for the replica that polls."""
        with self._pushes.listening(), self._zero_polls.asking():
            yield

    async def build(self, spec: TriggersSpec) -> MetricSet:
        """The metrics of a spec; its scalers are built once per generation. Raises ConfigError or ScalerError.

        The scalers of the generation before are closed once the new ones stand, and as well when these cannot be
        built: an object that is wrong now is not scaled by what it once said.
        """
        key = spec.key
        async with self._building[key]:
            old = self._watched.get(key)
            if old and (old.scalers.spec.uid, old.scalers.spec.generation) == (spec.uid, spec.generation):
                old.scalers.spec = spec
                return old.scalers.metrics
            try:
                with self._clock.busy():
                    new = await build_set(spec, self._scalers)
            except (ConfigError, ScalerError):
                self._end(key)
                raise
            self._dismiss(key)
            self._install(key, new)
            return new.metrics

    async def renew(self, key: ObjectKey, triggers: Iterable[int]) -> bool:
        """Renew the scalers of those triggers whose parameters have changed; True when one was.

        Where that changes a metric's name or target, nothing stands any more: `built` is None and a `build` is due.
        """
        async with self._building[key]:
            watched = self._watched.get(key)
            if watched is None:
                return False
            known = range(len(watched.scalers.spec.triggers))
            with self._clock.busy():
                renewed = {index for index in triggers if index in known and await watched.scalers.renew(index)}
                if renewed and not await watched.scalers.says_the_same():
                    self._dismiss(key)
            for meter in watched.meters:
                if meter.metric.trigger_index in renewed:
                    meter.last_at = -math.inf  # what the scaler before it read is not shared with anybody
            return bool(renewed)

    def built(self, key: ObjectKey) -> ScalerSet | None:
        """The scalers of an object, None before `build` and after `forget`."""
        watched = self._watched.get(key)
        return watched.scalers if watched else None

    def keys(self) -> tuple[ObjectKey, ...]:
        """The objects whose scalers stand."""
        return tuple(self._watched)

    def read_ahead(self, key: ObjectKey, changed: asyncio.Future[None] | None = None) -> asyncio.Future[None] | None:
        """Begin what `poll` would wait for; done when all of it, or `changed`, is. None: `poll` has all it needs."""
        watched = self._watched.get(key)
        flights = self._flights(watched.meters) if watched is not None else ()
        return when_done(flights, changed)

    def known_round(self, key: ObjectKey) -> Round | None:
        """What was read ahead, while the last of it is young; None where something has to be waited for or read."""
        watched = self._watched.get(key)
        return round_of(watched.meters, self._clock.monotonic()) if watched is not None else None

    async def poll(
        self, key: ObjectKey, changed: asyncio.Future[None] | None = None, *, ahead: bool = False
    ) -> Round | None:
        """Read every external metric. A trigger's failure is its outcome. Raises ScalerError when nothing is built.

        None: `changed` was done first; what is being read is for who asks next. `ahead`: this is the poll that
        `read_ahead` has begun.
        While all that is new is work that the HPA asked about, useCachedMetrics keeps its trigger's last reading: else
        each question for another trigger would be one more for its source.
        """
        meters = self._get(key).meters
        if ahead and (known := self.known_round(key)) is not None:
            return known
        flights = self._flights(meters)
        over = when_done(flights, changed)
        if over is not None:
            await over
            if not all(flight.done() for flight in flights):
                return None
        return Round(readings=tuple([flight.result() for flight in flights]))

    def _flights(self, meters: Sequence[TrackedMetric]) -> list[asyncio.Future[MetricReading]]:
        now = self._clock.monotonic()
        known = known_to_poll(meters, now)
        for meter in meters:
            meter.polled_at = now
        return [
            self._request(meter, now) if last is None else landed(last)
            for meter, last in zip(meters, known, strict=True)
        ]

    def has_news(self, key: ObjectKey, known: Round) -> bool:
        """Was something read after a round that its look should know, as by a push while the look went on?"""
        watched = self._watched.get(key)
        meters = watched.meters if watched is not None else ()
        return any(
            meter.news is meter.last is not reading for meter, reading in zip(meters, known.readings, strict=False)
        )

    async def ask(self, key: ObjectKey, metric_name: str) -> tuple[MetricReading, ...]:
        """The HPA's question, upper or lower case; no such metric: empty. Under scalingModifiers all metrics answer.

        With useCachedMetrics the last poll's outcome answers, error included; nothing is read, but before the first
        poll and by a replica that does not poll. Raises ScalerError when nothing is built.
        """
        return await gather([self._answer(meter) for meter in _asked_for(self._get(key), metric_name)])

    def known(self, key: ObjectKey, metric_name: str) -> tuple[MetricReading, ...] | None:
        """What `ask` would answer without waiting or reading; None where it has to, or nothing is built."""
        watched = self._watched.get(key)
        if watched is None:
            return None
        known = [self._known(meter) for meter in _asked_for(watched, metric_name)]
        return None if None in known else tuple(filter(None, known))

    def health(self, key: ObjectKey) -> Mapping[str, FallbackState]:
        """Failures in a row by metric name; empty unless the object has a valid fallback."""
        watched = self._watched.get(key)
        counted = _counted_metrics(watched.scalers) if watched else ()
        return self._failures.of(key, counted) if counted else {}

    def recount(self, kind: str) -> None:
        """Forget how often objects of a kind have failed: that is what the status says, until more is counted."""
        self._failures.clear(kind)

    def batch_key(self, key: ObjectKey) -> SharingKey | None:
        """What the object's polls are batched by, None where they are not."""
        return self._get(key).batch_key

    def note_idle(self, key: ObjectKey, *, idle: bool) -> None:
        """What a look found: whether the object has nothing to do, and none but this engine would find that out.

        It holds for scalers that renewals put in their place, until another look finds otherwise.
        """
        watched = self._watched.get(key)
        if watched is not None:
            self._pushes.note_idle(watched.scalers, idle=idle)
            self._zero_polls.note_idle(watched.scalers, idle=idle)

    def next_poll(self, key: ObjectKey, known: Round, now: float) -> float:
        """The same after a look, which knows of a round; 0.0, now, where it `has_news`."""
        return 0.0 if self.has_news(key, known) else self.next_phase(key, now)

    def next_phase(self, key: ObjectKey, at: float) -> float:
        """Monotonic seconds of the next poll after a reading at `at`: on the key's grid, within a polling interval."""
        return self._get(key).grid.next_after(at)

    async def forget(self, key: ObjectKey) -> None:
        """Close an object's scalers and drop everything known of it."""
        async with self._building[key]:
            self._end(key, seconds=0.0)
            self._failures.forget(key)
        self._building.pop(key, None)

    async def aclose(self) -> None:
        """End every read and close every scaler."""
        self._closed = True
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for watched in self._watched.values():
            for meter in watched.meters:
                self._abandon(meter)
            await watched.scalers.aclose()
        self._watched.clear()

    def _get(self, key: ObjectKey) -> _Watched:
        watched = self._watched.get(key)
        if watched is None:
            raise ScalerError(f"the scalers of {key.namespace}/{key.name} are not built")
        return watched

    def _install(self, key: ObjectKey, scalers: ScalerSet) -> None:
        batch_key = next((one for one in scalers.batch_keys if one is not None), None)
        source = key if batch_key is None else batch_key
        interval = scalers.spec.polling_interval.total_seconds()
        grid = self._phases.join(source, interval, self._clock.monotonic())
        meters = tuple(TrackedMetric(key=key, scalers=scalers, metric=m, grid=grid) for m in scalers.metrics.external)
        for meter in meters:
            self._sources.join(meter)
        self._watched[key] = _Watched(scalers=scalers, meters=meters, grid=grid, batch_key=batch_key, source=source)
        self._pushes.follow(scalers)
        scalers.on_renewed = partial(self._follow_renewed, scalers)
        self._failures.keep(key, _counted_metrics(scalers))
        self._observer.record_built(key, scalers)

    def _follow_renewed(self, scalers: ScalerSet, index: int) -> None:
        """Another scaler stands for a trigger: it is listened to, or asked often, as the one before was."""
        self._pushes.renew(scalers, index)
        self._zero_polls.renew(scalers)

    def _end(self, key: ObjectKey, seconds: float | None = None) -> None:
        """Dismiss an object's scalers, with none in their place."""
        watched = self._watched.get(key)
        if watched is not None:
            self._dismiss(key, seconds)
            self._observer.record_dismissed(key)

    def _dismiss(self, key: ObjectKey, seconds: float | None = None) -> None:
        """Who has asked has that long to be answered; by default as long as a question usually takes."""
        watched = self._watched.pop(key, None)
        if watched is None:
            return
        self._phases.leave(watched.source, watched.grid.group)
        watched.scalers.on_renewed = None
        self._pushes.end(watched.scalers)
        self._zero_polls.end(watched.scalers)
        for meter in watched.meters:
            meter.retire(self._scalers.shared_context.http_timeout if seconds is None else seconds)
        self._spawn(self._close_when_idle(watched))

    async def _close_when_idle(self, watched: _Watched) -> None:
        try:
            await gather([meter.flight for meter in watched.meters if meter.flight])
        finally:
            for meter in watched.meters:
                self._sources.leave(meter)
            await watched.scalers.aclose()

    async def _read_pushed(self, scalers: ScalerSet, index: int) -> None:
        """Read a trigger whose source tells of work; `on_reading` tells of the answer."""
        watched = self._watched.get(scalers.spec.key)
        for meter in watched.meters if watched is not None and watched.scalers is scalers else ():
            if meter.metric.trigger_index == index:
                if meter.flight:
                    await asyncio.wait([meter.flight])  # it may have begun before there was work
                meter.last_at, meter.polled_at = -math.inf, self._clock.monotonic()
                self._request(meter, meter.polled_at)

    def _request(self, meter: TrackedMetric, now: float, *, asked: bool = False) -> asyncio.Future[MetricReading]:
        if (under_way := meter.under_way(now)) is not None:
            return under_way
        flight = meter.begin(asked=asked)
        if self._closed:
            self._abandon(meter)
        else:
            self._sources.request(meter)
        return flight

    def _answer(self, meter: TrackedMetric) -> asyncio.Future[MetricReading]:
        known = self._known(meter)
        return self._request(meter, self._clock.monotonic(), asked=True) if known is None else landed(known)

    def _known(self, meter: TrackedMetric) -> MetricReading | None:
        """What answers the HPA now."""
        if meter.cached and meter.last and self._failures.counting(meter.key):
            return meter.last
        return None if meter.flight else meter.shared(self._clock.monotonic())

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
        if meter.retired:
            return
        self._observer.record_reading(meter.key, meter.scalers, reading)
        if has_valid_fallback(meter.scalers.spec):
            self._failures.count(meter.key, meter.metric.name, failed=isinstance(outcome, ScalerError))
        if not reading.asked or failed_before or reading.tells_of_work:
            meter.news = reading
            self._on_reading(meter.key)

    def _spawn(self, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        try:
            task = self._tasks.create_task(work)
        except RuntimeError:  # the group is ending, and so does its caller
            work.close()
            raise
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task


def _asked_for(watched: _Watched, metric_name: str) -> Sequence[TrackedMetric]:
    """Under a formula each of them takes part."""
    if watched.scalers.spec.modifiers is not None:
        return watched.meters
    wanted = metric_name.lower()
    return [meter for meter in watched.meters if meter.metric.name.lower() == wanted]


def _counted_metrics(scalers: ScalerSet) -> Collection[str]:
    return scalers.metrics.external_names if has_valid_fallback(scalers.spec) else ()


def _log_reading(meter: TrackedMetric, reading: MetricReading, now: float, *, failed_before: bool) -> None:
    """Told is when a trigger begins to fail and when that ends; of one that does so by turns, once in a while."""
    is_told = failed_before or isinstance(reading.outcome, ScalerError)
    if not (is_told or log.isEnabledFor(logging.DEBUG)):
        return  # as nearly every reading
    names = meter.key.log_fields | {"metric": meter.metric.name}
    if isinstance(reading.outcome, ScalerError):
        level = logging.DEBUG
        if not failed_before and now - meter.told_at >= QUIET_SECONDS:
            level, meter.told, meter.told_at = logging.WARNING, True, now
        log.log(level, "trigger cannot be read", extra={**names, "error": str(reading.outcome)})
    elif failed_before:
        log.log(logging.INFO if meter.told else logging.DEBUG, "trigger can be read again", extra=names)
        meter.told = False
    else:
        log.debug("trigger read", extra={**names, "value": reading.outcome.value, "active": reading.outcome.active})
