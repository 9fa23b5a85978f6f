"""A look as one value, with the Events and log lines that follow from it.

Made by `look.py`; the status is `status.py`, the decision record's entry `reporting.py`. All three are pure
functions of the value.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from keda_py.core.activity import ActivityState
from keda_py.core.conditions import read_condition
from keda_py.core.decision import Decision, Observation, Reason, ScaleTo
from keda_py.core.evaluation import Evaluation
from keda_py.core.fallback import FallbackState, shows_fallback
from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.core.reading import Round
from keda_py.core.round import Conclusion, EventNote, Judgement, Outcome, Settlement
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.quantity import counts_as_zero
from keda_py.errors import ScalerError
from keda_py.operator.scaled_objects.state import ObjectState

FALLBACK_BEGINS = EventNote(
    type="Normal", reason="ScaledObjectFallbackActivated", note="ScaledObject fallback is active"
)
FALLBACK_ENDS = EventNote(
    type="Normal", reason="ScaledObjectFallbackDeactivated", note="ScaledObject fallback is no longer active"
)
WAITS = EventNote(
    type="Normal",
    reason="KEDAScaleTargetActivationWaits",
    note="Activation waits for its turn: the operator wakes no more workloads a second (--activations-per-second)",
)

LogLine: TypeAlias = tuple[int, str, dict[str, object]]
"""Level, message and `extra=`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What people know from the looks before: the status, the trigger errors, metrics with an odd value, and whether
    the target could be neither read nor scaled. `reason` is `status.kedaPy`.
    """

    status: Mapping[str, Any] = field(default_factory=dict)
    reason: Mapping[str, Any] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    odd: frozenset[str] = frozenset()
    out_of_reach: bool = False


NOTHING: Mapping[str, Any] = {}
NEW = Before()


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Everything about one look: readings, facts, decision, and outcome (None if there was nothing to do).

    `settled` is what that leaves in the status, `activity` what the next look begins with; until `stands_until` equal
    facts come to an equal decision (`Conclusion`).
    """

    spec: ScalingSpec
    at: datetime
    readings: Round
    health: Mapping[str, FallbackState]
    evaluation: Evaluation
    seen: Observation
    decision: Decision
    outcome: Outcome | None
    settled: Settlement
    stands_until: datetime | None
    activity: ActivityState | None = None
    metric_names: tuple[str, ...] = ()
    hpa_status: Mapping[str, Any] = field(default_factory=dict)
    before: Before = NEW
    scaled_to: int | None = field(init=False, repr=False, compare=False)
    """The count that was written; None if none was, or it failed."""
    in_fallback: bool = field(init=False, repr=False, compare=False)
    """Whether the Fallback condition is True from now on."""
    tells_fallback: bool = field(init=False, repr=False, compare=False)
    """Whether that is told: it has changed, and a poll found out.

    As in KEDA, a change that the HPA's question found first shows in the Fallback condition alone: in the recorded
    case `fallback` the HPA asks more often than the poll, and there is no Event.
    """

    awake: bool | None = field(init=False, repr=False, compare=False)
    """Whether the workload has replicas now; None if that is not known, or it never goes to zero."""
    refusal: str = field(init=False, repr=False, compare=False)
    """Why the target could not be scaled or read, "" if it could."""
    idle: bool = field(init=False, repr=False, compare=False)
    """Nothing to do, and at zero or `idleReplicaCount`: no HPA asks, so that the next work is ours to find."""
    failures: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Trigger errors beyond any fallback, in words."""
    odd_values: Mapping[str, str] = field(init=False, repr=False, compare=False)
    """Notes by metric: a formula that fails or has no number, and values that count as 0 without being one."""

    def __post_init__(self) -> None:
        action, known = self.decision.action, self.before.status.get("conditions") or ()
        done = isinstance(action, ScaleTo) and self.outcome is not None and not self.outcome.error
        scaled_to = action.replicas if done and isinstance(action, ScaleTo) else None
        now, was = shows_fallback(self.spec, self.health), read_condition(known, "Fallback").status == "True"
        found = any(isinstance(one.outcome, ScalerError) == now and not one.asked for one in self.readings.readings)
        count = self.seen.replicas if scaled_to is None else scaled_to
        is_at_rest = count is not None and count in (0, self.spec.idle_replicas)
        for name, value in (
            ("scaled_to", scaled_to),
            ("in_fallback", now),
            ("tells_fallback", now != was and found),
            ("awake", _awake(self.spec, count)),
            ("refusal", self.outcome.error if self.outcome else self.seen.replicas_error),
            ("idle", is_at_rest and not self.evaluation.active),
            ("failures", tuple(str(error) for _, error in self.evaluation.errors)),
            ("odd_values", _odd_values(self.evaluation, self.readings)),
        ):
            object.__setattr__(self, name, value)


def _awake(spec: ScalingSpec, count: int | None) -> bool | None:
    lowest = spec.min_replicas if spec.idle_replicas is None else spec.idle_replicas
    return None if lowest > 0 or spec.resource_only or count is None else count > 0


def _odd_values(evaluation: Evaluation, readings: Round) -> Mapping[str, str]:
    """An empty answer that a scaler gives a meaning, and a value of a fallback, were asked for and are not odd."""
    if not evaluation.notes:
        return NOTHING
    answered = ((reading.metric.name, reading.outcome) for reading in readings.readings)
    odd = {name for name, outcome in answered if not isinstance(outcome, ScalerError) and counts_as_zero(outcome.value)}
    noted = (note.partition(": ") for note in evaluation.notes)
    return {name: text for name, _, text in noted if name == COMPOSITE_METRIC or name in odd}


def before_of(state: ObjectState, status: Mapping[str, Any]) -> Before:
    """What people know of an object whose status that is."""
    return Before(
        status=status,
        # After a start the status is all that is known of it.
        reason=state.reason_fields or status.get("kedaPy") or {},
        failures=state.failures,
        odd=state.odd,
        out_of_reach=state.out_of_reach,
    )


def look_of(
    judgement: Judgement,
    outcome: Outcome | None,
    conclusion: Conclusion,
    *,
    metric_names: tuple[str, ...] = (),
    hpa_status: Mapping[str, Any] = NOTHING,
    before: Before = NEW,
) -> Look:
    """The look that a concluded round was."""
    facts = judgement.facts
    return Look(
        spec=judgement.spec,
        at=facts.now,
        readings=facts.readings,
        health=facts.health,
        evaluation=judgement.evaluation,
        seen=judgement.seen,
        decision=judgement.decision,
        outcome=outcome,
        settled=conclusion.settled,
        stands_until=conclusion.stands_until,
        activity=conclusion.activity,
        metric_names=metric_names,
        hpa_status=hpa_status,
        before=before,
    )


def events_of(look: Look) -> Iterator[EventNote]:
    """The fallback's begin and end, what was scaled, and each trigger error and odd value that is new."""
    if look.tells_fallback:
        yield FALLBACK_BEGINS if look.in_fallback else FALLBACK_ENDS
    if (scaled := look.settled.event) is not None:
        yield scaled
    if look.decision.reason is Reason.AWAITING_TURN and look.before.reason.get("reason") != Reason.AWAITING_TURN.value:
        yield WAITS
    reason = "KEDAMetricSourceFailed" if look.spec.modifiers else "KEDAScalerFailed"
    for message in look.failures:
        if message not in look.before.failures:
            yield EventNote(type="Warning", reason=reason, note=message)
    for name, text in look.odd_values.items():
        if name not in look.before.odd:
            reason = "KEDAMetricSourceFailed" if name == COMPOSITE_METRIC else "KEDAScalerFailed"
            yield EventNote(type="Warning", reason=reason, note=f"{name}: {text}")


def log_lines_of(look: Look) -> Iterator[LogLine]:
    """A line when something begins, and one when it ends."""
    if look.scaled_to is not None and look.outcome is not None:
        fields: dict[str, object] = {
            "from": look.outcome.before,
            "to": look.scaled_to,
            "reason": look.decision.reason.value,
        }
        yield logging.INFO, "scaled target", fields
    if look.tells_fallback and look.in_fallback:
        yield logging.WARNING, "fallback is active", {}
    elif look.tells_fallback:
        yield logging.INFO, "fallback is no longer active", {}
    odd = look.odd_values
    for name in odd.keys() - look.before.odd:
        yield logging.WARNING, "metric has an odd value", {"metric": name, "note": odd[name]}
    for name in look.before.odd - odd.keys():
        yield logging.INFO, "metric has no odd value any more", {"metric": name}
    if look.refusal and not look.before.out_of_reach:
        yield logging.WARNING, "target cannot be read or scaled", {"error": look.refusal}
    elif look.before.out_of_reach and not look.refusal:
        yield logging.INFO, "target can be scaled again", {}
