"""The rules of keda-py's own annotations: all triggers together, a bound for each, a cooldown after scaling in."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.activity import ActivityState, restore_activity
from keda_py.core.decision import Keep, Reason, ScaleTo
from keda_py.core.evaluation import Evaluation, evaluate
from keda_py.core.fallback import FallbackState
from keda_py.core.hpa.external import count_per_pod
from keda_py.core.hpa.metrics import Tolerance
from keda_py.core.metric_names import MetricSet, name_metrics
from keda_py.core.metric_specs import ExternalMetric
from keda_py.core.reading import MetricReading, Reading, Round
from keda_py.core.round import Conclusion, Facts, Judgement, Outcome, conclude, judge
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.core.values.quantity import target_milli
from keda_py.errors import ScalerError

NOW = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
DOWN = ScalerError("redis: connection refused")
ALL = {"keda-py.dev/active-when": "all"}
STEPWISE = {"keda-py.dev/cooldown": "after-scale-in"}
TARGETS: tuple[int | float, ...] = (5, 1)


def spec_of(annotations: dict[str, str], **spec: Any) -> ScalingSpec:
    triggers = [{"type": "redis", "name": name, "metadata": {}} for name in ("queue", "office")]
    body = {"scaleTargetRef": {"name": "app"}, "triggers": triggers, **spec}
    meta = {"name": "app", "namespace": "shop", "annotations": annotations}
    return build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))


def metrics_of(spec: ScalingSpec, *targets: int | float) -> MetricSet:
    return name_metrics(spec, [(ExternalMetric(name="jobs", target=target),) for target in targets])


def seen(spec: ScalingSpec, metrics: MetricSet, *answers: float | ScalerError) -> Round:
    """Active where there is any work."""
    outcomes = [one if isinstance(one, ScalerError) else Reading(value=one, active=one > 0) for one in answers]
    pairs = zip(metrics.external, outcomes, strict=True)
    return Round(readings=tuple(MetricReading(metric=one, outcome=said, taken_at=NOW) for one, said in pairs))


def evaluated(spec: ScalingSpec, *answers: float | ScalerError, failures: int = 0) -> Evaluation:
    metrics = metrics_of(spec, *TARGETS)
    health = dict.fromkeys(metrics.external_names, FallbackState(failures=failures))
    return evaluate(spec, metrics, seen(spec, metrics, *answers), health, 3, 3)


@pytest.mark.parametrize(
    ("answers", "active", "values"),
    [
        ((7.0, 3.0), True, (7000, 3000)),
        ((7.0, 0.0), False, (0, 0)),
        ((0.0, 3.0), False, (0, 0)),
        ((0.0, 0.0), False, (0, 0)),
        ((7.0, DOWN), False, ()),
        ((0.0, DOWN), False, ()),
        ((DOWN, DOWN), False, ()),
    ],
)
def test_all_triggers_have_to_be_active_for_the_object_and_for_its_hpa(
    answers: tuple[float | ScalerError, ...], active: bool, values: tuple[int, ...]
) -> None:
    found = evaluated(spec_of(ALL), *answers)
    assert (found.active, tuple(one.milli for one in found.values)) == (active, values)
    assert found.failing is any(isinstance(one, ScalerError) for one in answers)
    assert found.refuses is found.failing


def test_what_a_trigger_waits_for_is_told() -> None:
    assert evaluated(spec_of(ALL), 7.0, 0.0).notes == ("s0-jobs: waits for s1-jobs (keda-py.dev/active-when)",)
    assert evaluated(spec_of(ALL), 0.0, 0.0).notes == ()


@pytest.mark.parametrize(("other", "active"), [(7.0, True), (0.0, False)])
def test_a_trigger_in_fallback_counts_as_active_and_the_others_decide(other: float, active: bool) -> None:
    spec = spec_of(ALL, fallback={"failureThreshold": 3, "replicas": 6})
    assert evaluated(spec, other, DOWN, failures=4).active is active
    assert evaluated(spec, other, DOWN, failures=3).active is False
    assert evaluated(spec, other, DOWN, failures=3).failing


@given(st.lists(st.one_of(st.floats(0, 1e6), st.just(DOWN)), min_size=2, max_size=2))
def test_no_trigger_gets_more_by_the_others_and_none_is_down_by_an_error(answers: list[float | ScalerError]) -> None:
    together, alone = evaluated(spec_of(ALL), *answers), evaluated(spec_of({}), *answers)
    assert alone.active or not together.active
    own = {one.name: one.milli for one in alone.values}
    assert all(one.milli in (0, own[one.name]) for one in together.values)
    if any(isinstance(one, ScalerError) for one in answers):
        assert (together.failing, together.values) == (True, ())


TOLERANCE = Tolerance()


@given(
    value=st.floats(0, 1e9),
    target=st.one_of(st.integers(1, 10_000), st.floats(0.001, 10_000)),
    most=st.integers(1, 500),
    current=st.integers(1, 600),
)
def test_a_trigger_never_asks_its_hpa_for_more_than_it_may(
    value: float, target: int | float, most: int, current: int
) -> None:
    spec = spec_of({"keda-py.dev/max-replicas-per-trigger": f"queue={most}"})
    metrics = metrics_of(spec, target, 1)
    found = evaluate(spec, metrics, seen(spec, metrics, value, 0.0), {}, current, current)
    bare = evaluate(spec_of({}), metrics, seen(spec, metrics, value, 0.0), {}, current, current)
    amount = target_milli(target)
    asked, freely = (count_per_pod(one.values[0].milli, amount, current, TOLERANCE) for one in (found, bare))
    assert found.active is bare.active
    assert found.values[0].milli <= bare.values[0].milli
    assert found.values[1] == bare.values[1]
    # Within its tolerance an HPA leaves the count that another trigger has asked for.
    assert asked <= most or asked == current <= most * 1.1 + 1
    if freely <= most:
        assert found.values[0] == bare.values[0]


def test_what_is_cut_off_is_told_and_a_fallback_is_not_cut() -> None:
    most = {"keda-py.dev/max-replicas-per-trigger": "queue=4"}
    found = evaluated(spec_of(most), 73.0, 0.0)
    assert found.values[0].milli == 20_000
    assert found.notes == ("s0-jobs: asks for 4 at most (keda-py.dev/max-replicas-per-trigger)",)
    spec = spec_of(most, fallback={"failureThreshold": 3, "replicas": 6})
    assert evaluated(spec, DOWN, 0.0, failures=4).values[0].milli == 30_000


class Life:
    """One object with one trigger, looked at every 30 s."""

    def __init__(self, spec: ScalingSpec, activity: ActivityState | None = None) -> None:
        self.spec, self.metrics = spec, metrics_of(spec, *TARGETS)
        self.activity, self.seconds = activity or ActivityState(), 0.0

    def look(self, replicas: int, work: float | ScalerError = 0.0) -> Judgement:
        facts = Facts(
            now=NOW + timedelta(seconds=self.seconds),
            monotonic=self.seconds,
            metrics=self.metrics,
            readings=seen(self.spec, self.metrics, work, 0.0),
            replicas=replicas,
            activity=self.activity,
        )
        judgement = judge(self.spec, facts)
        outcome = Outcome(before=replicas) if isinstance(judgement.decision.action, ScaleTo) else None
        found: Conclusion = conclude(judgement, outcome)
        self.activity = found.activity or ActivityState()
        self.seconds += 30
        return judgement


def test_the_cooldown_begins_with_the_first_look_that_finds_it_scaled_in() -> None:
    life = Life(spec_of(STEPWISE, cooldownPeriod=60))
    assert life.look(5, 7.0).decision.reason is Reason.ACTIVE
    assert [life.look(count).decision.reason for count in (5, 5, 4, 2, 2, 2)] == [Reason.SCALING_IN] * 6
    cooling = [life.look(1).decision.reason for _ in range(2)]
    assert cooling == [Reason.COOLING_DOWN] * 2
    assert life.look(1).decision.reason is Reason.DEACTIVATED


def test_a_new_start_while_it_is_scaled_in_ends_no_cooldown_early() -> None:
    status = {
        "conditions": [{"type": "Active", "status": "False"}],
        "lastActiveTime": "2026-11-20T08:00:00Z",
        "kedaPy": {"reason": "ScalingIn"},
    }
    life = Life(spec_of(STEPWISE, cooldownPeriod=60), restore_activity(status, NOW, 0.0))
    assert [life.look(1).decision.reason for _ in range(3)] == [
        Reason.COOLING_DOWN,
        Reason.COOLING_DOWN,
        Reason.DEACTIVATED,
    ]


@given(
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0.0, 7.0, DOWN])), max_size=12),
    st.integers(0, 120),
    st.sampled_from([{}, {"minReplicaCount": 3, "idleReplicaCount": 0}, {"minReplicaCount": 3, "idleReplicaCount": 1}]),
)
def test_it_never_sleeps_from_above_its_minimum_nor_earlier_than_without(
    looks: list[tuple[int, float | ScalerError]], cooldown: int, bounds: dict[str, int]
) -> None:
    stepwise = Life(spec_of(STEPWISE, cooldownPeriod=cooldown, **bounds))
    plain = Life(spec_of({}, cooldownPeriod=cooldown, **bounds))
    floor = max(bounds.get("minReplicaCount", 0), 1)
    for replicas, work in looks:
        ours, theirs = (life.look(replicas, work).decision for life in (stepwise, plain))
        sleeps = isinstance(ours.action, ScaleTo) and ours.action.activates is False
        if sleeps:
            assert replicas <= floor
            assert theirs.reason is Reason.DEACTIVATED
        if theirs.reason is not Reason.DEACTIVATED and theirs.reason is not Reason.COOLING_DOWN:
            assert (ours.action, ours.reason) == (theirs.action, theirs.reason)
        assert ours.reason is not Reason.SCALING_IN or isinstance(ours.action, Keep)
