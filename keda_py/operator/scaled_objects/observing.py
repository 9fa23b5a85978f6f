"""What a look sees: readings evaluated, the replicas from the cache, the last activity; made into one Observation."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime

from keda_py.core.activity import last_active_before
from keda_py.core.decision import Observation
from keda_py.core.evaluation import Evaluation, evaluate
from keda_py.core.fallback import FallbackState, needs_ready_pods
from keda_py.core.metric_names import MetricSet
from keda_py.core.reading import Round
from keda_py.core.spec import ScalingSpec
from keda_py.errors import KubeError
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.fallback_target import count_ready_pods
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.targets import Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What a look found: the readings evaluated, the count that a write can name, and the observation made of both."""

    at: datetime
    readings: Round
    health: Mapping[str, FallbackState]
    evaluation: Evaluation
    count: Count | None
    seen: Observation


async def observe(parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec, seen: Round) -> Observed:
    """Everything that a decision is made of, as of now."""
    metrics = state.metrics or MetricSet(external=(), resource=())
    count, trouble = await _count(parts, state, spec)
    replicas = count.replicas if count else None
    ready_pods = await _ready_pods(parts, state, spec, seen)
    health = parts.readings.health(state.key)
    async with parts.readings.formulas.turn(spec.namespace) if metrics.composite else nullcontext():
        evaluation = evaluate(spec, metrics, seen, health, replicas, ready_pods)
    now, monotonic = parts.clock.now(), parts.clock.monotonic()
    observation = Observation(
        replicas=replicas,
        replicas_error=trouble,
        active=evaluation.active,
        failing=evaluation.failing,
        active_metrics=evaluation.active_metrics,
        last_active=last_active_before(state.activity, now, monotonic) if state.activity else None,
        known=parts.caches.known(),
        changes_at=evaluation.changes_at,
    )
    return Observed(at=now, readings=seen, health=health, evaluation=evaluation, count=count, seen=observation)


async def _count(parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec) -> tuple[Count | None, str]:
    if state.target is None:
        return None, "the scale target is not resolved"
    try:
        return await parts.targets.count(state, spec, state.target), ""
    except KubeError as error:
        return None, str(error)


async def _ready_pods(
    parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec, seen: Round
) -> int | None:
    """Asked only where a fallback may have to be computed from it."""
    if not seen.errors or state.metrics is None or not needs_ready_pods(spec, state.metrics):
        return None
    return await count_ready_pods(parts.client, parts.reader, spec, state.target)
