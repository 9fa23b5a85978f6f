"""The results of a look at a ScaledJob: its status, its Events and its entry of the decision record.

Pure functions of one value, which `look.py` makes. Behaviour reference, sections 10.5 and 10.6.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keda_py.core import conditions
from keda_py.core.conditions import read_condition, with_condition
from keda_py.core.jobs.decision import JobDecision, JobObservation, JobOutcome, reason_after
from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.core.reading import MetricReading
from keda_py.core.round import EventNote
from keda_py.core.values.times import write_time
from keda_py.errors import ScalerError
from keda_py.operator.decisions.record import Entry, JobCounts, TriggerNote


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLook:
    """One look. `status` is that before it, `known_failures` are the trigger errors that the look before found."""

    spec: JobScalingSpec
    at: datetime
    seen: JobObservation
    decision: JobDecision
    outcome: JobOutcome
    metric_names: tuple[str, ...]
    status: Mapping[str, Any]
    known_failures: tuple[str, ...]

    @property
    def was_active(self) -> bool:
        """True if the status says Active until now."""
        return read_condition(self.status.get("conditions") or (), "Active").status == "True"

    @property
    def is_active(self) -> bool:
        """True if the status says Active from now on."""
        return self.decision.active.status == "True"

    @property
    def errors(self) -> tuple[str, ...]:
        """The errors of the triggers, in words."""
        return tuple(str(error) for error in self.seen.round.errors)


def status_of(look: JobLook) -> dict[str, Any]:
    """Write the fields that a look is responsible for; lastActiveTime when activity begins and when it ends."""
    decision = look.decision
    listed = look.status.get("conditions") or conditions.INITIAL
    listed = with_condition(with_condition(listed, "Ready", decision.ready), "Active", decision.active)
    fields: dict[str, Any] = {
        "conditions": list(listed),
        "triggersActivity": {name: {"isActive": name in decision.active_metrics} for name in look.metric_names} or None,
    }
    changed = look.is_active != look.was_active or "lastActiveTime" not in look.status
    if changed and decision.last_active is not None:
        fields["lastActiveTime"] = write_time(decision.last_active)
    return fields


def events_of(look: JobLook) -> Iterator[EventNote]:
    """Yield Events, in KEDA's words: Jobs tried, begin and end of activity, each trigger error that is new."""
    for error in look.outcome.refusals:
        note = f"Failed to create job {look.spec.name}-: {error}"
        yield EventNote(type="Warning", reason="KEDAJobCreateFailed", note=note)
    if look.decision.create:
        # As in KEDA the note counts what was tried.
        yield EventNote(type="Normal", reason="KEDAJobsCreated", note=f"Created {look.decision.create} jobs")
    if look.is_active != look.was_active:
        reason = "ScaledJobActive" if look.is_active else "ScaledJobInactive"
        yield EventNote(type="Normal", reason=reason, note=look.decision.active.message)
    for message in look.errors:
        if message not in look.known_failures:
            yield EventNote(type="Warning", reason="KEDAScalerFailed", note=message)


def entry_of(look: JobLook) -> Entry:
    """Write the entry; its error is the API server's first refusal of a Job."""
    tally, outcome = look.seen.tally, look.outcome
    return Entry(
        at=look.at,
        reason=reason_after(look.decision, outcome),
        triggers=tuple(_trigger(reading) for reading in look.seen.round.readings),
        error=next(iter(outcome.refusals), ""),
        next_change=look.decision.look_again_at,
        jobs=JobCounts(
            running=tally.running, pending=tally.pending, created=outcome.created, refused=len(outcome.refusals)
        ),
    )


def _trigger(reading: MetricReading) -> TriggerNote:
    metric, outcome = reading.metric, reading.outcome
    if isinstance(outcome, ScalerError):
        return TriggerNote(metric=metric.name, name=metric.trigger_name, error=str(outcome))
    return TriggerNote(metric=metric.name, name=metric.trigger_name, value=outcome.value, active=bool(outcome.active))
