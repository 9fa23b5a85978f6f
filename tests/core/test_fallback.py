"""Behaviour reference, section 8, row by row."""

import pytest

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.fallback import (
    FallbackState,
    TargetCounts,
    count_outcome,
    exceeds_threshold,
    fallback_milli,
    has_valid_fallback,
    needs_ready_pods,
    needs_replicas,
    shows_fallback,
)
from keda_py.core.metric_names import MetricSet, NamedMetric
from keda_py.core.metric_specs import ExternalMetric
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.errors import ScalerError

THE_FAILURE = ScalerError("connection refused")


def spec_with(fallback=None, modifiers=None) -> ScalingSpec:
    body = {"scaleTargetRef": {"name": "app"}, "triggers": [{"type": "redis", "metadata": {}}]}
    if fallback is not None:
        body["fallback"] = {"failureThreshold": 3, "replicas": 6, **fallback}
    if modifiers is not None:
        body["advanced"] = {"scalingModifiers": {"formula": "a", "target": "5", **modifiers}}
    return build_spec(ScaledObject.model_validate({"metadata": {"name": "app", "namespace": "shop"}, "spec": body}))


def metric(target=5, metric_type="AverageValue") -> NamedMetric:
    return NamedMetric(
        trigger_index=0,
        trigger_name="",
        name="s0-redis-jobs",
        target=target,
        metric_type=metric_type,
        spec=ExternalMetric(name="redis-jobs", target=target),
    )


VALUES = [
    pytest.param({}, 5, "AverageValue", TargetCounts(), 30_000, id="static: the fallback's replicas times the target"),
    pytest.param({"replicas": 0}, 5, "AverageValue", TargetCounts(), 0, id="no replicas wanted: 0"),
    pytest.param({}, 2.01, "AverageValue", TargetCounts(), 12_060, id="a float target was rounded to 2010m before"),
    pytest.param({"replicas": 1}, 4.007, "AverageValue", TargetCounts(), 4006, id="float64 in KEDA's order: not 4007"),
    pytest.param(
        {"behavior": "currentReplicas"}, 5, "AverageValue", TargetCounts(replicas=4), 20_000, id="currentReplicas"
    ),
    pytest.param(
        {"behavior": "currentReplicasIfHigher"},
        5,
        "AverageValue",
        TargetCounts(replicas=9),
        45_000,
        id="if higher: it is",
    ),
    pytest.param(
        {"behavior": "currentReplicasIfHigher"},
        5,
        "AverageValue",
        TargetCounts(replicas=2),
        30_000,
        id="if higher: it is not",
    ),
    pytest.param(
        {"behavior": "currentReplicasIfLower"},
        5,
        "AverageValue",
        TargetCounts(replicas=2),
        10_000,
        id="if lower: it is",
    ),
    pytest.param(
        {"behavior": "currentReplicasIfLower"}, 5, "AverageValue", TargetCounts(replicas=9), 30_000, id="if lower: not"
    ),
    pytest.param({}, 5, "Value", TargetCounts(ready_pods=2), 15_000, id="Value: divided by the ready pods"),
    pytest.param({}, 5, "Value", TargetCounts(ready_pods=4), 7_500, id="Value: replicas may become a fraction"),
    pytest.param({"replicas": 2**31 - 1}, 1e18, "AverageValue", TargetCounts(), 2**63 - 1, id="never overflows"),
]


@pytest.mark.parametrize(("fallback", "target", "metric_type", "workload", "milli"), VALUES)
def test_the_value_makes_an_hpa_ask_for_the_fallbacks_replicas(fallback, target, metric_type, workload, milli):
    assert fallback_milli(spec_with(fallback), metric(target, metric_type), workload, THE_FAILURE) == milli


@pytest.mark.parametrize(
    ("modifiers", "workload", "milli"),
    [
        pytest.param({}, TargetCounts(), 30_000, id="the formula's target counts, not the trigger's"),
        pytest.param({"metricType": "Value"}, TargetCounts(ready_pods=3), 10_000, id="the formula's metricType counts"),
    ],
)
def test_under_scaling_modifiers_the_value_follows_the_formulas_target(modifiers, workload, milli):
    assert fallback_milli(spec_with({}, modifiers), metric(target=99), workload, THE_FAILURE) == milli


def test_replicas_that_cannot_be_read_leave_the_first_error():
    with pytest.raises(ScalerError, match=r"^connection refused$"):
        fallback_milli(spec_with({"behavior": "currentReplicas"}), metric(), TargetCounts(), THE_FAILURE)


@pytest.mark.parametrize("ready_pods", [0, None])
def test_a_value_metric_without_ready_pods_has_no_fallback(ready_pods):
    with pytest.raises(ScalerError, match="error performing fallback"):
        fallback_milli(spec_with({}), metric(metric_type="Value"), TargetCounts(ready_pods=ready_pods), THE_FAILURE)


@pytest.mark.parametrize(
    ("fallback", "modifiers", "valid"),
    [
        pytest.param(None, None, False, id="no fallback"),
        pytest.param({}, None, True, id="a plain one"),
        pytest.param({}, {"target": "5"}, True, id="formula with a whole target"),
        pytest.param({}, {"target": "+5"}, True, id="a sign is a number to Go"),
        pytest.param({}, {"target": "2.5"}, False, id="formula with a fraction as target"),
        pytest.param({}, {"target": "0"}, False, id="formula with target 0"),
        pytest.param({}, {"target": "-1"}, False, id="formula with a negative target"),
        pytest.param({}, {"target": "1_000"}, False, id="Python's underscores are no digits to Go"),
    ],
)
def test_a_fallback_that_cannot_be_computed_is_none(fallback, modifiers, valid):
    assert has_valid_fallback(spec_with(fallback, modifiers)) is valid


@pytest.mark.parametrize(
    ("threshold", "failures", "falls_back"),
    [(3, 0, False), (3, 3, False), (3, 4, True), (0, 0, False), (0, 1, True)],
    ids=["no failure", "as many as tolerated", "one more", "threshold 0, no failure", "threshold 0, first failure"],
)
def test_more_failures_than_the_threshold_make_a_fallback(threshold, failures, falls_back):
    spec = spec_with({"failureThreshold": threshold})
    state = FallbackState(failures=failures)
    assert exceeds_threshold(spec, state) is falls_back
    assert shows_fallback(spec, {"s0-other": FallbackState(), "s0-redis-jobs": state}) is falls_back


def test_one_success_forgets_all_failures():
    state = FallbackState(failures=17)
    assert count_outcome(state, failed=True) == FallbackState(failures=18)
    assert count_outcome(state, failed=False) == FallbackState()
    assert (state.status, FallbackState().status) == ("Failing", "Happy")


def test_only_what_a_fallback_depends_on_is_asked_for():
    values = MetricSet(external=(metric(metric_type="Value"),), resource=())
    averages = MetricSet(external=(metric(),), resource=())
    assert not needs_ready_pods(spec_with(), values)
    assert needs_ready_pods(spec_with({}), values)
    assert not needs_ready_pods(spec_with({}), averages)
    assert needs_ready_pods(spec_with({}, {"metricType": "Value"}), averages)
    assert not needs_replicas(spec_with({}))
    assert needs_replicas(spec_with({"behavior": "currentReplicasIfLower"}))
