"""Pods and Object metrics: counts, words and values as the controller of Kubernetes 1.36 computes them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from keda_py.core.hpa.behavior import HpaHistory
from keda_py.core.hpa.controller import (
    ControllerOptions,
    HpaSpec,
    ReplicaProposal,
    desired_count,
    desired_replicas,
    sync,
)
from keda_py.core.hpa.custom import ObjectSample, PodsSample
from keda_py.core.hpa.metrics import MetricTarget, MetricValue, TargetType, Tolerance
from keda_py.core.hpa.pods import Pod, ScaleTarget, Warmup

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
TOLERANCE, WARMUP = Tolerance(), Warmup()


def pod(name: str, state: str = "ready") -> Pod:
    ready = Pod(name=name, ready=True, ready_changed_at=NOW, started_at=NOW)  # as young as can be: only CPU would mind
    return {
        "ready": ready,
        "unready": replace(ready, ready=False),
        "pending": replace(ready, phase="Pending", ready=None),
        "failed": replace(ready, phase="Failed"),
        "succeeded": replace(ready, phase="Succeeded", ready=False),
        "deleting": replace(ready, deleting=True),
    }[state]


def target(pods: Mapping[str, str], replicas: int = 0) -> ScaleTarget:
    count = replicas or len(pods)
    shown = tuple(pod(name, state) for name, state in pods.items())
    return ScaleTarget(namespace="shop", replicas=count, status_replicas=count, pods=shown)


def ready(count: int) -> ScaleTarget:
    return target({f"p{at}": "ready" for at in range(count)})


def hits(values: Mapping[str, int], average: int = 10, error: str = "") -> PodsSample:
    wanted = MetricTarget(type=TargetType.AVERAGE_VALUE, amount=average * 1000)
    milli = {name: value * 1000 for name, value in values.items()}
    return PodsSample(name="hits", target=wanted, values=milli, error=error)


def lag(value: int, *, per_pod: int = 0, whole: int = 0, error: str = "") -> ObjectSample:
    kind = TargetType.AVERAGE_VALUE if per_pod else TargetType.VALUE
    wanted = MetricTarget(type=kind, amount=(per_pod or whole) * 1000)
    return ObjectSample(name="lag", target=wanted, kind="Ingress", object_name="web", value=value * 1000, error=error)


def propose(target: ScaleTarget, sample: PodsSample | ObjectSample) -> ReplicaProposal:
    proposal = desired_replicas(target, [sample], TOLERANCE, WARMUP, NOW)
    assert desired_count(target, [sample], TOLERANCE, WARMUP, NOW) == proposal.replicas
    return proposal


@pytest.mark.parametrize(
    ("pods", "values", "expected"),
    [
        pytest.param({"a": "ready", "b": "ready"}, {"a": 20, "b": 40}, 6, id="the average of all"),
        pytest.param({"a": "ready", "b": "ready"}, {"a": 11, "b": 11}, 2, id="within tolerance"),
        pytest.param({"a": "ready", "b": "ready", "c": "ready"}, {"a": 1, "b": 1, "c": 1}, 1, id="down"),
        pytest.param({"a": "unready", "b": "unready"}, {"a": 20, "b": 40}, 6, id="readiness is not asked"),
        pytest.param({"a": "ready", "b": "pending"}, {"a": 40}, 4, id="a pending pod has none on the way up: 40 of 2"),
        pytest.param({"a": "ready", "b": "pending"}, {"a": 40, "b": 99}, 4, id="what a pending pod reports is void"),
        pytest.param(
            {"a": "ready", "b": "pending"}, {"a": 2}, 1, id="on the way down only counted pods are multiplied"
        ),
        pytest.param({"a": "ready", "b": "ready"}, {"a": 40}, 4, id="a pod without value has none on the way up"),
        pytest.param({"a": "ready", "b": "ready"}, {"a": 15}, 2, id="nor may it turn the direction: 15 of 2 are 7"),
        pytest.param(
            {"a": "ready", "b": "ready"}, {"a": 2}, 2, id="and the target on the way down: 12 of 2 are 6, so 2"
        ),
        pytest.param({"a": "ready", "b": "ready", "c": "ready"}, {"a": 0, "b": 0}, 1, id="missing, down: 10 of 3"),
        pytest.param({"a": "ready", "b": "ready"}, {"a": 10}, 2, id="at the target, what is missing changes nothing"),
        pytest.param({"a": "ready", "b": "failed"}, {"a": 20, "b": 99}, 2, id="failed pods are not there"),
        pytest.param({"a": "ready", "b": "deleting"}, {"a": 20, "b": 99}, 2, id="nor are those that go"),
        pytest.param({"a": "ready", "b": "succeeded"}, {"a": 40, "b": 0}, 4, id="a pod that succeeded counts"),
        pytest.param({"a": "ready"}, {"a": 20, "gone": 40}, 3, id="so does one of the answer alone, in the average"),
        pytest.param({"a": "ready", "b": "ready"}, {"a": -1, "b": -2}, 0, id="negative"),
    ],
)
def test_pods_ask_for_a_count_by_their_average(
    pods: Mapping[str, str], values: Mapping[str, int], expected: int
) -> None:
    assert propose(target(pods), hits(values)).replicas == expected


def test_the_average_is_cut_towards_zero_as_go_divides() -> None:
    sample = hits({})
    up = propose(ready(2), replace(sample, values={"p0": 20001, "p1": 20002}))
    down = propose(ready(2), replace(sample, values={"p0": -1, "p1": -2}))
    assert (up.values, down.values) == ((MetricValue(average_value="20001m"),), (MetricValue(average_value="-1m"),))


def test_pods_are_named_and_valued_as_the_controller_does() -> None:
    proposal = propose(ready(2), hits({"p0": 20, "p1": 40}))
    assert (proposal.metric, proposal.values) == ("pods metric hits", (MetricValue(average_value="30"),))


@pytest.mark.parametrize(
    ("where", "sample", "expected"),
    [
        pytest.param(ready(3), lag(40, whole=20), 6, id="Value: twice the ready pods"),
        pytest.param(ready(3), lag(22, whole=20), 3, id="Value: within tolerance"),
        pytest.param(target({"a": "ready", "b": "unready"}), lag(40, whole=20), 2, id="Value: only ready pods"),
        pytest.param(ready(3), lag(40, per_pod=10), 4, id="AverageValue"),
        pytest.param(target({}, replicas=3), lag(40, per_pod=10), 4, id="AverageValue asks no pods"),
        pytest.param(ready(3), lag(32, per_pod=10), 3, id="AverageValue: within tolerance"),
        pytest.param(ready(3), lag(0, per_pod=10), 0, id="AverageValue: nothing to do"),
    ],
)
def test_an_object_asks_for_a_count(where: ScaleTarget, sample: ObjectSample, expected: int) -> None:
    assert propose(where, sample).replicas == expected


def test_an_object_is_named_and_valued_as_the_controller_does() -> None:
    whole, each = propose(ready(4), lag(40, whole=20)), propose(ready(4), lag(41, per_pod=1))
    assert (whole.metric, whole.values) == ("Ingress metric lag", (MetricValue(value="40"),))
    assert (each.metric, each.values) == ("external metric lag(nil)", (MetricValue(average_value="10250m"),))
    chosen = propose(ready(4), replace(lag(41, per_pod=1), match_labels={"a": "b"}))
    assert chosen.metric.startswith("external metric lag(&LabelSelector{MatchLabels:map[string]string{a: b,},")


@pytest.mark.parametrize(
    ("where", "sample", "reason", "message", "summary"),
    [
        pytest.param(
            ready(1),
            hits({}, error="E"),
            "FailedGetPodsMetric",
            "unable to get metric hits: E",
            "failed to get pods metric value: unable to get metric hits: E",
            id="pods: no answer",
        ),
        pytest.param(
            target({}, replicas=2),
            hits({"a": 1}),
            "FailedGetPodsMetric",
            "no pods returned by selector while calculating replica count",
            "failed to get pods metric value: no pods returned by selector while calculating replica count",
            id="pods: none",
        ),
        pytest.param(
            target({"a": "pending"}),
            hits({"a": 1}),
            "FailedGetPodsMetric",
            "did not receive metrics for targeted pods (pods might be unready)",
            "failed to get pods metric value: did not receive metrics for targeted pods (pods might be unready)",
            id="pods: none to count",
        ),
        pytest.param(
            ready(1),
            lag(0, whole=1, error="E"),
            "FailedGetObjectMetric",
            "unable to get metric lag: Ingress on shop web/E",
            "failed to get object metric value: unable to get metric lag: Ingress on shop web/E",
            id="object: no answer",
        ),
        pytest.param(
            ready(1),
            lag(0, per_pod=1, error="E"),
            "FailedGetObjectMetric",
            "unable to get metric lag: Ingress on shop web/E",
            "failed to get object metric value: failed to get lag object metric: "
            "unable to get metric lag: Ingress on shop web/E",
            id="object, per pod: no answer",
        ),
        pytest.param(
            target({}, replicas=1),
            lag(9, whole=1),
            "FailedGetObjectMetric",
            "unable to calculate ready pods: no pods returned by selector while calculating replica count",
            "failed to get object metric value: unable to calculate ready pods: "
            "no pods returned by selector while calculating replica count",
            id="object: no pods",
        ),
    ],
)
def test_what_fails_is_told_in_the_controllers_words(
    where: ScaleTarget, sample: PodsSample | ObjectSample, reason: str, message: str, summary: str
) -> None:
    proposal = propose(where, sample)
    assert proposal.replicas is None
    assert [(event.reason, event.message) for event in proposal.events] == [
        (reason, message),
        ("FailedComputeMetricsReplicas", f"invalid metrics (1 invalid out of 1), first error is: {summary}"),
    ]
    assert (proposal.condition.reason, proposal.condition.status) == (reason, "False")
    assert proposal.condition.message == f"the HPA was unable to compute the replica count: {message}"


def test_a_failed_one_lets_the_others_scale_up_but_not_down() -> None:
    failed, options = hits({}, error="E"), ControllerOptions(downscale_stabilization=timedelta(0))
    for value, desired in ((60, 6), (10, None)):
        verdict = sync(HpaSpec(max_replicas=9), ready(3), [failed, lag(value, per_pod=10)], HpaHistory(), options, NOW)
        assert verdict.desired == desired
