"""The real controller with HPAScaleToZero on, replayed by the arithmetic alone; see the readMe of the recording."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.core.hpa.behavior import Behavior, HpaHistory, Recommendation
from keda_py.core.hpa.conditions import HpaCondition
from keda_py.core.hpa.controller import HpaSpec, MetricSample, record_rescale, sync
from keda_py.core.hpa.external import ExternalSample
from keda_py.core.hpa.metrics import MetricTarget, TargetType
from keda_py.core.hpa.pods import Pod, ScaleTarget, UsageSample
from keda_py.core.hpa.resources import ResourceSample
from keda_py.core.hpa.wire import read_spec, read_target
from keda_py.core.values.quantity import parse_milli
from tests.hpa_zero import (
    OPTIONS,
    PERIODS,
    PHASES,
    SCENARIOS,
    SYNC_SECONDS,
    Trace,
    closest,
    first_sync,
    metrics_of,
    note,
    values_of,
)

START = datetime(2026, 8, 3, tzinfo=UTC)
TICK = 0.25


class Replay:
    """One scenario; its first sync is at `first`, the others follow after `period` seconds each."""

    def __init__(self, scenario: dict[str, Any], first: float, period: float = SYNC_SECONDS) -> None:
        self.scenario, self.next_sync, self.period = scenario, first, period
        self.metrics, self.values = metrics_of(scenario), values_of(scenario)
        self.count, self.minimum = scenario["start"], scenario["min"]
        self.trace: Trace = []
        self.create()

    def create(self) -> None:
        self.exists, self.history = True, HpaHistory()
        self.conditions: dict[str, list[str]] = {}
        self.desired = 0

    def run(self) -> Trace:
        acts = list(self.scenario["acts"])
        now, end = 0.0, self.scenario["seen"][-1][0] + 10
        while now < end:
            while acts and acts[0][0] <= now:
                self.act(*acts.pop(0)[1:], now=now)
            if self.exists and now >= self.next_sync:
                self.sync(self.next_sync)
                self.next_sync += self.period
            note(self.trace, (now, self.count, self.desired if self.exists else None, dict(self.conditions)))
            now += TICK
        return self.trace

    def act(self, what: str, number: int = 0, *, now: float) -> None:
        match what:
            case "scale":
                self.count = number
            case "min":
                self.minimum = number
            case "delete-hpa":
                self.exists, self.conditions = False, {}
            case "create-hpa":
                self.create()
                self.next_sync = now + self.period

    def spec(self) -> HpaSpec:
        behavior = {"behavior": self.scenario["behavior"]} if "behavior" in self.scenario else {}
        bounds = {"minReplicas": self.minimum, "maxReplicas": self.scenario["max"]}
        return read_spec({"spec": {**bounds, **behavior, "metrics": self.metrics}})

    def sample(self, metric: dict[str, Any], now: float) -> MetricSample:
        name, target = metric["external"]["metric"]["name"], read_target(metric["external"]["target"])
        value = [value for second, value in self.values[name] if second <= now][-1]
        if value is None:
            return ExternalSample(name=name, target=target, error="the source fails")
        return ExternalSample(name=name, target=target, values=(parse_milli(str(value)),))

    def sync(self, now: float) -> None:
        at, spec = START + timedelta(seconds=now), self.spec()
        pods = tuple(Pod(name=str(number), ready=True) for number in range(self.count))
        target = ScaleTarget(namespace="lab", replicas=self.count, status_replicas=self.count, pods=pods)
        metrics = [self.sample(metric, now) for metric in self.metrics]
        verdict = sync(spec, target, metrics, self.history, OPTIONS, at)
        if verdict.rescale and verdict.desired is not None:
            verdict = record_rescale(spec, verdict, OPTIONS, at)
            self.count = verdict.desired or 0
        self.history, self.desired = verdict.history, self.desired if verdict.desired is None else verdict.desired
        self.note_conditions(verdict.conditions)

    def note_conditions(self, conditions: tuple[HpaCondition, ...]) -> None:
        self.conditions |= {str(one.type): [one.status, one.reason] for one in conditions}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_arithmetic_goes_to_zero_and_back_as_recorded(name: str) -> None:
    scenario = SCENARIOS[name]
    first = first_sync(scenario)
    traces = [Replay(scenario, first + phase, period).run() for phase in PHASES for period in PERIODS]
    assert closest(traces, scenario) == []


def test_every_scenario_is_replayed() -> None:
    assert len(SCENARIOS) == 23


@pytest.mark.parametrize("name", [name for name, scenario in SCENARIOS.items() if scenario["start"] == 0])
def test_with_the_gate_off_no_count_of_zero_is_ended(name: str) -> None:
    replay = Replay(SCENARIOS[name], 5.0)
    target = ScaleTarget(namespace="lab", replicas=0, status_replicas=0)
    verdict = sync(
        replay.spec(),
        target,
        [replay.sample(replay.metrics[0], 100)],
        HpaHistory(scaled_to_zero=True),
        replace(OPTIONS, scale_to_zero=False),
        START,
    )
    assert [one.reason for one in verdict.conditions] == ["SucceededGetScale", "ScalingDisabled"]


MEMORY = ResourceSample(resource="memory", target=MetricTarget(type=TargetType.AVERAGE_VALUE, amount=10**12))


def queue(amount: int) -> ExternalSample:
    return ExternalSample(
        name="queue", target=MetricTarget(type=TargetType.AVERAGE_VALUE, amount=4000), values=(amount * 1000,)
    )


def using(count: int) -> ScaleTarget:
    """So many pods, each of which uses a tenth of what it should have."""
    sample = UsageSample(timestamp=START, window=timedelta(seconds=15), usage={"app": {"memory": 10**11}})
    pods = tuple(Pod(name=str(number), ready=True, sample=sample) for number in range(count))
    return ScaleTarget(namespace="lab", replicas=count, status_replicas=count, pods=pods)


def test_with_a_resource_metric_beside_it_goes_to_one_and_not_to_zero() -> None:
    spec = HpaSpec(min_replicas=0, max_replicas=10, measured_without_pods=True)
    long_ago = HpaHistory(recommendations=(Recommendation(3, START - timedelta(minutes=1)),))
    verdict = sync(spec, using(3), [queue(0), MEMORY], long_ago, OPTIONS, START)
    assert (verdict.desired, verdict.rescale) == (1, True)
    later = START + timedelta(minutes=1)
    assert sync(spec, using(1), [queue(0), MEMORY], verdict.history, OPTIONS, later).rescale is False


@pytest.mark.parametrize(("work", "count"), [(0, 0), (8, 2)])
def test_at_its_own_zero_a_resource_metric_has_no_value_and_the_other_one_decides(work: int, count: int) -> None:
    spec = HpaSpec(min_replicas=0, max_replicas=10, measured_without_pods=True)
    verdict = sync(spec, using(0), [queue(work), MEMORY], HpaHistory(scaled_to_zero=True), OPTIONS, START)
    assert verdict.desired == count
    assert ("True", "ValidMetricFound") in [(one.status, one.reason) for one in verdict.conditions]


def test_a_minimum_that_was_raised_at_zero_counts_under_a_behavior_too() -> None:
    spec = HpaSpec(min_replicas=2, max_replicas=10, behavior=Behavior(), measured_without_pods=True)
    verdict = sync(spec, using(0), [queue(0)], HpaHistory(scaled_to_zero=True), OPTIONS, START)
    assert (verdict.desired, verdict.reason) == (2, "Current number of replicas below Spec.MinReplicas")
