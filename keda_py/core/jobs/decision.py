"""The decision about a ScaledJob: how many Jobs to create now, and why. Pure; the counterpart of `core/decision.py`.

Behaviour reference, sections 10.5 and 10.6. Next in the flow: `operator/scaled_jobs/look.py`, which creates them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from keda_py.core.conditions import ConditionValue
from keda_py.core.jobs import conditions
from keda_py.core.jobs.counts import Demand, Queue, Tally, combine, jobs_to_create, room_for
from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.core.reading import MetricReading, Reading, Round
from keda_py.core.values.quantity import target_milli, to_milli

MILLI = 0.001


class JobReason(StrEnum):
    """Result of a look; `keda-py explain` has a sentence for each."""

    CLUSTER_UNKNOWN = "ClusterUnknown"
    CREATE_FAILED = "JobCreateFailed"
    CREATED = "JobsCreated"
    NAMESPACE_FULL = "NamespaceFull"
    SOME_TRIGGERS_FAIL = "SomeTriggersFail"
    ENOUGH = "EnoughJobs"
    TRIGGERS_FAIL = "TriggersFail"
    INACTIVE = "Inactive"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobObservation:
    """The result of one round of readings. `known` False: Jobs may have come and gone unseen, so none may be created.

    `last_active` is the last look with work before this one.
    """

    round: Round
    tally: Tally
    known: bool = True
    last_active: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDecision:
    """How many Jobs to create (CREATED if any), the reason, and when to look again at the latest (None: next poll)."""

    create: int
    reason: JobReason
    demand: Demand
    ready: ConditionValue
    active: ConditionValue
    active_metrics: tuple[str, ...] = ()
    last_active: datetime | None = None
    look_again_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """The outcome of a decision: Jobs created, and the refusals in words."""

    created: int = 0
    refusals: tuple[str, ...] = ()


def decide_jobs(spec: JobScalingSpec, seen: JobObservation, now: datetime) -> JobDecision:
    """Decide how many Jobs to create for the readings, beyond the existing ones. `now` is aware."""
    failing = bool(seen.round.errors)
    demand = combine(spec, _required(spec, list(_queues(seen.round)), failing=failing))
    wanted = jobs_to_create(spec, demand, seen.tally) if seen.known else 0
    create = min(wanted, room_for(spec, seen.tally))
    return JobDecision(
        create=create,
        reason=_reason(demand, known=seen.known, failing=failing, creates=create > 0, full=wanted > create),
        demand=demand,
        ready=conditions.ready(active=demand.active, failing=failing),
        active=conditions.activity(active=demand.active),
        active_metrics=tuple(one.metric.name for one, outcome in _answered(seen.round) if outcome.active),
        last_active=now if demand.active else seen.last_active,
        look_again_at=seen.round.changes_at,
    )


def reason_after(decision: JobDecision, outcome: JobOutcome) -> JobReason:
    """Return the reason after the decision was applied: a refusal replaces it."""
    return JobReason.CREATE_FAILED if outcome.refusals else decision.reason


def _reason(demand: Demand, *, known: bool, failing: bool, creates: bool, full: bool) -> JobReason:
    """Return the first reason that applies."""
    if not known:
        return JobReason.CLUSTER_UNKNOWN
    if creates:
        return JobReason.CREATED
    if full:
        return JobReason.NAMESPACE_FULL
    if demand.active:
        return JobReason.SOME_TRIGGERS_FAIL if failing else JobReason.ENOUGH
    return JobReason.TRIGGERS_FAIL if failing else JobReason.INACTIVE


def _required(spec: JobScalingSpec, queues: list[Queue], *, failing: bool) -> list[Queue]:
    """Return the queues that count; none where all triggers have to be active, and one is not, or cannot be read."""
    if spec.needs_all and (failing or not all(queue.active for queue in queues)):
        return []
    return queues


def _answered(seen: Round) -> Iterator[tuple[MetricReading, Reading]]:
    for one in seen.readings:
        if isinstance(one.outcome, Reading):
            yield one, one.outcome


def _queues(seen: Round) -> Iterator[Queue]:
    """Yield each good reading, rounded to thousandths, as KEDA's metrics are."""
    for one, outcome in _answered(seen):
        # A metric that is compared as a whole (Value) does not say how much one Job processes.
        averaged = one.metric.metric_type == "AverageValue"
        yield Queue(
            length=to_milli(outcome.value) * MILLI,
            target=target_milli(one.metric.target) * MILLI if averaged else 0.0,
            active=bool(outcome.active),
        )
