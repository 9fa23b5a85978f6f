"""The decision about a ScaledJob, row by row."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.core.jobs.counts import Tally
from keda_py.core.jobs.decision import JobObservation, JobOutcome, JobReason, decide_jobs, reason_after
from keda_py.core.metric_names import NamedMetric
from keda_py.core.metric_specs import ExternalMetric
from keda_py.core.reading import MetricReading, Reading, Round
from keda_py.errors import ScalerError
from tests.core.jobs.test_counts import spec_of

NOW = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
EARLIER = NOW - timedelta(hours=3)
SOON = NOW + timedelta(minutes=5)
DOWN = ScalerError("redis: connection refused")


def metric(index: int) -> NamedMetric:
    name = f"s{index}-redis-jobs"
    spec = ExternalMetric(name="redis-jobs", target=5)
    return NamedMetric(trigger_index=index, trigger_name="", name=name, target=5, metric_type="AverageValue", spec=spec)


def seen(*answers: float | ScalerError, **fields: Any) -> JobObservation:
    """A round in which each trigger gave that length; active if there is any."""
    outcomes = [one if isinstance(one, ScalerError) else Reading(value=one, active=one > 0) for one in answers]
    readings = [MetricReading(metric=metric(n), outcome=one, taken_at=NOW) for n, one in enumerate(outcomes)]
    return JobObservation(**{"round": Round(readings=tuple(readings)), "tally": Tally(running=0), **fields})


ROWS = [
    # name, what was seen, reason, Jobs to create, Ready's reason, Active
    ("ten wait, five for a Job", seen(10), JobReason.CREATED, 2, "ScaledJobReady", "True"),
    ("one of two is there", seen(10, tally=Tally(running=1)), JobReason.CREATED, 1, "ScaledJobReady", "True"),
    ("both are there", seen(10, tally=Tally(running=2)), JobReason.ENOUGH, 0, "ScaledJobReady", "True"),
    ("nothing waits", seen(0), JobReason.INACTIVE, 0, "ScaledJobReady", "False"),
    ("out of sight", seen(10, known=False), JobReason.CLUSTER_UNKNOWN, 0, "ScaledJobReady", "True"),
    ("the only trigger fails", seen(DOWN), JobReason.TRIGGERS_FAIL, 0, "TriggerError", "False"),
    ("the other one fails", seen(10, DOWN), JobReason.CREATED, 2, "PartialTriggerError", "True"),
    ("the other one fails, enough", seen(10, DOWN, tally=Tally(running=2)), JobReason.SOME_TRIGGERS_FAIL, 0, "PartialTriggerError", "True"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("observed", "reason", "create", "ready", "active"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_the_decision_is_the_row_that_holds(
    observed: JobObservation, reason: JobReason, create: int, ready: str, active: str
) -> None:
    decision = decide_jobs(spec_of(), observed, NOW)
    assert (decision.reason, decision.create) == (reason, create)
    assert (decision.ready.reason, decision.active.status) == (ready, active)


@pytest.mark.parametrize(
    ("tally", "created", "reason"),
    [
        (Tally(running=0, elsewhere=7), 2, JobReason.CREATED),
        (Tally(running=0, elsewhere=8), 1, JobReason.CREATED),
        (Tally(running=0, elsewhere=9), 0, JobReason.NAMESPACE_FULL),
        (Tally(running=1, elsewhere=8), 0, JobReason.NAMESPACE_FULL),
        (Tally(running=0, elsewhere=20), 0, JobReason.NAMESPACE_FULL),
        (Tally(running=2, elsewhere=20), 0, JobReason.ENOUGH),
    ],
)
def test_no_more_jobs_are_created_than_the_namespace_has_room_for(
    tally: Tally, created: int, reason: JobReason
) -> None:
    decision = decide_jobs(replace(spec_of(), most_jobs=9), seen(10, tally=tally), NOW)
    assert (decision.create, decision.reason) == (created, reason)


def test_the_minimum_of_a_scaled_job_is_bounded_by_its_namespace_as_well() -> None:
    spec = replace(spec_of(), min_jobs=5, most_jobs=3)
    assert decide_jobs(spec, seen(0, tally=Tally(running=1, elsewhere=1)), NOW).create == 1


@pytest.mark.parametrize(
    ("answers", "created", "reason"),
    [
        ((10.0, 5.0), 2, JobReason.CREATED),
        ((10.0, 0.0), 0, JobReason.INACTIVE),
        ((0.0, 0.0), 0, JobReason.INACTIVE),
        ((10.0, DOWN), 0, JobReason.TRIGGERS_FAIL),
    ],
)
def test_where_all_triggers_have_to_be_active_jobs_come_only_if_they_are(
    answers: tuple[float | ScalerError, ...], created: int, reason: JobReason
) -> None:
    decision = decide_jobs(replace(spec_of(), needs_all=True), seen(*answers), NOW)
    assert (decision.create, decision.reason) == (created, reason)


def test_the_table_and_a_refusal_reach_every_reason() -> None:
    elsewhere = {JobReason.CREATE_FAILED, JobReason.NAMESPACE_FULL}
    assert {row[2] for row in ROWS} | elsewhere == set(JobReason)
    decision = decide_jobs(spec_of(), seen(10), NOW)
    assert reason_after(decision, JobOutcome(created=2)) is JobReason.CREATED
    assert reason_after(decision, JobOutcome(created=1, refusals=("quota",))) is JobReason.CREATE_FAILED


def test_work_is_activity_now_and_without_it_the_last_activity_stays() -> None:
    assert decide_jobs(spec_of(), seen(10, last_active=EARLIER), NOW).last_active == NOW
    assert decide_jobs(spec_of(), seen(0, last_active=EARLIER), NOW).last_active == EARLIER
    assert decide_jobs(spec_of(), seen(DOWN), NOW).last_active is None


def test_only_metrics_with_work_are_active() -> None:
    assert decide_jobs(spec_of(), seen(0, 10, DOWN), NOW).active_metrics == ("s1-redis-jobs",)


def test_the_next_look_is_at_the_first_known_change() -> None:
    changes = (SOON, None, SOON + timedelta(hours=1))
    readings = (
        MetricReading(metric=metric(n), outcome=Reading(value=0, active=False, changes_at=at), taken_at=NOW)
        for n, at in enumerate(changes)
    )
    observed = JobObservation(round=Round(readings=tuple(readings)), tally=Tally(running=0))
    assert decide_jobs(spec_of(), observed, NOW).look_again_at == SOON
