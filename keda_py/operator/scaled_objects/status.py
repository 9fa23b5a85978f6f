"""The status after a look: conditions, activity, health, and `status.kedaPy`, which says why in a few words."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from keda_py.core import conditions
from keda_py.core.conditions import read_condition, with_condition
from keda_py.core.decision import Reason
from keda_py.core.fallback import FallbackState
from keda_py.core.round import Settlement
from keda_py.core.savings.ledger import Ledger, is_due, write_ledger
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.times import write_time
from keda_py.operator.decisions.pruned_fields import SAVINGS
from keda_py.operator.scaled_objects.report import Before, Look

NOTE_CHARACTERS = 300
_MOVING = ("nextChange", "ruledBy")
"""Of `status.kedaPy`: what may change while the reason stays."""


def status_of(look: Look, own: Mapping[str, Any], ledger: Ledger | None) -> dict[str, Any]:
    """The fields that a look is responsible for; `own` is its `reason_of`."""
    active, settled = look.evaluation.active_metrics, look.settled
    fields: dict[str, Any] = {
        "conditions": _conditions(look, settled),
        "triggersActivity": {name: {"isActive": name in active} for name in look.metric_names} or None,
        "health": _health_status(look.spec, look.health) or None,
        "kedaPy": own or None,
    }
    if own is not look.before.reason or is_due(ledger, look.at):
        fields |= savings_of(ledger)
    return fields | _activity_fields(look.before, settled)


def reason_of(look: Look) -> Mapping[str, Any]:
    """`status.kedaPy`: changes with the reason, or with the next planned change, which is a time."""
    decision, before = look.decision, look.before.reason
    moving = _next_change(look.spec, decision.look_again_at) | _ruled_by(look.spec)
    if before.get("reason") == decision.reason.value:
        same = all(before.get(name) == moving.get(name) for name in _MOVING)
        return before if same else {name: value for name, value in before.items() if name not in _MOVING} | moving
    fields: dict[str, Any] = {"reason": decision.reason.value, "since": write_time(look.at)} | moving
    values = {value.name: write_milli(value.milli) for value in look.evaluation.values}
    notes = [note[:NOTE_CHARACTERS] for note in (*look.failures, *look.evaluation.notes)]
    return fields | ({"values": values} if values else {}) | ({"notes": notes} if notes else {})


def savings_of(ledger: Ledger | None) -> dict[str, Any]:
    """`status.kedaPySavings`, to be written with a change of `kedaPy`, or where it is due."""
    return {} if ledger is None else {SAVINGS: write_ledger(ledger)}


def reason_paused(before: Mapping[str, Any], spec: ScalingSpec, now: datetime) -> Mapping[str, Any]:
    """`status.kedaPy` of an object that is not looked at."""
    is_new = before.get("reason") != Reason.PAUSED.value
    since = write_time(now) if is_new else before.get("since", "")
    return {"reason": Reason.PAUSED.value, "since": since} | _next_change(spec, spec.pause.until) | _ruled_by(spec)


def _next_change(spec: ScalingSpec, at: datetime | None) -> dict[str, str]:
    """The first of its own next change and that of what rules it; texts of one form compare as times do."""
    known = [*([write_time(at)] if at is not None else []), *([spec.ruled_until] if spec.ruled_until else [])]
    return {"nextChange": min(known)} if known else {}


def _ruled_by(spec: ScalingSpec) -> dict[str, str]:
    return {"ruledBy": spec.ruled_by} if spec.ruled_by else {}


def write_milli(milli: int) -> str:
    """A value for people: 2.5, not 2500m."""
    return f"{milli / 1000:.3f}".rstrip("0").rstrip(".")


def _conditions(look: Look, settled: Settlement) -> list[Mapping[str, Any]]:
    listed = look.before.status.get("conditions") or conditions.INITIAL
    listed = with_condition(listed, "Ready", settled.ready)
    if settled.active is not None:
        listed = with_condition(listed, "Active", settled.active)
    elif not look.spec.pause.stopped:
        listed = with_condition(listed, "Active", conditions.resumed(read_condition(listed, "Active")))
    listed = with_condition(listed, "Fallback", conditions.FALLBACK if look.in_fallback else conditions.NO_FALLBACK)
    if (hpa := conditions.hpa_active(look.hpa_status)) is not None:
        listed = with_condition(listed, "HPAActive", hpa)
    return list(listed)


def _activity_fields(before: Before, settled: Settlement) -> dict[str, Any]:
    """lastActiveTime goes to the wire when activity begins and when it ends, not with every poll."""
    was = read_condition(before.status.get("conditions") or (), "Active").status == "True"
    is_active = settled.active is not None and settled.active.status == "True"
    if settled.last_active is None or (was == is_active and "lastActiveTime" in before.status):
        return {}
    return {"lastActiveTime": write_time(settled.last_active)}


def _health_status(spec: ScalingSpec, health: Mapping[str, FallbackState]) -> dict[str, Any]:
    """Failures are counted up to the one that brings the fallback; a long outage costs no write per poll."""
    enough = spec.fallback.failure_threshold + 1 if spec.fallback else 0
    return {
        name: {"numberOfFailures": min(state.failures, enough), "status": state.status}
        for name, state in health.items()
    }
