"""ScaledJobs of both sides: when missing Jobs are a difference."""

import pytest

from keda_py.core.conditions import ACTIVE, NOT_ACTIVE, READY
from keda_py.core.jobs.counts import Demand
from keda_py.core.jobs.decision import JobDecision, JobReason
from keda_py.core.shadow.comparison import Matter, MissingJobs, compare_jobs


def decided(create: int) -> JobDecision:
    reason = JobReason.CREATED if create else JobReason.INACTIVE
    active = ACTIVE if create else NOT_ACTIVE
    demand = Demand(active=bool(create), length=create, jobs=create)
    return JobDecision(create=create, reason=reason, demand=demand, ready=READY, active=active)


def there(*uids: str) -> frozenset[str]:
    return frozenset(uids)


@pytest.mark.parametrize(
    ("create", "before", "now", "agree"),
    [
        pytest.param(3, None, there(), True, id="the first look"),
        pytest.param(3, MissingJobs(wanted=3, there=there()), there(), False, id="none came"),
        pytest.param(3, MissingJobs(wanted=3, there=there("a")), there("a"), False, id="none came beside one"),
        pytest.param(3, MissingJobs(wanted=3, there=there("a")), there("b"), True, id="work goes on arriving"),
        pytest.param(0, MissingJobs(wanted=3, there=there()), there(), True, id="the work is gone"),
        pytest.param(3, MissingJobs(wanted=0, there=there()), there(), True, id="the work has just come"),
    ],
)
def test_jobs_are_missing_where_none_came_since_they_were(
    create: int, before: MissingJobs | None, now: frozenset[str], agree: bool
) -> None:
    jobs, *others = compare_jobs(decided(create), "because", before, now, {})
    assert (jobs.matter, jobs.agree, jobs.ours.value) == (Matter.JOBS, agree, f"{create} more Jobs")
    assert jobs.theirs.value == f"none; {len(now)} there are"
    assert others == []


def test_conditions_are_compared_where_the_other_side_says_something() -> None:
    status = {
        "conditions": [
            {"type": "Active", "status": "False", "reason": "ScalerNotActive"},
            {"type": "Ready", "status": "True", "reason": "ScaledJobReady"},
        ]
    }
    claims = list(compare_jobs(decided(1), "because", None, there(), status))
    assert [(one.matter, one.agree) for one in claims] == [
        (Matter.JOBS, True),
        (Matter.ACTIVE, False),
        (Matter.READY, True),
    ]
