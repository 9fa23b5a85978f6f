"""What a decision leaves behind once it was applied, or could not be: conditions, last activity, an Event. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from keda_py.core.conditions import ConditionValue
from keda_py.core.decision import Decision, Observation, ScaleTo
from keda_py.core.spec import ScalingSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a ScaleTo: the count before, and why it failed ("" when done)."""

    before: int
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a decision leaves in the status once applied, and the Event that tells of it."""

    ready: ConditionValue
    active: ConditionValue | None
    last_active: datetime | None
    event: "EventNote | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventNote:
    """A Kubernetes Event in the making."""

    type: Literal["Normal", "Warning"]
    reason: str
    note: str


def settle(spec: ScalingSpec, seen: Observation, decision: Decision, outcome: Outcome | None) -> Settled:
    """The status and Event after the decision was applied; `outcome` None: there was nothing to apply."""
    settled = Settled(ready=decision.ready, active=decision.active, last_active=decision.last_active)
    match decision.action:
        case ScaleTo(replicas=replicas, activates=activates) if outcome is not None:
            failed = replace(settled, last_active=seen.last_active) if outcome.error else settled
            return replace(failed, event=_tell(spec, seen, outcome, replicas=replicas, activates=activates))
        case _:
            return settled


def _tell(
    spec: ScalingSpec, seen: Observation, outcome: Outcome, *, replicas: int, activates: bool | None
) -> EventNote | None:
    where = f"{spec.target.kind_name} {spec.namespace}/{spec.target.name} from {outcome.before} to {replicas}"
    if activates is None:
        return None
    if activates:
        forced = "caused by forced activation annotation" if spec.force_activation else ""
        cause = forced or f"triggered by {';'.join(seen.active_metrics)}"
        if outcome.error:
            return EventNote(
                type="Warning",
                reason="KEDAScaleTargetActivationFailed",
                note=f"Failed to scale {where}: {outcome.error}",
            )
        return EventNote(type="Normal", reason="KEDAScaleTargetActivated", note=f"Scaled {where}, {cause}")
    if outcome.error:
        return EventNote(
            type="Warning",
            reason="KEDAScaleTargetDeactivationFailed",
            note=f"Failed to deactivate {where}: {outcome.error}",
        )
    return EventNote(type="Normal", reason="KEDAScaleTargetDeactivated", note=f"Deactivated {where}")
