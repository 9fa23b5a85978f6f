"""Stabilisation windows, policies and limits, one rule at a time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.hpa.behavior import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    Behavior,
    Bounds,
    HpaHistory,
    PolicyType,
    Recommendation,
    ScaleEvent,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    limit,
    remember_change,
    stabilise,
)

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
FIVE_MINUTES = timedelta(minutes=5)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def recommended(*entries: tuple[int, float]) -> HpaHistory:
    """(replicas, seconds ago)."""
    return HpaHistory(recommendations=tuple(Recommendation(replicas, ago(seconds)) for replicas, seconds in entries))


def policy(type: PolicyType, value: int, seconds: int = 60) -> ScalingPolicy:
    return ScalingPolicy(type=type, value=value, period=timedelta(seconds=seconds))


def rules(*policies: ScalingPolicy, select: SelectPolicy = SelectPolicy.MAX) -> ScalingRules:
    return ScalingRules(policies=policies, select_policy=select)


TEN_PERCENT, FIVE_PODS = policy(PolicyType.PERCENT, 10), policy(PolicyType.PODS, 5)


class TestStabilise:
    @pytest.mark.parametrize(
        ("history", "proposal", "stabilised", "reason"),
        [
            pytest.param(recommended(), 3, 3, "ReadyForNewScale", id="no history"),
            pytest.param(recommended((8, 299)), 3, 8, "ScaleDownStabilized", id="higher within the window"),
            pytest.param(recommended((8, 300)), 3, 8, "ScaleDownStabilized", id="at the end of the window"),
            pytest.param(recommended((8, 301)), 3, 3, "ReadyForNewScale", id="higher, too long ago"),
            pytest.param(recommended((2, 10)), 9, 9, "ReadyForNewScale", id="up is never held back"),
        ],
    )
    def test_without_behavior_only_the_way_down_is_stabilised(
        self, history: HpaHistory, proposal: int, stabilised: int, reason: str
    ) -> None:
        _, outcome = stabilise(history, proposal, None, FIVE_MINUTES, 8, NOW)
        assert (outcome.replicas, outcome.condition.reason) == (stabilised, reason)

    @pytest.mark.parametrize(
        ("history", "proposal", "current", "stabilised", "reason"),
        [
            pytest.param(recommended((5, 30)), 9, 5, 5, "ScaleUpStabilized", id="up: the lowest of the window"),
            pytest.param(recommended((7, 30), (6, 50)), 9, 5, 6, "ScaleUpStabilized", id="up: partly"),
            pytest.param(recommended((5, 60)), 9, 5, 9, "ReadyForNewScale", id="up: the window is open at its end"),
            pytest.param(recommended((8, 200)), 3, 8, 8, "ScaleDownStabilized", id="down: the highest of the window"),
            pytest.param(recommended((8, 300)), 3, 8, 3, "ReadyForNewScale", id="down: the window is open at its end"),
        ],
    )
    def test_with_behavior_each_direction_has_its_window(
        self, history: HpaHistory, proposal: int, current: int, stabilised: int, reason: str
    ) -> None:
        up = replace(DEFAULT_SCALE_UP, stabilization=timedelta(seconds=60))
        _, outcome = stabilise(history, proposal, Behavior(scale_up=up), FIVE_MINUTES, current, NOW)
        assert (outcome.replicas, outcome.condition.reason) == (stabilised, reason)

    def test_the_proposal_is_remembered_as_it_came_and_old_ones_are_forgotten(self) -> None:
        history, _ = stabilise(recommended((8, 400), (8, 100)), 3, None, FIVE_MINUTES, 8, NOW)
        assert [each.replicas for each in history.recommendations] == [8, 3]

    @given(
        st.lists(st.tuples(st.integers(1, 200), st.integers(0, 9)), max_size=30), st.sampled_from([None, Behavior()])
    )
    def test_what_never_decides_again_is_forgotten_and_missed_by_nobody(
        self, steps: list[tuple[int, int]], behavior: Behavior | None
    ) -> None:
        history, at, said = HpaHistory(), NOW, [(NOW - timedelta(days=1), 0)]
        for seconds, proposal in steps:
            at += timedelta(seconds=seconds)
            said.append((at, proposal))
            history, outcome = stabilise(history, proposal, behavior, FIVE_MINUTES, 9, at)
            edge = timedelta(0) if behavior is None else timedelta(microseconds=1)
            highest = max(count for when, count in said if when >= at - FIVE_MINUTES + edge)
            assert outcome.replicas == highest

    @given(
        st.lists(st.tuples(st.integers(0, 50), st.integers(0, 900)), max_size=8),
        st.integers(0, 50),
        st.integers(0, 50),
        st.sampled_from([None, Behavior()]),
    )
    def test_the_result_lies_between_what_was_recommended_and_what_is(
        self, entries: list[tuple[int, float]], proposal: int, current: int, behavior: Behavior | None
    ) -> None:
        _, outcome = stabilise(recommended(*entries), proposal, behavior, FIVE_MINUTES, current, NOW)
        seen = [proposal, current, *(replicas for replicas, _ in entries)]
        assert min(seen) <= outcome.replicas <= max(seen)


class TestPolicies:
    @pytest.mark.parametrize(
        ("up", "wanted", "allowed", "reason"),
        [
            pytest.param(DEFAULT_SCALE_UP, 100, 36, "ScaleUpLimit", id="default: double"),
            pytest.param(rules(FIVE_PODS), 100, 23, "ScaleUpLimit", id="five pods"),
            pytest.param(rules(TEN_PERCENT), 100, 20, "ScaleUpLimit", id="10 % of 18, rounded up"),
            pytest.param(rules(TEN_PERCENT, FIVE_PODS), 100, 23, "ScaleUpLimit", id="Max takes the larger change"),
            pytest.param(rules(TEN_PERCENT, FIVE_PODS, select=SelectPolicy.MIN), 100, 20, "ScaleUpLimit", id="Min"),
            pytest.param(rules(FIVE_PODS, select=SelectPolicy.DISABLED), 100, 18, "ScaleUpLimit", id="Disabled"),
            pytest.param(rules(), 100, 18, "ScaleUpLimit", id="no policy allows nothing"),
            pytest.param(rules(policy(PolicyType.PODS, 99)), 100, 40, "TooManyReplicas", id="maxReplicas is lower"),
            pytest.param(rules(FIVE_PODS), 20, 20, "DesiredWithinRange", id="within the policy"),
        ],
    )
    def test_scaling_up_is_limited_by_policies_and_the_maximum(
        self, up: ScalingRules, wanted: int, allowed: int, reason: str
    ) -> None:
        outcome = limit(HpaHistory(), wanted, Behavior(scale_up=up), Bounds(current=18, minimum=1, maximum=40), NOW)
        assert (outcome.replicas, outcome.condition.reason) == (allowed, reason)
        assert outcome.condition.status == ("False" if reason == "DesiredWithinRange" else "True")

    @pytest.mark.parametrize(
        ("down", "wanted", "allowed", "reason"),
        [
            pytest.param(DEFAULT_SCALE_DOWN, 3, 3, "DesiredWithinRange", id="default: everything may go"),
            pytest.param(DEFAULT_SCALE_DOWN, 0, 2, "TooFewReplicas", id="default: down to minReplicas"),
            pytest.param(rules(FIVE_PODS), 3, 20, "ScaleDownLimit", id="five pods"),
            pytest.param(rules(TEN_PERCENT), 3, 22, "ScaleDownLimit", id="90 % of 25, rounded down"),
            pytest.param(rules(TEN_PERCENT, FIVE_PODS), 3, 20, "ScaleDownLimit", id="Max takes the larger change"),
            pytest.param(rules(TEN_PERCENT, FIVE_PODS, select=SelectPolicy.MIN), 3, 22, "ScaleDownLimit", id="Min"),
            pytest.param(rules(FIVE_PODS, select=SelectPolicy.DISABLED), 3, 25, "ScaleDownLimit", id="Disabled"),
        ],
    )
    def test_scaling_down_is_limited_by_policies_and_the_minimum(
        self, down: ScalingRules, wanted: int, allowed: int, reason: str
    ) -> None:
        bounds = Bounds(current=25, minimum=2, maximum=40)
        outcome = limit(HpaHistory(), wanted, Behavior(scale_down=down), bounds, NOW)
        assert (outcome.replicas, outcome.condition.reason) == (allowed, reason)

    def test_a_policy_counts_what_already_changed_within_its_period(self) -> None:
        history = HpaHistory(scale_ups=(ScaleEvent(3, ago(59)), ScaleEvent(9, ago(60))))
        bounds = Bounds(current=18, minimum=1, maximum=100)
        outcome = limit(history, 100, Behavior(scale_up=rules(FIVE_PODS)), bounds, NOW)
        assert outcome.replicas == 18 - 3 + 5

    def test_pods_that_went_within_the_period_may_come_back(self) -> None:
        history = HpaHistory(scale_downs=(ScaleEvent(4, ago(10)),))
        bounds = Bounds(current=18, minimum=1, maximum=100)
        outcome = limit(history, 100, Behavior(scale_up=rules(FIVE_PODS)), bounds, NOW)
        assert outcome.replicas == 18 + 4 + 5

    def test_a_policy_that_is_used_up_never_turns_the_direction(self) -> None:
        history = HpaHistory(scale_ups=(ScaleEvent(10, ago(10)),))
        bounds = Bounds(current=18, minimum=1, maximum=100)
        assert limit(history, 100, Behavior(scale_up=rules(FIVE_PODS)), bounds, NOW).replicas == 18

    def test_percentages_are_float64_in_kubernetes_order(self) -> None:
        bounds = Bounds(current=100, minimum=1, maximum=1000)
        assert limit(HpaHistory(), 1000, Behavior(scale_up=rules(TEN_PERCENT)), bounds, NOW).replicas == 111


class TestWithoutBehavior:
    @pytest.mark.parametrize(
        ("current", "wanted", "allowed", "reason"),
        [
            (1, 30, 4, "ScaleUpLimit"),
            (3, 30, 6, "ScaleUpLimit"),
            (10, 30, 20, "ScaleUpLimit"),
            (30, 90, 40, "TooManyReplicas"),
            (30, 1, 2, "TooFewReplicas"),
            (30, 31, 31, "DesiredWithinRange"),
        ],
    )
    def test_one_sync_goes_up_to_twice_the_pods_or_four(
        self, current: int, wanted: int, allowed: int, reason: str
    ) -> None:
        outcome = limit(HpaHistory(), wanted, None, Bounds(current=current, minimum=2, maximum=40), NOW)
        assert (outcome.replicas, outcome.condition.reason) == (allowed, reason)

    def test_changes_are_not_remembered(self) -> None:
        assert remember_change(HpaHistory(), None, 1, 4, NOW) == HpaHistory()


def test_a_change_is_remembered_for_the_longest_period_of_its_direction() -> None:
    history = HpaHistory(
        scale_ups=(ScaleEvent(1, ago(15)), ScaleEvent(2, ago(14))), scale_downs=(ScaleEvent(9, ago(99)),)
    )
    assert remember_change(history, Behavior(), 4, 7, NOW) == HpaHistory(
        scale_ups=(ScaleEvent(2, ago(14)), ScaleEvent(3, NOW)), scale_downs=(ScaleEvent(9, ago(99)),)
    )


BEHAVIORS = st.builds(
    Behavior,
    scale_up=st.builds(
        ScalingRules,
        policies=st.lists(
            st.builds(
                ScalingPolicy,
                type=st.sampled_from(PolicyType),
                value=st.integers(1, 300),
                period=st.timedeltas(timedelta(seconds=1), timedelta(minutes=30)),
            ),
            max_size=3,
        ).map(tuple),
        select_policy=st.sampled_from(SelectPolicy),
    ),
)
BEHAVIORS = st.one_of(st.none(), BEHAVIORS, BEHAVIORS.map(lambda b: replace(b, scale_down=b.scale_up)))
EVENTS = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 2000)), max_size=4).map(
    lambda pairs: tuple(ScaleEvent(change, ago(seconds)) for change, seconds in pairs)
)


@given(
    st.integers(0, 300),
    BEHAVIORS,
    st.tuples(st.integers(1, 50), st.integers(0, 100), st.integers(0, 100)),
    st.builds(HpaHistory, scale_ups=EVENTS, scale_downs=EVENTS),
)
def test_no_limit_leaves_the_bounds_or_turns_the_direction(
    wanted: int, behavior: Behavior | None, span: tuple[int, int, int], history: HpaHistory
) -> None:
    minimum, above, within = span
    bounds = Bounds(current=minimum + min(within, above), minimum=minimum, maximum=minimum + above)
    replicas = limit(history, wanted, behavior, bounds, NOW).replicas
    assert bounds.minimum <= replicas <= bounds.maximum
    assert min(wanted, bounds.current) <= max(replicas, bounds.minimum)
    assert (replicas <= bounds.current) if wanted <= bounds.current else (replicas >= bounds.current)
