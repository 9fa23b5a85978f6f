"""Query of the HPA: from readings to the values that it gets.

Sixth of the seven files (before: `operator/scaled_objects/look.py`, next: `operator/app.py`). `core/evaluation.py`
evaluates readings, here and for a look. Behaviour reference, sections 7.3 and 7.4.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from operator import is_
from typing import Protocol
from weakref import WeakKeyDictionary

from keda_py.core.evaluation import Evaluation, MetricValue, evaluate
from keda_py.core.fallback import needs_ready_pods, needs_replicas
from keda_py.core.metric_names import MetricSet
from keda_py.core.reading import MetricReading, Round
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, KedaPyError, ScalerError
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSet

# KEDA's prefix, from gRPC: it appears in the HPA's conditions, and people search for it.
PREFIX = "rpc error: code = Unknown desc = error when getting metric values "
# The HPA controller works on few HPAs at once, so a namespace whose formulas wait must not block it for long.
TURN_SECONDS = 2.0
_NO_TURN = "formulas of this namespace take more than a tenth of the time; make them simpler or poll less often"


class QueryError(KedaPyError):
    """Error text that the HPA gets instead of a value."""


class TargetReader(Protocol):
    """Reader of the scale target, for fallbacks."""

    async def replicas(self, spec: ScalingSpec) -> int | None:
        """Return `spec.replicas`; None if it cannot be read now."""
        ...

    async def ready_pods(self, spec: ScalingSpec) -> int | None:
        """Return the number of pods of the /scale selector that are Running and Ready; None if it is unknown now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _CachedValues:
    """Values computed from good readings under a spec, valid until the spec or a reading changes."""

    spec: ScalingSpec
    readings: tuple[MetricReading, ...]
    values: tuple[MetricValue, ...]

    def holds(self, spec: object, readings: tuple[MetricReading, ...]) -> bool:
        return self.spec is spec and all(map(is_, self.readings, readings))


def _asked_for(evaluation: Evaluation, spec: ScalingSpec, metric: str) -> tuple[MetricValue, ...]:
    """Return the values of the metric that was asked for, where all were read: the HPA adds up what it is told."""
    if not spec.needs_all:
        return evaluation.values
    return tuple(value for value in evaluation.values if value.name.lower() == metric.lower())


class Query:
    """Answers of the HPA's requests. `specs` finds the spec of an object whose scalers are not built yet."""

    def __init__(
        self, *, readings: Readings, targets: TargetReader, specs: Callable[[ObjectKey], ScalingSpec | None]
    ) -> None:
        self._readings, self._targets, self._specs = readings, targets, specs
        # Weak: cached values end with the scalers that they were read by.
        self._cached: WeakKeyDictionary[ScalerSet, dict[str, _CachedValues]] = WeakKeyDictionary()

    def cached_answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...] | None:
        """Return the values computed before from the readings that `answer` would use; None if it has to be called."""
        key = ObjectKey(ScalingSpec.kind, namespace, scaled_object)
        built = self._readings.built(key)
        by_metric = self._cached.get(built) if built is not None else None
        if built is None or by_metric is None or (cached := by_metric.get(metric.lower())) is None:
            return None
        readings = self._readings.cached_readings(key, metric)
        return cached.values if readings is not None and cached.holds(built.spec, readings) else None

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        """Return the values of a metric. Raises QueryError in KEDA's words."""
        key = ObjectKey(ScalingSpec.kind, namespace, scaled_object)
        spec, metrics = await self._find(key)
        try:
            readings = await self._readings.ask(key, metric)
            if not readings:
                raise QueryError(f"{PREFIX}no matching metrics found for {metric}")
            seen = Round(readings=readings)
            evaluation = await self._evaluate(spec, metrics, seen)
        except (ConfigError, ScalerError) as error:
            raise QueryError(f"{PREFIX}{error}") from None
        if evaluation.refuses:
            raise QueryError(f"{PREFIX}metric:{metric} encountered error")
        values = _asked_for(evaluation, spec, metric)
        # Not cached: a fallback's value depends on the target's replicas, and a formula may use the time.
        if not seen.errors and metrics.composite is None:
            self._remember(key, metric, _CachedValues(spec=spec, readings=seen.readings, values=values))
        return values

    def _remember(self, key: ObjectKey, metric: str, values: _CachedValues) -> None:
        built = self._readings.built(key)
        if built is not None:
            self._cached.setdefault(built, {})[metric.lower()] = values

    async def _find(self, key: ObjectKey) -> tuple[ScalingSpec, MetricSet]:
        built = self._readings.built(key)
        if built and isinstance(built.spec, ScalingSpec):
            return built.spec, built.metrics
        spec = self._specs(key)
        if spec is None:
            raise QueryError(f'{PREFIX}error getting scalers ScaledObject.keda.sh "{key.name}" not found')
        try:
            return spec, await self._readings.build(spec)
        except (ConfigError, ScalerError) as error:
            raise QueryError(f"{PREFIX}error getting scalers {error}") from None

    async def _evaluate(self, spec: ScalingSpec, metrics: MetricSet, seen: Round) -> Evaluation:
        failed = bool(seen.errors)
        replicas = await self._targets.replicas(spec) if failed and needs_replicas(spec) else None
        ready = await self._targets.ready_pods(spec) if failed and needs_ready_pods(spec, metrics) else None
        health = self._readings.health(spec.key)
        if metrics.composite is None:
            return evaluate(spec, metrics, seen, health, replicas, ready)
        try:
            # Evaluated on the loop, so a namespace has a share of time for its formulas: `readings/formula_turns.py`.
            async with asyncio.timeout(TURN_SECONDS), self._readings.formulas.turn(spec.namespace):
                return evaluate(spec, metrics, seen, health, replicas, ready)
        except TimeoutError:
            raise QueryError(f"{PREFIX}{_NO_TURN}") from None
