"""Report of a look at a ScaledObject: its entry in the decision record, our metrics, and Events.

The entry says what every trigger said, and what came of it; which Events follow from a look is told by `report.py`.
"""

from datetime import datetime, timedelta

from keda_py.core.decision import Reason, ScaleTo
from keda_py.core.evaluation import Evaluation
from keda_py.core.meaning.causes import cause_of
from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.core.reading import MetricReading
from keda_py.core.spec import ScalingSpec
from keda_py.errors import ScalerError
from keda_py.operator.controller.after_look import note_decision, record_events
from keda_py.operator.decisions.record import Entry, TriggerNote
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.report import Look, events_of
from keda_py.operator.scaled_objects.state import ObjectState


def report(parts: ScaledObjectDependencies, state: ObjectState, look: Look) -> None:
    """Record a look in metrics, decision record and Events; status and log are the caller's."""
    instruments = parts.shared.instruments
    instruments.process.record_decision(look.decision.reason.value)
    if state.ledger is not None:
        used, saved = state.ledger.total_replicas, state.ledger.total_saved
        instruments.record_savings(state.key, used=used, saved=saved)
    instruments.record_evaluation(state.key, look.evaluation)
    if look.spec.fallback is not None:
        instruments.record_fallback(state.key, active=look.in_fallback)
    if look.awake is not None:
        instruments.record_awake(state.key, awake=look.awake)
    note_decision(parts.shared, state, entry_of(look))
    record_events(parts.shared, state, parts.caches.scaled_objects, events_of(look))


def entry_of(look: Look) -> Entry:
    """The entry; a scale that failed has changed nothing."""
    before = look.outcome.before if look.outcome else look.seen.replicas
    ruling = _ruling(look)
    return Entry(
        at=look.at,
        reason=look.decision.reason,
        triggers=tuple(_trigger(reading, look) for reading in look.readings.readings),
        formula=_formula(look.evaluation),
        before=before,
        after=before if look.scaled_to is None else look.scaled_to,
        error=look.refusal,
        cooldown_left=_cooldown_left(look),
        next_change=look.decision.look_again_at,
        notes=(*filter(None, (look.spec.ruled_by,)), *look.evaluation.notes),
        because=ruling or _cause(look),
        ruled=bool(ruling),
    )


def _ruling(look: Look) -> str:
    """What ruled a change of the count: what lies over the manifest is not what lay there at the look before."""
    spec, before = look.spec, look.before.reason
    if not isinstance(look.decision.action, ScaleTo):
        return ""
    waited = before.get("reason") == Reason.AWAITING_TURN
    return (spec.ruled_by or spec.released_by) if waited or before.get("ruledBy", "") != spec.ruled_by else ""


def _cause(look: Look) -> str:
    is_changed = isinstance(look.decision.action, ScaleTo)
    return cause_of(look.decision, look.evaluation, look.spec) if is_changed else ""


def entry_paused(spec: ScalingSpec, before: int | None, now: datetime) -> Entry:
    """The entry of a pause by an Environment, an Override or a schedule; `before` is None if the count stays."""
    after = spec.pause.replica_count()
    return Entry(
        at=now,
        reason=Reason.PAUSED,
        before=before,
        after=after,
        notes=(spec.ruled_by,),
        because=spec.ruled_by,
        ruled=True,
    )


def _trigger(reading: MetricReading, look: Look) -> TriggerNote:
    outcome, name = reading.outcome, reading.metric.name
    failed = isinstance(outcome, ScalerError)
    return TriggerNote(
        metric=name,
        name=reading.metric.trigger_name,
        value=None if isinstance(outcome, ScalerError) else outcome.value,
        error=str(outcome) if failed else "",
        active=not isinstance(outcome, ScalerError) and bool(outcome.active),
        in_fallback=name in look.evaluation.in_fallback,
        failures=look.health[name].failures if name in look.health else 0,
    )


def _formula(evaluation: Evaluation) -> float | None:
    return next((value.milli / 1000 for value in evaluation.values if value.name == COMPOSITE_METRIC), None)


def _cooldown_left(look: Look) -> timedelta | None:
    if look.decision.reason is not Reason.COOLING_DOWN:
        return None
    spec, last = look.spec, look.seen.last_active
    over = spec.created + spec.initial_cooldown if last is None else last + spec.cooldown
    return over - look.at
