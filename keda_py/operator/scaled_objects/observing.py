"""What a look sees: readings evaluated, the replicas from the cache, the last activity; made into one Observation.

Most looks see what the one before saw, and that had nothing to do: `sees_the_same` finds that out first, from the
same sources and by identity where a cache replaces what changes.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime

from keda_py.core.activity import last_active_before
from keda_py.core.decision import Observation, lasts
from keda_py.core.evaluation import Evaluation, evaluate
from keda_py.core.fallback import FallbackState, needs_ready_pods
from keda_py.core.metric_names import MetricSet
from keda_py.core.reading import Outcome, Round
from keda_py.core.savings.ledger import seconds_until_due
from keda_py.core.spec import ScalingSpec
from keda_py.errors import KubeError
from keda_py.kube.informers.cache import Cache
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.fallback_target import count_ready_pods
from keda_py.operator.scaled_objects.report import Look
from keda_py.operator.scaled_objects.state import ObjectState, Sight
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


SIGHT_SECONDS = 300.0
"""At most, between two whole looks."""


def sees_the_same(parts: ScaledObjectDependencies, state: ObjectState, sight: Sight, seen: Round) -> bool:
    """Whether all that a look is made of is what it was at the look that came to nothing."""
    return (
        state.spec is sight.spec
        and state.stored is sight.stored
        and not state.staged
        and state.written is None
        and state.told is sight.told
        and parts.clock.monotonic() < sight.until
        and _outcomes(seen) == sight.outcomes
        and sight.workloads.get(state.key.namespace, sight.spec.target.name) is sight.workload
        and parts.caches.hpas.get(state.key.namespace, sight.stored.get("hpaName", "")) is sight.hpa
        and (sight.spec.fallback is None or parts.readings.health(state.key) == sight.health)
    )


def sight_of(parts: ScaledObjectDependencies, state: ObjectState, look: Look) -> Sight | None:
    """What a look that wrote nothing was made of; None where the next one may come to more by time alone."""
    workloads, count = _workloads(parts, state), look.seen.replicas
    formula = state.metrics is None or state.metrics.composite is not None  # it may ask for the time
    if formula or look.readings.errors or not lasts(look.decision):
        return None
    workload = workloads.get(state.key.namespace, look.spec.target.name) if workloads is not None else None
    if workloads is None or workload is None or count is None or workload["spec"]["replicas"] != count:
        return None
    return Sight(
        spec=look.spec,
        outcomes=_outcomes(look.readings),
        health=look.health,
        workloads=workloads,
        workload=workload,
        hpa=parts.caches.hpas.get(state.key.namespace, state.stored.get("hpaName", "")),
        stored=state.stored,
        told=state.told,
        reason=look.decision.reason,
        look_again_at=look.decision.look_again_at,
        until=parts.clock.monotonic() + min(SIGHT_SECONDS, seconds_until_due(state.ledger, look.at)),
    )


def _outcomes(seen: Round) -> tuple[Outcome, ...]:
    return tuple([one.outcome for one in seen.readings])


def _workloads(parts: ScaledObjectDependencies, state: ObjectState) -> Cache | None:
    """Where the scale target is cached; None where it is not, or our own last write has not come there yet."""
    if state.target is None or state.written is not None:
        return None
    return parts.caches.of_kind(state.target)


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
