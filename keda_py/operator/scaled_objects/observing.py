"""The facts of a look, judged as one round: its readings, the replicas from the cache, the last activity.

`Snapshots` name what a look has seen, so that the next one can be passed over (`controller/fast_path.py`).
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime

from keda_py.core.decision import ScaleTo, lasts
from keda_py.core.fallback import needs_ready_pods
from keda_py.core.metric_names import MetricSet
from keda_py.core.reading import Round
from keda_py.core.round import Facts, Judgement, judge
from keda_py.core.savings.ledger import note, seconds_until_due
from keda_py.core.spec import ScalingSpec
from keda_py.errors import KubeError
from keda_py.operator.controller.fast_path import OUTCOME, Snapshot
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.fallback_target import count_ready_pods
from keda_py.operator.scaled_objects.report import Look
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.targets import Count

# Between two whole looks at most, so that what a snapshot fails to name is found out all the same.
SNAPSHOT_SECONDS = 300.0
NO_METRICS = MetricSet(external=(), resource=())


async def observe(
    parts: ScaledObjectDependencies,
    state: ObjectState,
    spec: ScalingSpec,
    readings: Round,
    own: Callable[[int | None], int | None] = lambda count: count,
) -> tuple[Judgement, Count | None]:
    """Judge the readings as of now; returns the judgement, and the count with the version that a write can name.

    `own` turns the count that is there into the one to decide on, which a shadow keeps itself. An object with a formula
    waits for its namespace's turn to compute it, and is judged as of then.
    """
    count, trouble = await _count(parts, state, spec)
    metrics, replicas = state.metrics or NO_METRICS, count.replicas if count else None
    own_replicas = own(replicas)
    ready_pods = await _ready_pods(parts, state, spec, readings)
    async with parts.shared.readings.formulas.turn(spec.namespace) if metrics.composite else nullcontext():
        facts = Facts(
            now=parts.shared.clock.now(),
            monotonic=parts.shared.clock.monotonic(),
            metrics=metrics,
            readings=readings,
            replicas=replicas,
            replicas_error=trouble,
            own_replicas=own_replicas,
            ready_pods=ready_pods,
            health=parts.shared.readings.health(state.key),
            activity=state.activity,
            known=parts.caches.in_contact(),
        )
        return _with_wakers(parts, spec, judge(spec, facts)), count


def _with_wakers(parts: ScaledObjectDependencies, spec: ScalingSpec, judgement: Judgement) -> Judgement:
    """Judge again where the workload would go to 0 before requests can reach a waker in its place."""
    if parts.requests is None:
        return judgement
    action = judgement.decision.action
    if not isinstance(action, ScaleTo) or action.replicas:
        parts.requests.end_wait(spec.key)
        return judgement
    wait = parts.requests.wait(spec)
    return judgement if wait is None else judge(spec, replace(judgement.facts, wakers=wait))


class Snapshots:
    """The fast path's part of a `Kind`; `ScaleLoop` takes the snapshots."""

    def __init__(self, parts: ScaledObjectDependencies) -> None:
        self._parts = parts

    def inputs(self, state: ObjectState) -> tuple[object, ...] | None:
        """What a look reads beside its sources; each is replaced when it changes.

        None while something is still to be written, or the cache of the target lags behind our own last scale.
        """
        spec, workloads, stored, namespace = state.spec, state.workloads, state.stored, state.key.namespace
        if spec is None or workloads is None or state.staged or state.written is not None:
            return None
        hpa = self._parts.caches.hpas.get(namespace, stored.get("hpaName", ""))
        return spec, stored, state.reason_fields, workloads.get(namespace, spec.target.name), hpa

    def snapshot_of(self, state: ObjectState, look: Look) -> Snapshot | None:
        """The snapshot of a look that wrote nothing; None if time alone may change what the next one comes to."""
        state.workloads = self._parts.caches.of_kind(state.target) if state.target is not None else None
        stands = SNAPSHOT_SECONDS if look.stands_until is None else (look.stands_until - look.at).total_seconds()
        if state.workloads is None or not stands or not lasts(look.decision):
            return None
        inputs, count = self.inputs(state), look.seen.replicas
        workload = state.workloads.get(state.key.namespace, look.spec.target.name)
        if inputs is None or workload is None or count is None or workload["spec"]["replicas"] != count:
            return None
        return Snapshot(
            inputs=inputs,
            outcomes=tuple(map(OUTCOME, look.readings.readings)),
            health=look.health,
            reason=look.decision.reason.value,
            look_again_at=look.decision.look_again_at,
            until=self._parts.shared.clock.monotonic()
            + min(SNAPSHOT_SECONDS, stands, seconds_until_due(state.ledger, look.at)),
        )

    def note_same(self, state: ObjectState, now: datetime) -> None:
        """A look was passed over: the account of savings goes on."""
        state.hpa_changed = False
        if state.ledger is not None:
            state.ledger = ledger = note(state.ledger, now, state.ledger.held)
            used, saved = ledger.total_replicas, ledger.total_saved
            self._parts.shared.instruments.record_savings(state.key, used=used, saved=saved)


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
    return await count_ready_pods(parts.shared.client, parts.reader, spec, state.target)
