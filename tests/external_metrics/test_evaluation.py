"""Evaluation of a round."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.evaluation import MetricValue
from keda_py.core.fallback import FallbackState, count_outcome, has_valid_fallback
from keda_py.core.values.quantity import to_milli
from tests.external_metrics.rounds import DOWN, FALLBACK, NOW, read, see, spec_with


@pytest.mark.parametrize(
    ("types", "outcomes", "active", "failing"),
    [
        pytest.param(["redis"], [read(1)], True, False, id="active trigger"),
        pytest.param(["redis"], [read(0, active=False)], False, False, id="inactive trigger"),
        pytest.param(["redis", "api"], [read(0, active=False), read(1)], True, False, id="one active of two"),
        pytest.param(["redis", "api"], [DOWN, read(1)], True, True, id="active and failing"),
        pytest.param(["redis", "api"], [DOWN, read(0, active=False)], False, True, id="inactive and failing"),
        pytest.param(["cpu"], [], True, False, id="only resources: always active"),
        pytest.param(["cpu", "redis"], [read(0, active=False)], False, False, id="mixed: the external one decides"),
        pytest.param(["cpu", "redis"], [DOWN], False, True, id="mixed: the external one fails"),
        pytest.param(["redis", "api"], [read(0, active=False)], False, True, id="a metric nobody read is not inactive"),
    ],
)
def test_activity_follows_the_external_triggers(types, outcomes, active, failing):
    seen = see(spec_with(*types), *outcomes)
    assert (seen.active, seen.failing) == (active, failing)


def test_an_evaluation_names_active_metrics_errors_and_the_next_change():
    later = NOW + timedelta(hours=2)
    seen = see(spec_with("cron", "redis", "api"), read(3, changes_at=later), DOWN, read(0, active=False))
    assert seen.values == (MetricValue(name="s0-cron", milli=3000), MetricValue(name="s2-api", milli=0))
    assert (seen.active_metrics, seen.errors, seen.changes_at) == (("s0-cron",), ((1, DOWN),), later)


@pytest.mark.parametrize(
    ("value", "milli"),
    [
        (3.0, 3000),
        (1.5, 1500),
        (0.0004, 0),
        (1.0005, 1000),  # the float is 1.000499999999999989...
        (2.0116, 2012),
        (0.1 + 0.2, 300),
        (float("nan"), 0),
        (float("inf"), 0),
        (float("-inf"), 0),
        (-7.0, 0),
        (1e300, 2**63 - 1),
    ],
)
def test_a_value_becomes_milli_with_three_decimals_and_never_overflows(value, milli):
    assert to_milli(value) == milli


def test_a_value_counted_as_zero_says_why():
    assert see(spec_with(), read(float("nan"), active=False)).notes == ("s0-redis: nan counts as 0",)


def test_a_fallback_counts_as_active_and_stands_in_for_poll_and_hpa_alike():
    seen = see(spec_with(fallback=FALLBACK), DOWN, failures=4)
    assert seen.values == (MetricValue(name="s0-redis", milli=30_000),)
    assert (seen.active, seen.failing, seen.in_fallback) == (True, False, ("s0-redis",))


def test_up_to_the_threshold_a_failure_is_an_error():
    seen = see(spec_with(fallback=FALLBACK), DOWN, failures=3)
    assert (seen.values, seen.active, seen.failing) == ((), False, True)


def test_a_fallback_that_cannot_be_computed_leaves_the_error():
    seen = see(spec_with(fallback={**FALLBACK, "behavior": "currentReplicas"}), DOWN, failures=9)
    assert (seen.values, seen.failing, seen.errors) == ((), True, ((0, DOWN),))


@given(
    outcomes=st.lists(st.booleans(), min_size=1, max_size=12),
    threshold=st.integers(min_value=0, max_value=5),
    replicas=st.integers(min_value=0, max_value=100),
    behavior=st.sampled_from([None, "static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"]),
)
def test_no_sequence_of_failures_yields_a_value_that_is_not_the_fallbacks(outcomes, threshold, replicas, behavior):
    fallback = {"failureThreshold": threshold, "replicas": replicas, "behavior": behavior} if behavior else None
    spec = spec_with(**({"fallback": fallback} if fallback else {}))
    state, in_a_row = FallbackState(), 0
    for failed in outcomes:
        state = count_outcome(state, failed=failed)
        in_a_row = in_a_row + 1 if failed else 0
        seen = see(spec, DOWN if failed else read(7), failures=state.failures, replicas=50)
        if not failed:
            assert seen.values == (MetricValue(name="s0-redis", milli=7000),)
        elif has_valid_fallback(spec) and in_a_row > threshold:
            assert seen.in_fallback == ("s0-redis",)
        else:
            assert (seen.values, seen.active, seen.failing) == ((), False, True)
