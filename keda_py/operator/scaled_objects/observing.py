"""What a look sees: its readings, the replicas from the cache, the last activity; judged as one round.

Most looks see what the one before saw, and that had nothing to do: `sees_the_same` finds that out first, from the
same sources and by identity where a cache replaces what changes.
"""

from collections.abc import Callable
from contextlib import nullcontext

from keda_py.core.decision import lasts
from keda_py.core.fallback import needs_ready_pods
from keda_py.core.metric_names import MetricSet
from keda_py.core.reading import Outcome, Round
from keda_py.core.round import Facts, Judgement, judge
from keda_py.core.savings.ledger import seconds_until_due
from keda_py.core.spec import ScalingSpec
from keda_py.errors import KubeError
from keda_py.kube.informers.cache import Cache
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.fallback_target import count_ready_pods
from keda_py.operator.scaled_objects.report import Look
from keda_py.operator.scaled_objects.state import ObjectState, Sight
from keda_py.operator.scaled_objects.targets import Count


async def observe(
    parts: ScaledObjectDependencies,
    state: ObjectState,
    spec: ScalingSpec,
    readings: Round,
    own: Callable[[int | None], int | None] = lambda count: count,
) -> tuple[Judgement, Count | None]:
    """What is to be done as of now, and the count with the version that a write can name.

    `own` says which count to decide on, given the one that is there: a shadow's own one. An object with a formula waits
    for its namespace's turn to compute it, and is judged as of then.
    """
    count, trouble = await _count(parts, state, spec)
    ready_pods = await _ready_pods(parts, state, spec, readings)
    metrics, replicas = state.metrics or NO_METRICS, count.replicas if count else None
    async with parts.readings.formulas.turn(spec.namespace) if metrics.composite else nullcontext():
        facts = Facts(
            now=parts.clock.now(),
            monotonic=parts.clock.monotonic(),
            metrics=metrics,
            readings=readings,
            replicas=replicas,
            replicas_error=trouble,
            own_replicas=own(replicas),
            ready_pods=ready_pods,
            health=parts.readings.health(state.key),
            activity=state.activity,
            known=parts.caches.known(),
        )
        return judge(spec, facts), count


SIGHT_SECONDS = 300.0
"""At most, between two whole looks."""
NO_METRICS = MetricSet(external=(), resource=())


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
    """Keep what a look that wrote nothing was made of; None if the next one may come to more by time alone."""
    workloads, count = _workloads(parts, state), look.seen.replicas
    stands = SIGHT_SECONDS if look.stands_until is None else (look.stands_until - look.at).total_seconds()
    if not stands or not lasts(look.decision):
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
        until=parts.clock.monotonic() + min(SIGHT_SECONDS, stands, seconds_until_due(state.ledger, look.at)),
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
