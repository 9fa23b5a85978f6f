"""The decision: from the spec and an observation to an action and its reason.

Third of the seven files (before: `core/spec.py`, next: `operator/controller/controller.py`). Pure. `decide` is an
ordered list of guards, one `Reason` a row of KEDA's executor table (behaviour reference, section 6); the first guard
that holds wins. Between 1 and N the HPA scales: this file only ever lifts from 0 (or idle), lowers to 0 (or idle), and
raises to min.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from keda_py.core.activity import SCALING_IN
from keda_py.core.conditions import ACTIVE, BROKEN, COOLDOWN, FORCED, NOT_ACTIVE, PARTIAL, READY, ConditionValue
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.times import earliest
from keda_py.core.waking.slices import WakersWait


class Reason(StrEnum):
    """Why a decision was taken: condition reason, Event text, log line and simulator column are derived from it."""

    REPLICAS_UNKNOWN = "ReplicasUnknown"
    PAUSED = "Paused"
    SCALE_OUT_PAUSED = "ScaleOutPaused"
    ACTIVATED = "Activated"
    AWAITING_TURN = "AwaitingTurn"
    SOME_TRIGGERS_FAIL = "SomeTriggersFail"
    ACTIVE = "Active"
    AWAITING_FALLBACK = "AwaitingFallback"
    TRIGGERS_FAIL = "TriggersFail"
    SCALE_IN_PAUSED = "ScaleInPaused"
    CLUSTER_UNKNOWN = "ClusterUnknown"
    SCALING_IN = SCALING_IN
    COOLING_DOWN = "CoolingDown"
    WAKERS_PENDING = "WakersPending"
    DEACTIVATED = "Deactivated"
    RAISED_TO_MIN = "RaisedToMin"
    INACTIVE = "Inactive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The result of one round of readings. `replicas` None: they could not be read, `replicas_error` says why.

    `active` counts triggers in fallback and resource-only objects as active; `failing` says that a trigger could not be
    read and no fallback covers it. `last_active` is the last activity before this round; `known` is False while the
    cluster has been out of sight too long to scale anything down. `wakers` says why its Services do not lead to wakers
    yet, although requests are to wake it.
    """

    replicas: int | None
    replicas_error: str = ""
    active: bool
    failing: bool = False
    active_metrics: tuple[str, ...] = ()
    last_active: datetime | None = None
    known: bool = True
    changes_at: datetime | None = None
    wakers: WakersWait | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleTo:
    """Set the target's replicas; `activates` tells activation, deactivation (False) or neither (None) apart."""

    replicas: int
    activates: bool | None


@dataclass(frozen=True, slots=True)
class Keep:
    """Leave the replicas to the HPA, or unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """An action, its reason, and when to look again at the latest (None: at the next poll)."""

    action: ScaleTo | Keep
    reason: Reason
    ready: ConditionValue = READY
    active: ConditionValue | None = None
    last_active: datetime | None = None
    look_again_at: datetime | None = None


def decide(spec: ScalingSpec, seen: Observation, now: datetime) -> Decision:
    """Return the decision of the first row of the table whose guard holds. `now` and every datetime are aware."""
    # First of all: without a count neither direction is known, and "unknown" must not become 0.
    if seen.replicas is None:
        message = f"Error getting current replicas count for ScaleTarget: {seen.replicas_error}"
        broken = ConditionValue("False", "ErrorGettingCurrentReplicas", message)
        return _keep(Reason.REPLICAS_UNKNOWN, seen, ready=broken, active=None)
    if spec.pause.stopped:
        return _keep(Reason.PAUSED, seen, active=None)
    if seen.active or spec.force_activation:
        return _decide_active(spec, seen, seen.replicas, now)
    return _decide_inactive(spec, seen, seen.replicas, now)


def lasts(decision: Decision) -> bool:
    """Whether the decision stays the same as time passes: there is nothing to do, and no cooldown is under way."""
    return decision.reason is Reason.INACTIVE


def _decide_active(spec: ScalingSpec, seen: Observation, replicas: int, now: datetime) -> Decision:
    # Force-activation is the reason even if triggers are active, too.
    active = FORCED if spec.force_activation else ACTIVE
    below_min = spec.idle_replicas is not None and replicas < spec.min_replicas
    if replicas == 0 or below_min:
        if spec.pause.scale_out:
            return _keep(Reason.SCALE_OUT_PAUSED, seen, active=active)
        lift = ScaleTo(replicas=max(spec.min_replicas, 1), activates=True)
        return replace(_keep(Reason.ACTIVATED, seen, active=active), action=lift, last_active=now)
    if seen.failing:
        return _keep(Reason.SOME_TRIGGERS_FAIL, seen, ready=PARTIAL, active=active)
    return replace(_keep(Reason.ACTIVE, seen, active=active), last_active=now)


def _decide_inactive(spec: ScalingSpec, seen: Observation, replicas: int, now: datetime) -> Decision:
    idle, minimum = spec.idle_replicas, spec.min_replicas
    if seen.failing and spec.fallback is not None and spec.fallback.replicas != 0:
        return _keep(Reason.AWAITING_FALLBACK, seen, active=NOT_ACTIVE)
    if seen.failing and spec.fallback is None:
        return _keep(Reason.TRIGGERS_FAIL, seen, ready=BROKEN, active=NOT_ACTIVE)
    if replicas > idle if idle is not None else replicas > 0 and minimum == 0:
        return _deactivate(spec, seen, replicas, now)
    if idle is None and replicas < minimum:
        raised = _keep(Reason.RAISED_TO_MIN, seen, active=NOT_ACTIVE)
        return replace(raised, action=ScaleTo(replicas=minimum, activates=None))
    return _keep(Reason.INACTIVE, seen, active=NOT_ACTIVE)


def _deactivate(spec: ScalingSpec, seen: Observation, replicas: int, now: datetime) -> Decision:
    if spec.pause.scale_in:
        return _keep(Reason.SCALE_IN_PAUSED, seen, active=NOT_ACTIVE)
    if not seen.known:
        return _keep(Reason.CLUSTER_UNKNOWN, seen, active=NOT_ACTIVE)
    if spec.after_scale_in and replicas > max(spec.min_replicas, 1):
        # Its HPA scales in first. The cooldown begins with the first look that finds it done (`core/round.py`).
        return replace(_keep(Reason.SCALING_IN, seen, active=NOT_ACTIVE), last_active=now)
    # As in KEDA, `initialCooldownPeriod` counts only while the object has never been active.
    over = spec.created + spec.initial_cooldown if seen.last_active is None else seen.last_active + spec.cooldown
    if now < over:
        at = over if seen.changes_at is None else min(over, seen.changes_at)
        return replace(_keep(Reason.COOLING_DOWN, seen, active=COOLDOWN), look_again_at=at)
    lower = ScaleTo(replicas=spec.min_replicas if spec.idle_replicas is None else spec.idle_replicas, activates=False)
    if seen.wakers is not None and lower.replicas == 0:
        # Last of all: the slices are made for an object that has nothing else to wait for.
        pending = ConditionValue("False", Reason.WAKERS_PENDING.value, f"Scaling to 0 waits: {seen.wakers.because}")
        waits = _keep(Reason.WAKERS_PENDING, seen, active=pending)
        return replace(waits, look_again_at=earliest(seen.wakers.until, seen.changes_at))
    return replace(_keep(Reason.DEACTIVATED, seen, active=NOT_ACTIVE), action=lower)


def _keep(
    reason: Reason, seen: Observation, *, ready: ConditionValue = READY, active: ConditionValue | None
) -> Decision:
    return Decision(
        action=Keep(),
        reason=reason,
        ready=ready,
        active=active,
        last_active=seen.last_active,
        look_again_at=seen.changes_at,
    )
