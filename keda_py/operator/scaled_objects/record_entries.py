"""A look at a ScaledObject as an entry of the decision record: what every trigger said, and what came of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.core.decision import Decision, Observation, Reason, ScaleTo
from keda_py.core.evaluation import Evaluation
from keda_py.core.fallback import FallbackState
from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.core.reading import MetricReading, Round
from keda_py.core.settlement import Outcome
from keda_py.core.spec import ScalingSpec
from keda_py.errors import ScalerError
from keda_py.operator.controller.record import Entry, TriggerNote


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionInputs:
    """A decision with everything that it was made of, and what came of it."""

    spec: ScalingSpec
    readings: Round
    seen: Observation
    evaluation: Evaluation
    at: datetime
    decision: Decision
    outcome: Outcome | None
    health: Mapping[str, FallbackState]


def entry_of(made: DecisionInputs) -> Entry:
    """The entry; a scale that failed has changed nothing."""
    decision = made.decision
    before = made.outcome.before if made.outcome else made.seen.replicas
    scaled = isinstance(decision.action, ScaleTo) and made.outcome is not None and not made.outcome.error
    after = decision.action.replicas if scaled and isinstance(decision.action, ScaleTo) else before
    return Entry(
        at=made.at,
        reason=decision.reason,
        triggers=tuple(_triggers(made)),
        formula=_formula(made.evaluation),
        before=before,
        after=after,
        error=made.outcome.error if made.outcome else made.seen.replicas_error,
        cooldown_left=_cooldown_left(made),
        next_change=decision.look_again_at,
        notes=made.evaluation.notes,
    )


def _triggers(made: DecisionInputs) -> Iterator[TriggerNote]:
    for reading in made.readings.readings:
        yield _trigger(reading, made)


def _trigger(reading: MetricReading, made: DecisionInputs) -> TriggerNote:
    outcome, name = reading.outcome, reading.metric.name
    failed = isinstance(outcome, ScalerError)
    return TriggerNote(
        metric=name,
        name=reading.metric.trigger_name,
        value=None if isinstance(outcome, ScalerError) else outcome.value,
        error=str(outcome) if failed else "",
        active=not isinstance(outcome, ScalerError) and bool(outcome.active),
        in_fallback=name in made.evaluation.in_fallback,
        failures=made.health[name].failures if name in made.health else 0,
    )


def _formula(evaluation: Evaluation) -> float | None:
    return next((one.milli / 1000 for one in evaluation.values if one.name == COMPOSITE_METRIC), None)


def _cooldown_left(made: DecisionInputs) -> timedelta | None:
    if made.decision.reason is not Reason.COOLING_DOWN:
        return None
    spec, last = made.spec, made.seen.last_active
    over = spec.created + spec.initial_cooldown if last is None else last + spec.cooldown
    return over - made.at
