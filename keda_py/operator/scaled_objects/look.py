"""One look at one object: observe, decide, apply, and write down what came of it.

Fifth of the seven files (before: `operator/controller/controller.py`, next: `external_metrics/query.py`). A look
happens at every poll, at a schedule's boundary, at the end of a cooldown, and whenever another caller's question
produced a new reading. It reads caches and scalers, never the API server (`observing.py`); it writes only where
something changed (`telling.py`).
"""

import logging

from keda_py.core import conditions
from keda_py.core.activity import note_activity
from keda_py.core.conditions import with_condition
from keda_py.core.decision import Decision, ScaleTo, decide
from keda_py.core.settlement import Outcome, Settled, settle
from keda_py.core.spec import ScalingSpec
from keda_py.errors import Conflict, KubeError
from keda_py.operator.controller.state import ObjectState, about
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.observing import Look, observe
from keda_py.operator.scaled_objects.record_entries import DecisionInputs, entry_of
from keda_py.operator.scaled_objects.targets import Count
from keda_py.operator.scaled_objects.telling import live_of, note_reason, status_after, tell_failures, tell_fallback
from keda_py.readings.readings import Round

ATTEMPTS = 3
log = logging.getLogger(__name__)


class ScaleLoop:
    """Looks at objects whose reconcile has started a loop (`state.spec` is set)."""

    def __init__(self, parts: ScaledObjectDependencies) -> None:
        self._parts = parts

    async def look(self, state: ObjectState) -> None:
        """One round. Raises KubeError when the status could not be written; a failed scale is told, not raised."""
        spec = state.spec
        if spec is None:
            return
        state.looking = True
        try:
            readings = await self._parts.readings.poll(state.key, state.changed)
            if readings is None or state.spec is not spec:
                return
            look, decision, outcome = await self._act(state, spec, readings)
            tell_fallback(self._parts, state, spec, readings)
            await self._settle(state, spec, look, settle(spec, look.seen, decision, outcome))
            self._schedule(state, decision)
        finally:
            state.looking = False

    async def _act(
        self, state: ObjectState, spec: ScalingSpec, readings: Round
    ) -> tuple[Look, Decision, Outcome | None]:
        """Observe, decide and apply; when the target changed under our hands, observe and decide again."""
        for attempt in range(ATTEMPTS):
            look = await observe(self._parts, state, spec, readings)
            decision = decide(spec, look.seen, look.at)
            try:
                outcome = await self._apply(state, spec, decision, look)
            except Conflict as error:
                if attempt + 1 == ATTEMPTS:
                    outcome = Outcome(before=look.seen.replicas or 0, error=str(error))
                    break
                if state.target is not None:
                    await self._parts.targets.read_again(state, spec, state.target)
            else:
                break
        note_reason(state, decision, look)
        made = DecisionInputs(
            spec=spec,
            readings=readings,
            seen=look.seen,
            evaluation=look.evaluation,
            at=look.at,
            decision=decision,
            outcome=outcome,
            health=self._parts.readings.health(state.key),
        )
        self._parts.instruments.process.record_decision(decision.reason.value)
        self._parts.record.note(state.key, entry_of(made))
        return look, decision, outcome

    async def _apply(self, state: ObjectState, spec: ScalingSpec, decision: Decision, look: Look) -> Outcome | None:
        """Scale if decided so. Raises Conflict; every other refusal is an outcome."""
        if not isinstance(decision.action, ScaleTo) or look.count is None or state.target is None:
            return None
        if not self._parts.caches.watches(state.target):
            # What was read up to a minute ago is good enough to keep, not to scale.
            fresh = await self._parts.targets.read_again(state, spec, state.target)
            if fresh != look.count:
                raise Conflict("the scale target changed since it was last read")
        wanted = Count(replicas=decision.action.replicas, resource_version=look.count.resource_version)
        try:
            await self._parts.targets.write(state, spec, state.target, wanted)
        except Conflict:
            raise
        except KubeError as error:
            return Outcome(before=look.count.replicas, error=str(error))
        told = {"from": look.count.replicas, "to": wanted.replicas, "reason": decision.reason.value}
        log.info("scaled target", extra=about(state) | told)
        return Outcome(before=look.count.replicas)

    async def _settle(self, state: ObjectState, spec: ScalingSpec, look: Look, settled: Settled) -> None:
        """Activity, Events and status after the decision was applied."""
        clock = self._parts.clock
        # What was inherited counts as active until a first complete observation.
        if not (state.activity and state.activity.inherited and look.seen.failing):
            state.activity = note_activity(
                settled.last_active, now=look.at, monotonic=clock.monotonic(), until=look.evaluation.changes_at
            )
        if settled.event is not None:
            event = settled.event
            self._parts.events.record(live_of(self._parts, state), event.type, event.reason, event.note)
        tell_failures(self._parts, state, spec, look.evaluation)
        await self._parts.status.write(state, status_after(self._parts, state, spec, look, settled))

    async def refresh_hpa_condition(self, state: ObjectState) -> None:
        """Pass the HPA's ScalingActive on, between two looks."""
        hpa = conditions.hpa_active(self._parts.hpas.status(state.key.namespace, state.status.get("hpaName", "")))
        if hpa is not None and state.spec is not None:
            listed = with_condition(state.status.get("conditions") or conditions.INITIAL, "HPAActive", hpa)
            await self._parts.status.write(state, {"conditions": listed})

    def _schedule(self, state: ObjectState, decision: Decision) -> None:
        """The next poll on its source's grid, or earlier where a change is known in advance."""
        clock = self._parts.clock
        delay = self._parts.readings.next_phase(state.key, clock.monotonic()) - clock.monotonic()
        if decision.look_again_at is not None:
            delay = min(delay, max((decision.look_again_at - clock.now()).total_seconds(), 0.0) + 0.001)
        state.next_look = clock.monotonic() + delay
