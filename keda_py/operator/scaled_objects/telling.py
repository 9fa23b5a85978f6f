"""What a look leaves behind for people: status and conditions, the reason, and Events about failing triggers."""

import logging
from collections.abc import Mapping
from typing import Any

from keda_py.core import conditions
from keda_py.core.conditions import read_condition, with_condition
from keda_py.core.decision import Decision, Reason
from keda_py.core.fallback import FallbackState, shows_fallback
from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.core.settlement import Settled
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.times import write_time
from keda_py.errors import ScalerError
from keda_py.external_metrics.query import Evaluation
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.controller.record import odd_values
from keda_py.operator.controller.state import ObjectState, about
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.observing import Look
from keda_py.readings.readings import Round

NOTE_CHARACTERS = 300
FALLBACK_BEGINS = ("ScaledObjectFallbackActivated", "ScaledObject fallback is active")
FALLBACK_ENDS = ("ScaledObjectFallbackDeactivated", "ScaledObject fallback is no longer active")

log = logging.getLogger(__name__)


def status_after(
    parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec, look: Look, settled: Settled
) -> dict[str, Any]:
    """The status fields that a look is responsible for."""
    health = parts.readings.health(state.key)
    active = look.evaluation.active_metrics
    names = state.metrics.external_names if state.metrics else ()
    fields: dict[str, Any] = {
        "conditions": _conditions(parts, state, settled, in_fallback=shows_fallback(spec, health)),
        "triggersActivity": {name: {"isActive": name in active} for name in names} or None,
        "health": _health_status(spec, health) or None,
        "kedaPy": state.told or None,
    }
    return fields | _activity_fields(state, settled)


def note_reason(state: ObjectState, decision: Decision, look: Look) -> None:
    """`status.kedaPy`: changes with the reason only."""
    if _still_told(state, decision.reason):
        return
    told: dict[str, Any] = {"reason": decision.reason.value, "since": write_time(look.at)}
    if decision.look_again_at is not None:
        told["nextChange"] = write_time(decision.look_again_at)
    values = {value.name: write_milli(value.milli) for value in look.evaluation.values}
    errors = (str(error) for _, error in look.evaluation.errors)
    notes = [note[:NOTE_CHARACTERS] for note in (*errors, *look.evaluation.notes)]
    state.told = told | ({"values": values} if values else {}) | ({"notes": notes} if notes else {})


def told_paused(parts: ScaledObjectDependencies, state: ObjectState) -> Mapping[str, Any]:
    """`status.kedaPy` of an object that is not looked at."""
    if not _still_told(state, Reason.PAUSED):
        state.told = {"reason": Reason.PAUSED.value, "since": write_time(parts.clock.now())}
    return state.told


def _still_told(state: ObjectState, reason: Reason) -> bool:
    """The reason is the one that the status gives already; after a start that is all we know of it."""
    state.told = state.told or state.status.get("kedaPy") or {}
    return bool(state.told.get("reason") == reason.value)


def tell_fallback(parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec, seen: Round) -> None:
    """Events for entering and leaving the fallback, where a poll found out.

    As in KEDA, a change that the HPA's question found first shows in the Fallback condition alone: in the recorded
    case `fallback` the HPA asks more often than the poll, and there is no Event.
    """
    before = read_condition(state.status.get("conditions") or (), "Fallback").status == "True"
    now = shows_fallback(spec, parts.readings.health(state.key))
    if spec.fallback is not None:
        parts.instruments.record_fallback(state.key, active=now)
    telling = [one for one in seen.readings if isinstance(one.outcome, ScalerError) == now and not one.asked]
    if before == now or not telling:
        return
    reason, note = FALLBACK_BEGINS if now else FALLBACK_ENDS
    parts.tell(live_of(parts, state), "Normal", reason, note)
    if now:
        log.warning("fallback is active", extra=about(state))
    else:
        log.info("fallback is no longer active", extra=about(state))


def tell_failures(
    parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec, evaluation: Evaluation
) -> None:
    """One Event for each new trigger error; the same error is not told again while it lasts."""
    reason = "KEDAMetricSourceFailed" if spec.modifiers else "KEDAScalerFailed"
    messages = tuple(str(error) for _, error in evaluation.errors)
    for message in messages:
        if message not in state.failures:
            parts.events.record(live_of(parts, state), "Warning", reason, message)
    state.failures = messages
    entry = parts.record.last(state.key)
    if entry is not None:
        _tell_odd_values(parts, state, odd_values(entry))
        _log_refusals(state, entry.error)


def _log_refusals(state: ObjectState, error: str) -> None:
    """A line when the target begins to be out of reach, and one when it is not any more; the Events are KEDA's."""
    if error and not state.out_of_reach:
        log.warning("target cannot be read or scaled", extra=about(state) | {"error": error})
    elif state.out_of_reach and not error:
        log.info("target can be scaled again", extra=about(state))
    state.out_of_reach = bool(error)


def _tell_odd_values(parts: ScaledObjectDependencies, state: ObjectState, odd: Mapping[str, str]) -> None:
    """A log line and an Event when a value begins to be other than its source or formula said; a line when it ends."""
    for name in odd.keys() - state.odd:
        log.warning("metric has an odd value", extra=about(state) | {"metric": name, "note": odd[name]})
        reason = "KEDAMetricSourceFailed" if name == COMPOSITE_METRIC else "KEDAScalerFailed"
        parts.events.record(live_of(parts, state), "Warning", reason, f"{name}: {odd[name]}")
    for name in state.odd - odd.keys():
        log.info("metric has no odd value any more", extra=about(state) | {"metric": name})
    state.odd = frozenset(odd)


def live_of(parts: ScaledObjectDependencies, state: ObjectState) -> Obj:
    """The object as cached; its bare identity when it has just gone."""
    namespace, name = state.key.namespace, state.key.name
    kind = {"apiVersion": SCALED_OBJECTS.api_version, "kind": SCALED_OBJECTS.kind}
    known = parts.caches.scaled_objects.get(namespace, name)
    return known or kind | {"metadata": {"namespace": namespace, "name": name, "uid": state.uid}}


def _conditions(
    parts: ScaledObjectDependencies, state: ObjectState, settled: Settled, *, in_fallback: bool
) -> list[Mapping[str, Any]]:
    listed = state.status.get("conditions") or conditions.INITIAL
    listed = with_condition(listed, "Ready", settled.ready)
    if settled.active is not None:
        listed = with_condition(listed, "Active", settled.active)
    listed = with_condition(listed, "Fallback", conditions.FALLBACK if in_fallback else conditions.NO_FALLBACK)
    hpa_status = parts.hpas.status(state.key.namespace, state.status.get("hpaName", ""))
    if (hpa := conditions.hpa_active(hpa_status)) is not None:
        listed = with_condition(listed, "HPAActive", hpa)
    return list(listed)


def _activity_fields(state: ObjectState, settled: Settled) -> dict[str, Any]:
    """lastActiveTime goes to the wire when activity begins and when it ends, not with every poll."""
    was = read_condition(state.status.get("conditions") or (), "Active").status == "True"
    is_active = settled.active is not None and settled.active.status == "True"
    if settled.last_active is None or (was == is_active and "lastActiveTime" in state.status):
        return {}
    return {"lastActiveTime": write_time(settled.last_active)}


def write_milli(milli: int) -> str:
    """A value for people: 2.5, not 2500m."""
    return f"{milli / 1000:.3f}".rstrip("0").rstrip(".")


def _health_status(spec: ScalingSpec, health: Mapping[str, FallbackState]) -> dict[str, Any]:
    """Failures are counted up to the one that brings the fallback; a long outage costs no write per poll."""
    enough = spec.fallback.failure_threshold + 1 if spec.fallback else 0
    return {
        name: {"numberOfFailures": min(state.failures, enough), "status": state.status}
        for name, state in health.items()
    }
