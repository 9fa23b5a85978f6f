"""Query of the HPA: from readings to the values that it gets.

Sixth of the seven files (before: `operator/scaled_objects/look.py`, next: `operator/app.py`). `core/evaluation.py`
evaluates readings, here and for a look. Behaviour reference, sections 7.3 and 7.4.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol
from weakref import WeakKeyDictionary

from keda_py.core.evaluation import Evaluation, KnownValues, MetricValue, evaluate
from keda_py.core.fallback import needs_ready_pods, needs_replicas
from keda_py.core.metric_names import MetricSet
from keda_py.core.reading import Round
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
        # Weak: known values end with the scalers that they were read by.
        self._known: WeakKeyDictionary[ScalerSet, dict[str, KnownValues]] = WeakKeyDictionary()

    def answer_at_once(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...] | None:
        """Return what `answer` would, from good readings that are young; None if something has to be awaited."""
        key = ObjectKey(ScalingSpec.kind, namespace, scaled_object)
        built = self._readings.built(key)
        readings = self._readings.cached_readings(key, metric) if built is not None else None
        if built is None or not readings or not isinstance(built.spec, ScalingSpec):
            return None
        known = self._known.setdefault(built, {})
        if (found := known.get(metric.lower())) is not None and found.holds(built.spec, readings):
            return found.values
        # A fallback's value depends on the target's replicas, and a formula waits for its turn.
        seen = Round(readings=readings)
        if seen.errors or built.metrics.composite is not None:
            return None
        evaluation = evaluate(built.spec, built.metrics, seen, {}, None, None)
        values = _asked_for(evaluation, built.spec, metric)
        known[metric.lower()] = KnownValues(spec=built.spec, readings=readings, values=values)
        return values

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
        return _asked_for(evaluation, spec, metric)

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
