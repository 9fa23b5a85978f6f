"""ScaledObjects as a shadow works on them: the same steps as `scaled_objects/`, without a single write.

A decision to scale is remembered in place of a write: `own` is the count that it would have led to. Else a workload
that only we would have woken would be found at 0 by each look, and never go through our cooldown.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from keda_py.core.activity import restore_activity
from keda_py.core.decision import ScaleTo
from keda_py.core.hpa.manifest import build_hpa
from keda_py.core.reading import Round
from keda_py.core.round import Outcome, conclude
from keda_py.core.shadow.comparison import OtherSide, OwnSide, compare, own_replicas
from keda_py.core.spec import ScalingSpec
from keda_py.core.spec_rules import check_bounds, check_triggers
from keda_py.kube.resources import Obj
from keda_py.operator.cluster.caches import unpack_hpa
from keda_py.operator.controller.scalers import build_scalers
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.observing import observe
from keda_py.operator.scaled_objects.report import Look, look_of
from keda_py.operator.scaled_objects.reporting import entry_of
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.shadow.comparisons import SLACK, Comparisons
from keda_py.operator.shadow.kind import ShadowedKind, ShadowLook


@dataclass(slots=True)
class ShadowState(ObjectState):
    """`own` is the count by our doing, None before the first look; `hpa` the manifest that we would write."""

    own: int | None = None
    hpa: dict[str, Any] | None = None


class ShadowedObjects(ShadowedKind[ShadowState]):
    """The kind for `Controller`."""

    new = ShadowState

    def __init__(self, parts: ScaledObjectDependencies, comparisons: Comparisons) -> None:
        super().__init__(parts.shared, comparisons, parts.caches.scaled_objects)
        self._parts = parts

    async def _prepare(self, state: ShadowState, live: Obj) -> bool:
        parts = self._parts
        spec = parts.specs.read(live)
        if spec.pause.stopped:
            return False
        state.target, _ = await parts.targets.resolve(spec)
        check_bounds(spec)
        check_triggers(spec.triggers)
        metrics = await build_scalers(parts.shared, state, spec, live)
        state.hpa = build_hpa(spec, metrics)
        if state.activity is None:
            state.activity = restore_activity(state.status, parts.shared.clock.now(), parts.shared.clock.monotonic())
        state.spec, state.metrics = spec, metrics
        state.due.look_now()
        return True

    async def _compare(self, state: ShadowState, readings: Round) -> ShadowLook | None:
        if (spec := state.spec) is None:
            return None
        look, replicas = await self._decide(state, spec, readings)
        return ShadowLook(
            entry=entry_of(look),
            claims=compare(self._own_side(state, look), self._other_side(state, replicas)),
            patience=spec.polling_interval + SLACK,
            idle=look.idle,
            look_again_at=look.decision.look_again_at,
        )

    async def _decide(self, state: ShadowState, spec: ScalingSpec, readings: Round) -> tuple[Look, int | None]:
        """Judge and conclude as if each decision had been applied; return the look, and the count that there is."""
        judgement, _ = await observe(self._parts, state, spec, readings, partial(own_replicas, spec, state.own))
        outcome = None
        if isinstance(judgement.decision.action, ScaleTo):
            outcome = Outcome(before=judgement.seen.replicas or 0)
        conclusion = conclude(judgement, outcome)
        look = look_of(judgement, outcome, conclusion)
        state.activity = look.activity
        state.own = judgement.seen.replicas if look.scaled_to is None else look.scaled_to
        return look, judgement.facts.replicas

    def _own_side(self, state: ShadowState, look: Look) -> OwnSide:
        said = [f"{one.metric} {one.error or f'{one.value:g}'}" for one in entry_of(look).triggers]
        return OwnSide(
            spec=look.spec,
            replicas=state.own,
            decision=look.decision,
            evaluation=look.evaluation,
            in_fallback=look.in_fallback,
            hpa=state.hpa or {},
            why="; ".join((look.decision.reason.value, *said))[:300],
        )

    def _other_side(self, state: ShadowState, replicas: int | None = None) -> OtherSide:
        """The status is the other side's; its HPA is the one that the status names, else the one that we would make."""
        namespace, name = state.key.namespace, str(state.status.get("hpaName") or "")
        if not name and state.hpa is not None:
            name = state.hpa["metadata"]["name"]
        live = self._parts.caches.hpas.get(namespace, name)
        return OtherSide(replicas=replicas, status=state.status, hpa=unpack_hpa(live) if live is not None else None)

    def forget(self, state: ShadowState) -> None:
        """End its disagreements, and forget its scale target."""
        self._parts.targets.forget(state)
        super().forget(state)
