"""From readings to answers: what the HPA is told when it asks.

Sixth of the seven files (before: `operator/scaled_objects/look.py`, next: `operator/app.py`). What readings mean is
`core/evaluation.py`, for a look as well. Behaviour reference, sections 7.3 and 7.4.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from keda_py.core.evaluation import Evaluation, MetricValue, evaluate
from keda_py.core.fallback import (
    needs_ready_pods,
    needs_replicas,
)
from keda_py.core.metric_names import MetricSet
from keda_py.core.reading import Round
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, KedaPyError, ScalerError
from keda_py.readings.readings import Readings

PREFIX = "rpc error: code = Unknown desc = error when getting metric values "
"""KEDA answers through gRPC, and its words end up in the HPA's conditions; people search for them."""
TURN_SECONDS = 2.0
"""The HPA controller asks for few HPAs at once: a namespace whose formulas wait must not hold it up."""
_NO_TURN = "formulas of this namespace take more than a tenth of the time; make them simpler or poll less often"


class QueryError(KedaPyError):
    """The HPA gets no value, and this text."""


class TargetReader(Protocol):
    """What a fallback may want to know of the scale target."""

    async def replicas(self, spec: ScalingSpec) -> int | None:
        """`spec.replicas`; None when it cannot be read now."""
        ...

    async def ready_pods(self, spec: ScalingSpec) -> int | None:
        """Pods of the /scale selector that are Running and Ready; None when they cannot be counted now."""
        ...


class Query:
    """The HPA's question. `specs` finds the spec of an object whose scalers are not built yet."""

    def __init__(
        self, *, readings: Readings, targets: TargetReader, specs: Callable[[ObjectKey], ScalingSpec | None]
    ) -> None:
        self._readings, self._targets, self._specs = readings, targets, specs

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        """The values of a metric. Raises QueryError in KEDA's words."""
        key = ObjectKey(ScalingSpec.kind, namespace, scaled_object)
        spec, metrics = await self._find(key)
        try:
            readings = await self._readings.ask(key, metric)
            if not readings:
                raise QueryError(f"{PREFIX}no matching metrics found for {metric}")
            evaluation = await self._evaluate(spec, metrics, Round(readings=readings))
        except (ConfigError, ScalerError) as error:
            raise QueryError(f"{PREFIX}{error}") from None
        if evaluation.refuses:
            raise QueryError(f"{PREFIX}metric:{metric} encountered error")
        return evaluation.values

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
            async with asyncio.timeout(TURN_SECONDS), self._readings.formulas.turn(spec.namespace):
                return evaluate(spec, metrics, seen, health, replicas, ready)
        except TimeoutError:
            raise QueryError(f"{PREFIX}{_NO_TURN}") from None
