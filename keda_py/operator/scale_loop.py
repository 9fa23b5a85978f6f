"""One look at one object: observe, decide, apply, and write down what came of it.

Fourth of the six files (before: `core/decision.py`, next: `metrics/query.py`). A look happens at every poll, at a
schedule's boundary, at the end of a cooldown, and whenever somebody else's question produced a new reading. It reads
caches and scalers, never the API server; it writes only where something changed.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from keda_py.core import conditions
from keda_py.core.conditions import with_condition
from keda_py.core.decision import Decision, Observation, Outcome, ScaleTo, Settled, decide, settle
from keda_py.core.fallback import FallbackState, needs_ready_pods, shows_fallback
from keda_py.core.metric_names import MetricSet
from keda_py.core.spec import ScalingSpec
from keda_py.errors import Conflict, KubeError, ScalerError
from keda_py.kube.resources import Obj
from keda_py.metrics.query import Evaluation, evaluate
from keda_py.metrics.readings import Round
from keda_py.operator.activity import last_active_before, note_activity
from keda_py.operator.fallback_target import count_ready_pods
from keda_py.operator.parts import Parts
from keda_py.operator.state import ObjectState
from keda_py.operator.targets import Count

ATTEMPTS = 3
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a look found: the readings evaluated, the count that a write can name, and the observation made of both."""

    at: datetime
    evaluation: Evaluation
    count: Count | None
    seen: Observation


class ScaleLoop:
    """Looks at objects whose reconcile has started a loop (`state.spec` is set)."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def look(self, state: ObjectState) -> None:
        """One round. Raises KubeError when the status could not be written; a failed scale is told, not raised."""
        spec, metrics = state.spec, state.metrics
        if spec is None or metrics is None:
            return
        state.looking = True
        try:
            readings = await self._parts.readings.poll(state.key)
            if state.spec is not spec:
                return
            self._count_readings(state, readings)
            look, decision, outcome = await self._act(state, spec, metrics, readings)
            await self._settle(state, spec, look, settle(spec, look.seen, decision, outcome))
            self._schedule(state, decision)
        finally:
            state.looking = False

    def _count_readings(self, state: ObjectState, seen: Round) -> None:
        """Each reading once into our own metrics; one that was shared has been counted before."""
        scalers = self._parts.readings.built(state.key)
        for reading in seen.readings:
            if scalers is not None and (state.counted is None or reading.taken_at > state.counted):
                self._parts.instruments.record_reading(state.key, scalers, reading)
        state.counted = max((reading.taken_at for reading in seen.readings), default=state.counted)

    async def _act(
        self, state: ObjectState, spec: ScalingSpec, metrics: MetricSet, readings: Round
    ) -> tuple[Look, Decision, Outcome | None]:
        """Observe, decide and apply; when the target changed under our hands, observe and decide again."""
        for attempt in range(ATTEMPTS):
            look = await self._observe(state, spec, metrics, readings)
            decision = decide(spec, look.seen, look.at)
            try:
                outcome = await self._apply(state, spec, decision, look)
            except Conflict as error:
                if attempt + 1 == ATTEMPTS:
                    outcome = Outcome(before=look.seen.replicas or 0, error=str(error))
                    break
                await self._read_again(state, spec)
            else:
                break
        self._note_reason(state, decision, look)
        return look, decision, outcome

    async def _observe(self, state: ObjectState, spec: ScalingSpec, metrics: MetricSet, readings: Round) -> Look:
        count, trouble = await self._count(state, spec)
        health = self._parts.readings.health(state.key)
        replicas = count.replicas if count else None
        evaluation = evaluate(
            spec, metrics, readings, health, replicas, await self._ready_pods(state, spec, metrics, readings)
        )
        now, monotonic = self._parts.clock.now(), self._parts.clock.monotonic()
        seen = Observation(
            replicas=replicas,
            replicas_error=trouble,
            active=evaluation.active,
            failing=evaluation.failing,
            active_metrics=evaluation.active_metrics,
            last_active=last_active_before(state.activity, now, monotonic) if state.activity else None,
            known=self._parts.caches.known(),
            changes_at=evaluation.changes_at,
        )
        return Look(at=now, evaluation=evaluation, count=count, seen=seen)

    async def _ready_pods(self, state: ObjectState, spec: ScalingSpec, metrics: MetricSet, seen: Round) -> int | None:
        """Asked only where a fallback may have to be computed from it."""
        failed = any(isinstance(reading.outcome, ScalerError) for reading in seen.readings)
        if not failed or not needs_ready_pods(spec, metrics):
            return None
        return await count_ready_pods(self._parts.client, self._parts.reader, spec, state)

    async def _count(self, state: ObjectState, spec: ScalingSpec) -> tuple[Count | None, str]:
        if state.target is None:
            return None, "the scale target is not resolved"
        try:
            return await self._parts.targets.count(state, spec, state.target), ""
        except KubeError as error:
            return None, str(error)

    async def _read_again(self, state: ObjectState, spec: ScalingSpec) -> None:
        if state.target is not None:
            await self._parts.targets.read_again(state, spec, state.target)

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
        log.info("scaled target", extra=_about(state) | told)
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
            self._parts.events.record(self._live(state), event.type, event.reason, event.note)
        self._tell_failures(state, spec, look.evaluation)
        await self._parts.status.write(state, self._status(state, spec, look, settled))

    async def refresh_hpa_condition(self, state: ObjectState) -> None:
        """Pass the HPA's ScalingActive on, between two looks."""
        hpa = conditions.hpa_active(self._parts.hpas.status(state.key[0], state.status.get("hpaName", "")))
        if hpa is not None and state.spec is not None:
            listed = with_condition(state.status.get("conditions") or conditions.INITIAL, "HPAActive", hpa)
            await self._parts.status.write(state, {"conditions": listed})

    def _status(self, state: ObjectState, spec: ScalingSpec, look: Look, settled: Settled) -> dict[str, Any]:
        listed = state.status.get("conditions") or conditions.INITIAL
        listed = with_condition(listed, "Ready", settled.ready)
        if settled.active is not None:
            listed = with_condition(listed, "Active", settled.active)
        in_fallback = shows_fallback(spec, self._parts.readings.health(state.key))
        listed = with_condition(listed, "Fallback", conditions.FALLBACK if in_fallback else conditions.NO_FALLBACK)
        hpa_status = self._parts.hpas.status(spec.namespace, state.status.get("hpaName", ""))
        if (hpa := conditions.hpa_active(hpa_status)) is not None:
            listed = with_condition(listed, "HPAActive", hpa)
        active = look.evaluation.active_metrics
        names = state.metrics.external_names if state.metrics else ()
        fields: dict[str, Any] = {
            "conditions": list(listed),
            "triggersActivity": {name: {"isActive": name in active} for name in names} or None,
            "health": _health_status(self._parts.readings.health(state.key)) or None,
            "kedaPy": state.told or None,
        }
        return fields | self._activity_fields(state, settled)

    def _activity_fields(self, state: ObjectState, settled: Settled) -> dict[str, Any]:
        """lastActiveTime goes to the wire when activity begins and when it ends, not with every poll."""
        was = conditions.read_condition(state.status.get("conditions") or (), "Active").status == "True"
        now_active = settled.active is not None and settled.active.status == "True"
        if settled.last_active is None or (was and now_active and "lastActiveTime" in state.status):
            return {}
        return {"lastActiveTime": write_time(settled.last_active)}

    def _note_reason(self, state: ObjectState, decision: Decision, look: Look) -> None:
        """`status.kedaPy`: written with a change of reason only."""
        if state.told.get("reason") == decision.reason.value:
            return
        told: dict[str, Any] = {"reason": decision.reason.value, "since": write_time(self._parts.clock.now())}
        if decision.look_again_at is not None:
            told["nextChange"] = write_time(decision.look_again_at)
        values = {value.name: str(value.milli / 1000) for value in look.evaluation.values}
        state.told = told | ({"values": values} if values else {})

    def _tell_failures(self, state: ObjectState, spec: ScalingSpec, evaluation: Evaluation) -> None:
        """One Event for each new trigger error; the same error is not told again while it lasts."""
        reason = "KEDAMetricSourceFailed" if spec.modifiers else "KEDAScalerFailed"
        messages = tuple(str(error) for _, error in evaluation.errors)
        for message in messages:
            if message not in state.failures:
                self._parts.events.record(self._live(state), "Warning", reason, message)
                log.warning("trigger cannot be read", extra=_about(state) | {"error": message})
        if state.failures and not messages:
            log.info("triggers can be read again", extra=_about(state))
        state.failures = messages

    def _schedule(self, state: ObjectState, decision: Decision) -> None:
        """The next poll on its source's grid, or earlier where a change is known in advance."""
        clock = self._parts.clock
        delay = self._parts.readings.next_phase(state.key, clock.monotonic()) - clock.monotonic()
        if decision.look_again_at is not None:
            delay = min(delay, max((decision.look_again_at - clock.now()).total_seconds(), 0.0) + 0.001)
        state.next_look = clock.monotonic() + delay

    def _live(self, state: ObjectState) -> Obj:
        namespace, name = state.key
        known = self._parts.caches.scaled_objects.get(namespace, name)
        return known or {"metadata": {"namespace": namespace, "name": name, "uid": state.uid}}


def write_time(at: datetime) -> str:
    """An instant as Kubernetes writes it, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _health_status(health: Mapping[str, FallbackState]) -> dict[str, Any]:
    return {name: {"numberOfFailures": state.failures, "status": state.status} for name, state in health.items()}


def _about(state: ObjectState) -> dict[str, Any]:
    return {"namespace": state.key[0], "scaledobject": state.key[1]}
