"""The round: judge the facts, let the caller apply the decision, conclude with the outcome.

Operator, shadow, preview and simulation differ in how they learn the facts and in what they apply; between the two they
all call `judge`, and afterwards `conclude`. Pure. Both functions are the only callers of `decide`, `settle` and
`note_activity`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from keda_py.core.activity import ActivityState, last_active_before, note_activity
from keda_py.core.conditions import ConditionValue
from keda_py.core.decision import Decision, Keep, Observation, Reason, ScaleTo, decide
from keda_py.core.evaluation import Evaluation, evaluate
from keda_py.core.fallback import FallbackState
from keda_py.core.metric_names import MetricSet
from keda_py.core.reading import Round
from keda_py.core.spec import ScalingSpec
from keda_py.core.waking.slices import WakersWait


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a ScaleTo: the count before, and why it failed ("" when done)."""

    before: int
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """The status changes of an applied decision, and its Event."""

    ready: ConditionValue
    active: ConditionValue | None
    last_active: datetime | None
    event: "EventNote | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventNote:
    """A Kubernetes Event to be recorded."""

    type: Literal["Normal", "Warning"]
    reason: str
    note: str


def settle(spec: ScalingSpec, seen: Observation, decision: Decision, outcome: Outcome | None) -> Settlement:
    """Return status and Event after the decision was applied; `outcome` None: there was nothing to apply."""
    settled = Settlement(ready=decision.ready, active=decision.active, last_active=decision.last_active)
    match decision.action:
        case ScaleTo(replicas=replicas, activates=activates) if outcome is not None:
            failed = replace(settled, last_active=seen.last_active) if outcome.error else settled
            return replace(failed, event=_event_of(spec, seen, outcome, replicas=replicas, activates=activates))
        case _:
            return settled


def _event_of(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Input of a round, all at the moment `now` (aware), which is `monotonic` seconds on the other clock.

    `replicas` is None if the count could not be read; `replicas_error` says why. `own_replicas` is the count that a
    shadow decides on instead. `known` is False while the cluster has been out of sight too long to scale anything down.
    `ready_pods` matters only to some fallbacks. `wakers` says why requests would not reach a waker at 0 replicas.
    """

    now: datetime
    monotonic: float
    metrics: MetricSet
    readings: Round
    replicas: int | None
    replicas_error: str = ""
    own_replicas: int | None = None
    ready_pods: int | None = None
    health: Mapping[str, FallbackState] = field(default_factory=dict)
    activity: ActivityState | None = None
    known: bool = True
    wakers: WakersWait | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The evaluated readings, the observation, and the decision."""

    spec: ScalingSpec
    facts: Facts
    evaluation: Evaluation
    seen: Observation
    decision: Decision

    @property
    def wakes(self) -> bool:
        """Whether the decision raises a count of 0, which takes a turn in the cluster's budget of activations."""
        action = self.decision.action
        return self.seen.replicas == 0 and isinstance(action, ScaleTo) and action.replicas > 0

    def postponed(self) -> "Judgement":
        """Return the judgement without its action: nothing is done until its turn in that budget comes."""
        return replace(self, decision=replace(self.decision, action=Keep(), reason=Reason.AWAITING_TURN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The result of a round: status and Event, and the activity that the next round begins with.

    Until `stands_until` a round on equal facts reaches an equal decision and has nothing to do: it may be skipped.
    None: as long as the facts are equal. The round's own `now`: the next round must be taken.
    """

    settled: Settlement
    activity: ActivityState | None
    stands_until: datetime | None


def judge(spec: ScalingSpec, facts: Facts) -> Judgement:
    """Evaluate the readings and decide."""
    evaluation = evaluate(spec, facts.metrics, facts.readings, facts.health, facts.replicas, facts.ready_pods)
    activity = facts.activity
    seen = Observation(
        replicas=facts.replicas if facts.own_replicas is None else facts.own_replicas,
        replicas_error=facts.replicas_error,
        active=evaluation.active,
        failing=evaluation.failing,
        active_metrics=evaluation.active_metrics,
        last_active=last_active_before(activity, facts.now, facts.monotonic) if activity else None,
        known=facts.known,
        changes_at=evaluation.changes_at,
        wakers=facts.wakers,
    )
    decision = decide(spec, seen, facts.now)
    return Judgement(spec=spec, facts=facts, evaluation=evaluation, seen=seen, decision=decision)


def conclude(judgement: Judgement, outcome: Outcome | None) -> Conclusion:
    """Return the conclusion after the decision was applied; `outcome` None: there was nothing to apply."""
    settled = settle(judgement.spec, judgement.seen, judgement.decision, outcome)
    return Conclusion(
        settled=settled,
        activity=_activity_after(judgement, settled),
        stands_until=_stands_until(judgement),
    )


def _activity_after(judgement: Judgement, settled: Settlement) -> ActivityState | None:
    facts = judgement.facts
    # An inherited activity counts until a first complete observation: no replica saw what happened before.
    if facts.activity and facts.activity.inherited and judgement.seen.failing:
        return facts.activity
    until = judgement.evaluation.changes_at
    activity = note_activity(settled.last_active, now=facts.now, monotonic=facts.monotonic, until=until)
    if judgement.spec.after_scale_in and judgement.decision.reason in _BEFORE_COOLDOWN:
        return replace(activity, inherited=True)  # the cooldown begins at the first look that finds it scaled in
    return activity


_BEFORE_COOLDOWN = (Reason.ACTIVATED, Reason.ACTIVE, Reason.SCALING_IN)


def _stands_until(judgement: Judgement) -> datetime | None:
    facts, decision = judgement.facts, judgement.decision
    # A failed reading counts towards its threshold, and a formula may use the time, so the next round must be taken.
    unforeseen = judgement.seen.failing or judgement.evaluation.in_fallback or facts.metrics.composite is not None
    # An action may have failed or been overtaken, so that the next round has to see what became of it.
    if unforeseen or not isinstance(decision.action, Keep):
        return facts.now
    return None if decision.look_again_at is None else max(decision.look_again_at, facts.now)
