"""Objects whose scalers are built: once per generation, renewed in place, closed when no caller reads them any more.

`readings.py` owns these, and reads the meters of an object through its scalers. Next: `scaler_set.py`, which builds.
"""

import asyncio
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from keda_py.core.fallback import has_valid_fallback
from keda_py.core.metric_names import MetricSet, NamedMetric
from keda_py.core.metric_specs import MetricSpec
from keda_py.core.pacing.polling_grid import Grid, Phases
from keda_py.core.spec import TriggersSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.credential_keys import SharingKey
from keda_py.readings.batching import Sources
from keda_py.readings.observer import Observer
from keda_py.readings.scaler_set import ScalerSet, ScalerSource, build_set
from keda_py.readings.tracked_metrics import TrackedMetric, gather


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltObject:
    """An object with the scalers of its current generation, and a meter for each of its external metrics."""

    scalers: ScalerSet
    meters: tuple[TrackedMetric, ...]
    grid: Grid
    batch_key: SharingKey | None
    source: Hashable
    """Owner of the grid's phase: the batch key, or the object itself."""

    def meters_of(self, metric_name: str) -> Sequence[TrackedMetric]:
        """Return the meters that answer for a metric, in any case: all of them under a formula, or where all triggers
        have to be active.
        """
        if self.scalers.spec.modifiers is not None or self.scalers.spec.needs_all:
            return self.meters
        wanted = metric_name.lower()
        return [meter for meter in self.meters if meter.metric.name.lower() == wanted]


def counted_metrics(scalers: ScalerSet) -> Collection[str]:
    """Return the metrics whose failures a fallback counts."""
    return scalers.metrics.external_names if has_valid_fallback(scalers.spec) else ()


class BuiltObjects:
    """All built objects by key. `note_use` is called with True as scalers come into use, with False as they go."""

    def __init__(
        self,
        *,
        scalers: ScalerSource,
        sources: Sources,
        observer: Observer,
        spawn: Callable[[Coroutine[object, None, None]], asyncio.Task[None]],
        note_use: Callable[[ScalerSet, bool], None],
    ) -> None:
        self._scalers, self._sources, self._observer = scalers, sources, observer
        self._spawn, self._note_use = spawn, note_use
        self._clock = scalers.shared_context.clock
        self._built: dict[ObjectKey, BuiltObject] = {}
        self.get = self._built.get
        """Return an object, None before `build` and after `forget`; asked several times in each poll."""
        self._phases = Phases()
        self._building: defaultdict[ObjectKey, asyncio.Lock] = defaultdict(asyncio.Lock)

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(tuple(self._built))

    async def build(self, spec: TriggersSpec) -> MetricSet:
        """Return the metrics of a spec; its scalers are built once per generation. Raises ConfigError or ScalerError.

        The scalers of the previous generation are closed once the new ones are open, and also if these cannot be
        built: an object that is invalid now must not be scaled by its old spec.
        """
        key = spec.key
        async with self._building[key]:
            old = self._built.get(key)
            if old and (old.scalers.spec.uid, old.scalers.spec.generation) == (spec.uid, spec.generation):
                # Same generation, but the new spec may have other annotations or overlays.
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
        """Renew the scalers of those triggers whose parameters have changed; return whether there was one.

        If that changes a metric's name or target, the object is dismissed and has to be built again.
        """
        async with self._building[key]:
            found = self._built.get(key)
            if found is None:
                return False
            known = range(len(found.scalers.spec.triggers))
            with self._clock.busy():
                renewed = {index for index in triggers if index in known and await found.scalers.renew(index)}
                if renewed and not await found.scalers.names_same_metrics():
                    self._dismiss(key)
            for meter in found.meters:
                if meter.metric.trigger_index in renewed:
                    meter.last_at = -math.inf  # the replaced scaler's reading is not shared any more
            return bool(renewed)

    def restate(self, scalers: ScalerSet, index: int, specs: Sequence[MetricSpec]) -> bool:
        """Take other metrics of a trigger, in place; return whether they differ. Raises ConfigError."""
        # Scalers and readings stay: a build anew would ask `specs`, and might go back to a target from before.
        found = self._built.get(scalers.spec.key)
        if found is None or found.scalers is not scalers or not scalers.restate(index, specs):
            return False
        known = {meter.metric.name: meter for meter in found.meters}
        meters = [self._restated(found, known.pop(metric.name, None), metric) for metric in scalers.metrics.external]
        for gone in known.values():
            gone.retire(self._scalers.shared_context.http_timeout)
            self._spawn(self._leave_when_idle([gone]))
        self._built[scalers.spec.key] = replace(found, meters=tuple(meters))
        return True

    def _restated(self, found: BuiltObject, meter: TrackedMetric | None, metric: NamedMetric) -> TrackedMetric:
        if meter is not None:
            meter.restate(metric)
            return meter
        key, grid = found.scalers.spec.key, found.grid
        meter = TrackedMetric(key=key, scalers=found.scalers, metric=metric, grid=grid)
        self._sources.join(meter)
        return meter

    async def forget(self, key: ObjectKey) -> None:
        """Close an object's scalers at once, without time for reads under way."""
        async with self._building[key]:
            self._end(key, seconds=0.0)
        self._building.pop(key, None)

    async def aclose(self) -> None:
        """Close every scaler; no read may be under way."""
        for found in self._built.values():
            await found.scalers.aclose()
        self._built.clear()

    def _install(self, key: ObjectKey, scalers: ScalerSet) -> None:
        batch_key = next((found for found in scalers.batch_keys if found is not None), None)
        source = key if batch_key is None else batch_key
        interval = scalers.spec.polling_interval.total_seconds()
        grid = self._phases.join(source, interval, self._clock.monotonic())
        meters = tuple(TrackedMetric(key=key, scalers=scalers, metric=m, grid=grid) for m in scalers.metrics.external)
        for meter in meters:
            self._sources.join(meter)
        self._built[key] = BuiltObject(
            scalers=scalers,
            meters=meters,
            grid=grid,
            batch_key=batch_key,
            source=source,
        )
        self._note_use(scalers, True)
        self._observer.record_built(key, scalers)

    def _end(self, key: ObjectKey, seconds: float | None = None) -> None:
        """Dismiss an object's scalers without a replacement."""
        if key in self._built:
            self._dismiss(key, seconds)
            self._observer.record_dismissed(key)

    def _dismiss(self, key: ObjectKey, seconds: float | None = None) -> None:
        """Take an object's scalers out of use; reads under way may take `seconds`, by default a request's time-out."""
        found = self._built.pop(key, None)
        if found is None:
            return
        self._phases.leave(found.source, found.grid.group)
        self._note_use(found.scalers, False)
        for meter in found.meters:
            meter.retire(self._scalers.shared_context.http_timeout if seconds is None else seconds)
        self._spawn(self._close_when_idle(found))

    async def _close_when_idle(self, found: BuiltObject) -> None:
        try:
            await self._leave_when_idle(found.meters)
        finally:
            await found.scalers.aclose()

    async def _leave_when_idle(self, meters: Sequence[TrackedMetric]) -> None:
        try:
            await gather([meter.flight for meter in meters if meter.flight])
        finally:
            for meter in meters:
                self._sources.leave(meter)
