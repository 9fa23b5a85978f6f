"""How many Jobs: the four strategies, the four ways to combine triggers, the bounds."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_job import ScaledJob
from keda_py.core.jobs.counts import Demand, Queue, Tally, combine, jobs_to_create
from keda_py.core.jobs.spec import JobScalingSpec, build_job_spec, check_metric_types, effective_bounds
from keda_py.errors import ConfigError
from tests.places import GOLDEN

RECORDED = json.loads((GOLDEN / "scaledjobs.json").read_text(encoding="utf-8"))["cases"]
POLLS = 7
"""27 s at an interval of 5 s, and one more poll because KEDA's loop begins anew with its own first write."""

CREATED_TWICE = 53
"""KEDA counted its Jobs from a cache that did not show its last creation yet: 6 Jobs for a demand of 5."""


def spec_of(**spec: Any) -> JobScalingSpec:
    body = {"jobTargetRef": {"template": {}}, "triggers": [{"type": "redis", "metadata": {}}], **spec}
    return build_job_spec(parse_object(ScaledJob, {"metadata": {"name": "work", "namespace": "shop"}, "spec": body}))


def queue(length: float, target: float = 5, *, active: bool | None = None) -> Queue:
    return Queue(length=length, target=target, active=length > 0 if active is None else active)


@dataclass
class Case:
    number: int
    recorded: dict[str, Any]

    @property
    def spec(self) -> JobScalingSpec:
        taken = ("minReplicaCount", "maxReplicaCount", "scalingStrategy")
        return spec_of(**{name: self.recorded[name] for name in taken if name in self.recorded})

    @property
    def queues(self) -> list[Queue]:
        lengths = [self.recorded[name] for name in ("queue", "secondQueue") if name in self.recorded]
        return [queue(length, self.recorded["target"]) for length in lengths]

    def play(self) -> list[int]:
        """The number of Jobs after each poll; none ever ends."""
        counts = [0]
        for _ in range(POLLS):
            running = counts[-1]
            tally = Tally(running=running, pending=running if self.recorded["podsPending"] else 0)
            counts.append(running + jobs_to_create(self.spec, combine(self.spec, self.queues), tally))
        return counts


ACCEPTED = [Case(number, case) for number, case in enumerate(RECORDED) if "rejected" not in case]


def name_of(case: Case) -> str:
    strategy = case.recorded.get("scalingStrategy") or {}
    words = [str(case.number), strategy.get("strategy", "default"), strategy.get("multipleScalersCalculation", "")]
    return "-".join([*filter(None, words), f"queue{case.recorded['queue']}"])


@pytest.mark.parametrize("case", [case for case in ACCEPTED if case.number != CREATED_TWICE], ids=name_of)
def test_as_many_jobs_are_created_as_keda_created(case: Case) -> None:
    counts, seen = case.play(), case.recorded["jobs"]
    # Recorded is every number that was seen, perhaps between two creations of one poll; the last after about five.
    assert seen[-1] in counts[4:]
    assert seen == sorted(number for number in seen if 0 <= number <= counts[-1])


def test_the_recording_that_differs_is_a_creation_counted_too_late() -> None:
    case = ACCEPTED[[case.number for case in ACCEPTED].index(CREATED_TWICE)]
    assert case.play()[-1] == 5
    assert case.recorded["jobs"] == [6]


@pytest.mark.parametrize(
    "case", [case for case in RECORDED if "rejected" in case], ids=lambda case: case["rejected"][:40]
)
def test_what_the_api_server_refuses_is_refused_from_a_file_too(case: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        _ = Case(0, case).spec


@pytest.mark.parametrize(
    ("declared", "bounds"),
    [
        pytest.param((None, None), (0, 100), id="nothing declared"),
        pytest.param((None, 10), (0, 10), id="a maximum"),
        pytest.param((2, 10), (2, 8), id="a minimum takes its share of the maximum"),
        pytest.param((2, None), (2, 100), id="a minimum without a maximum leaves all of the default"),
        pytest.param((5, 3), (3, 3), id="a minimum above the maximum is cut, the maximum stays whole"),
        pytest.param((3, 3), (3, 0), id="no room beyond the minimum"),
    ],
)
def test_bounds(declared: tuple[int | None, int | None], bounds: tuple[int, int]) -> None:
    assert effective_bounds(*declared) == bounds


@pytest.mark.parametrize(
    ("calculation", "queues", "demand"),
    [
        pytest.param("max", [queue(12), queue(23)], (True, 23, 5), id="max takes the longest queue"),
        pytest.param("max", [queue(0, active=True)], (False, 0, 0), id="max over an empty queue is inactive"),
        pytest.param("max", [queue(50, active=False), queue(7)], (True, 7, 2), id="inactive triggers do not count"),
        pytest.param("min", [queue(12), queue(23)], (True, 12, 3), id="min takes the shortest queue"),
        pytest.param("min", [queue(0, active=True), queue(5)], (True, 5, 1), id="min leaves an empty first queue"),
        pytest.param("min", [queue(5), queue(0, active=True)], (True, 0, 0), id="min takes an empty later queue"),
        pytest.param("avg", [queue(12), queue(23)], (True, 18, 4), id="avg rounds up once, at the end"),
        pytest.param("sum", [queue(12), queue(23)], (True, 35, 7), id="sum adds before rounding up"),
        pytest.param("sum", [queue(80), queue(80)], (True, 160, 10), id="sum stays within the maximum"),
        pytest.param("sum", [], (False, 0, 0), id="no trigger could be read"),
        pytest.param("max", [queue(12, 0)], (True, 12, 0), id="a queue without a target is worth no jobs"),
    ],
)
def test_combination_of_triggers(calculation: str, queues: list[Queue], demand: tuple[bool, int, int]) -> None:
    spec = spec_of(maxReplicaCount=10, scalingStrategy={"multipleScalersCalculation": calculation})
    active, length, jobs = demand
    assert combine(spec, queues) == Demand(active=active, length=length, jobs=jobs)


def test_a_minimum_makes_an_idle_scaled_job_active() -> None:
    assert combine(spec_of(minReplicaCount=1), []).active


def test_an_inactive_scaled_job_creates_nothing() -> None:
    assert jobs_to_create(spec_of(), Demand(active=False, length=9, jobs=9), Tally(running=0)) == 0


@pytest.mark.parametrize("share", ["much", "", "NaN", "inf"])
def test_a_share_that_is_no_number_makes_custom_work_as_default(share: str) -> None:
    written = {
        "strategy": "custom",
        "customScalingQueueLengthDeduction": 1,
        "customScalingRunningJobPercentage": share,
    }
    assert spec_of(scalingStrategy=written).strategy.strategy == "default"


def test_the_deprecated_rollout_strategy_wins() -> None:
    assert spec_of(rolloutStrategy="gradual", rollout={"strategy": "immediate"}).gradual_rollout
    assert not spec_of(rolloutStrategy="immediate", rollout={"strategy": "gradual"}).gradual_rollout


def test_a_metric_type_is_refused_with_its_field() -> None:
    spec = spec_of(triggers=[{"type": "redis", "metadata": {}, "metricType": "Value"}])
    with pytest.raises(ConfigError, match=r'spec.triggers\[0\].metricType: "Value" means nothing to a ScaledJob'):
        check_metric_types(spec)


def tally_of(running: int, pending: int) -> Tally:
    """No more of them are pending than there are."""
    return Tally(running=running, pending=min(pending, running))


@given(
    lengths=some.lists(some.floats(0, 1e12), max_size=4),
    target=some.floats(0, 1e6),
    tally=some.builds(tally_of, running=some.integers(0, 300), pending=some.integers(0, 300)),
    bounds=some.tuples(some.integers(0, 20), some.integers(1, 200)),
    strategy=some.sampled_from(["default", "custom", "accurate", "eager"]),
    calculation=some.sampled_from(["min", "max", "avg", "sum"]),
)
def test_never_less_than_nothing_and_never_more_than_there_is_room_for(
    lengths: list[float],
    target: float,
    tally: Tally,
    bounds: tuple[int, int],
    strategy: str,
    calculation: str,
) -> None:
    written = {"strategy": strategy, "customScalingRunningJobPercentage": "0.5"}
    spec = spec_of(
        minReplicaCount=bounds[0],
        maxReplicaCount=bounds[1],
        scalingStrategy={**written, "multipleScalersCalculation": calculation},
    )
    demand = combine(spec, [queue(length, target) for length in lengths])
    created = jobs_to_create(spec, demand, tally)
    assert 0 <= created <= max(spec.min_jobs, spec.extra_jobs)
    if strategy == "default":
        assert created == 0 or tally.running + created <= spec.min_jobs + spec.extra_jobs
