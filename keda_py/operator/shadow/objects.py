"""ScaledObjects as a shadow works on them: the same steps as `scaled_objects/`, without a single write.

What would be scaled is remembered instead: `own` is the count that there would be by our doing, so that a workload
that only we would have woken goes through our cooldown, too.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from keda_py.core.activity import restore_activity
from keda_py.core.decision import ScaleTo
from keda_py.core.hpa.manifest import build_hpa
from keda_py.core.reading import Round
from keda_py.core.round import Outcome, conclude
from keda_py.core.shadow.comparison import Ours, Theirs, compare, compare_broken, own_replicas
from keda_py.core.spec import ScalingSpec
from keda_py.core.spec_rules import check_bounds, check_triggers
from keda_py.errors import ConfigError, KubeError, ScalerError
from keda_py.kube.resources import Obj
from keda_py.operator.cluster.caches import unpack_hpa
from keda_py.operator.controller.after_look import note_decision, schedule_next
from keda_py.operator.controller.finalizer import end_loop
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.scalers import build_scalers
from keda_py.operator.controller.state import fingerprint_of
from keda_py.operator.controller.steps import StepError
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.observing import observe
from keda_py.operator.scaled_objects.record_entry import entry_of
from keda_py.operator.scaled_objects.report import Look, look_of
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.shadow.comparisons import PAUSED, SLACK, Comparisons


@dataclass(slots=True)
class ShadowState(ObjectState):
    """`own` is the count by our doing, None before the first look; `hpa` the manifest that we would write."""

    own: int | None = None
    hpa: dict[str, Any] | None = None


class ShadowedObjects(Kind[ShadowState]):
    """The kind for `Controller`."""

    new = ShadowState

    def __init__(self, parts: ScaledObjectDependencies, told: Comparisons) -> None:
        self._parts, self._told = parts, told
        self.live = parts.caches.scaled_objects

    async def reconcile(self, state: ShadowState, live: Obj) -> None:
        """From a spec to a scale loop; what stops it is what we would tell in Ready. Raises StepError, KubeError."""
        fingerprint = fingerprint_of(live)
        try:
            await self._prepare(state, live)
        except (ConfigError, ScalerError, KubeError) as error:
            state.stop()
            await self._parts.readings.forget(state.key)
            self._told.note(state, compare_broken(str(error), self._theirs(state, None)), SLACK)
            raise StepError(f"a shadow cannot follow it: {error}", error) from error
        state.fingerprint = fingerprint

    async def _prepare(self, state: ShadowState, live: Obj) -> None:
        parts = self._parts
        spec = parts.specs.read(live)
        if spec.pause.stopped:
            state.stop()
            await parts.readings.forget(state.key)
            self._told.skip(state, PAUSED)
            return
        state.target, _ = await parts.targets.resolve(spec)
        check_bounds(spec)
        check_triggers(spec.triggers)
        metrics = await build_scalers(parts, state, spec, live)
        state.hpa = build_hpa(spec, metrics)
        if state.activity is None:
            state.activity = restore_activity(state.status, parts.clock.now(), parts.clock.monotonic())
        state.spec, state.metrics, state.next_look = spec, metrics, 0.0

    async def look(self, state: ShadowState) -> None:
        """Observe, decide, and compare in place of applying. Raises KubeError."""
        spec = state.spec
        if spec is None:
            return
        state.looking = True
        try:
            readings = await self._parts.readings.poll(state.key, state.changed, ahead=state.take_ahead())
            if readings is None or state.spec is not spec:
                return
            look, theirs = await self._decide(state, spec, readings)
            note_decision(self._parts, state, entry_of(look))
            self._parts.instruments.process.record_decision(look.decision.reason.value)
            self._parts.readings.note_idle(state.key, idle=look.idle)
            claims = compare(self._ours(state, look), self._theirs(state, theirs))
            self._told.note(state, claims, spec.polling_interval + SLACK, readings)
            schedule_next(self._parts, state, readings, look.decision.look_again_at)
        finally:
            state.looking = False

    async def _decide(self, state: ShadowState, spec: ScalingSpec, readings: Round) -> tuple[Look, int | None]:
        """The look as if each decision had been applied, and the count that there is."""
        judgement, _ = await observe(self._parts, state, spec, readings, partial(own_replicas, spec, state.own))
        outcome = None
        if isinstance(judgement.decision.action, ScaleTo):
            outcome = Outcome(before=judgement.seen.replicas or 0)
        conclusion = conclude(judgement, outcome)
        look = look_of(judgement, outcome, conclusion)
        state.activity = look.activity
        state.own = judgement.seen.replicas if look.scaled_to is None else look.scaled_to
        return look, judgement.facts.replicas

    def _ours(self, state: ShadowState, look: Look) -> Ours:
        said = [f"{one.metric} {one.error or f'{one.value:g}'}" for one in entry_of(look).triggers]
        return Ours(
            spec=look.spec,
            replicas=state.own,
            decision=look.decision,
            evaluation=look.evaluation,
            in_fallback=look.in_fallback,
            hpa=state.hpa or {},
            why="; ".join((look.decision.reason.value, *said))[:300],
        )

    def _theirs(self, state: ShadowState, replicas: int | None) -> Theirs:
        """The status is the other side's; the HPA the one that it names, else the one that we would make."""
        namespace, name = state.key.namespace, str(state.status.get("hpaName") or "")
        if not name and state.hpa is not None:
            name = state.hpa["metadata"]["name"]
        live = self._parts.caches.hpas.get(namespace, name)
        return Theirs(replicas=replicas, status=state.status, hpa=unpack_hpa(live) if live is not None else None)

    async def finalize(self, state: ShadowState, live: Obj) -> None:
        """It is the other side's to let go; we only stop."""
        await end_loop(self._parts, state)

    def forget(self, state: ShadowState) -> None:
        """Its disagreements are over."""
        self._parts.targets.forget(state)
        self._told.forget(state)
