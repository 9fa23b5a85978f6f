"""A look at a ScaledJob as an entry of the decision record."""

from collections.abc import Iterator
from datetime import datetime

from keda_py.core.jobs.counts import Demand
from keda_py.core.jobs.reasons import reason_for
from keda_py.core.reading import Round
from keda_py.errors import ScalerError
from keda_py.operator.controller.record import Entry, JobCounts, TriggerNote


def entry_of(seen: Round, demand: Demand, counts: JobCounts, *, known: bool, error: str, at: datetime) -> Entry:
    """The entry; `error` is the API server's first refusal of a Job."""
    triggers = tuple(_triggers(seen))
    failing = any(trigger.error for trigger in triggers)
    reason = reason_for(demand, known=known, failing=failing, created=counts.created, refused=counts.refused)
    changes = [one.outcome.changes_at for one in seen.readings if not isinstance(one.outcome, ScalerError)]
    return Entry(
        at=at,
        reason=reason,
        triggers=triggers,
        error=error,
        next_change=min((change for change in changes if change is not None), default=None),
        jobs=counts,
    )


def _triggers(seen: Round) -> Iterator[TriggerNote]:
    for reading in seen.readings:
        metric, outcome = reading.metric, reading.outcome
        if isinstance(outcome, ScalerError):
            yield TriggerNote(metric=metric.name, name=metric.trigger_name, error=str(outcome))
        else:
            value, active = outcome.value, bool(outcome.active)
            yield TriggerNote(metric=metric.name, name=metric.trigger_name, value=value, active=active)
