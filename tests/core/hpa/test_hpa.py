"""The HPA controller's decisions, one rule at a time; what a real one decided is in test_hpa_recordings.py."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.hpa.behavior import Behavior, HpaHistory, ScaleEvent
from keda_py.core.hpa.conditions import HpaEvent
from keda_py.core.hpa.controller import (
    ControllerOptions,
    HpaSpec,
    MetricSample,
    SyncResult,
    desired_replicas,
    record_rescale,
    report_failed_rescale,
    report_failed_scale,
    sync,
)
from keda_py.core.hpa.external import ExternalSample
from keda_py.core.hpa.metrics import MetricTarget, MetricValue, TargetType, Tolerance
from keda_py.core.hpa.pods import Pod, ScaleTarget, UsageSample, Warmup
from keda_py.core.hpa.resources import ResourceSample

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=1)
CPU_REQUEST = 100_000
SPEC = HpaSpec(max_replicas=100)
SELECTOR = "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}"


def ready_pod(name: str, cpu: int | None, age: timedelta = timedelta(hours=1), request: int = CPU_REQUEST) -> Pod:
    sample = (
        UsageSample(timestamp=NOW, window=timedelta(seconds=15), usage={"app": {"cpu": cpu}})
        if cpu is not None
        else None
    )
    born = NOW - age
    return Pod(
        name=name, ready=True, ready_changed_at=born, started_at=born, requests={"app": {"cpu": request}}, sample=sample
    )


def target_of(*pods: Pod, replicas: int | None = None) -> ScaleTarget:
    count = len(pods) if replicas is None else replicas
    return ScaleTarget(namespace="shop", replicas=count, status_replicas=count, pods=pods)


def idle_target(replicas: int) -> ScaleTarget:
    return target_of(*(ready_pod(f"pod-{index}", 0) for index in range(replicas)))


def external(*values: int, per_pod: int = 0, value: int = 0, error: str = "", name: str = "queue") -> ExternalSample:
    target = (
        MetricTarget(type=TargetType.VALUE, amount=value)
        if value
        else MetricTarget(type=TargetType.AVERAGE_VALUE, amount=per_pod or 1000)
    )
    return ExternalSample(name=name, target=target, values=values, error=error, match_labels={"a": "b"})


def cpu(percent: int = 0, average: int = 0, container: str = "") -> ResourceSample:
    target = (
        MetricTarget(type=TargetType.UTILIZATION, amount=percent)
        if percent
        else MetricTarget(type=TargetType.AVERAGE_VALUE, amount=average)
    )
    return ResourceSample(resource="cpu", target=target, container=container)


def decide(
    target: ScaleTarget, *metrics: MetricSample, spec: HpaSpec = SPEC, history: HpaHistory | None = None
) -> SyncResult:
    return sync(spec, target, metrics, history or HpaHistory(), ControllerOptions(), NOW)


def wanted(target: ScaleTarget, *metrics: MetricSample) -> int | None:
    return desired_replicas(target, metrics, Tolerance(), Warmup(), NOW).replicas


def message_of(verdict: SyncResult, type: str) -> str:
    return next(each.message for each in reversed(verdict.conditions) if each.type == type)


class TestExternalMetrics:
    def test_the_ratio_is_float64_as_in_the_controller(self) -> None:
        # Exactly 29, but 290/70 * 7 is 29.000000000000004 in float64.
        assert wanted(idle_target(7), external(290, value=70)) == 30

    def test_only_ready_pods_are_multiplied_for_a_value(self) -> None:
        pods = [ready_pod("a", 0), ready_pod("b", 0), replace(ready_pod("c", 0), ready=False)]
        assert wanted(target_of(*pods), external(3000, value=1000)) == 6

    def test_an_average_value_does_not_ask_who_is_ready(self) -> None:
        pods = [ready_pod("a", 0), replace(ready_pod("b", 0), ready=False), replace(ready_pod("c", 0), phase="Pending")]
        assert wanted(target_of(*pods), external(9000, per_pod=1000)) == 9

    def test_a_value_without_pods_has_no_answer(self) -> None:
        verdict = decide(target_of(replicas=2), external(9000, value=1000))
        text = "unable to calculate ready pods: no pods returned by selector while calculating replica count"
        assert verdict.events[0] == HpaEvent("Warning", "FailedGetExternalMetric", text)

    def test_with_no_pods_counted_yet_the_sum_alone_decides(self) -> None:
        target = replace(target_of(replicas=2), status_replicas=0)
        proposal = desired_replicas(target, [external(9000, per_pod=1000)], Tolerance(), Warmup(), NOW)
        assert (proposal.replicas, proposal.values) == (9, (MetricValue(average_value="9"),))

    def test_counts_stop_at_the_largest_int32(self) -> None:
        assert wanted(idle_target(1), external(2**62, per_pod=1)) == 2**31 - 1


class TestResourceMetrics:
    @pytest.mark.parametrize(
        ("missing", "used", "replicas"),
        [
            pytest.param(0, 40_000, 2, id="all known: 40 % of a target of 80 %, so half"),
            pytest.param(1, 40_000, 3, id="an unknown pod counts as full on the way down"),
            pytest.param(2, 40_000, 4, id="two of them: nothing moves"),
            pytest.param(1, 160_000, 6, id="and as idle on the way up"),
            pytest.param(2, 80_000, 4, id="and as nothing at all when the target is met"),
        ],
    )
    def test_unknown_pods_hold_back_either_way(self, missing: int, used: int, replicas: int) -> None:
        known = [ready_pod(f"known-{index}", used) for index in range(4 - missing)]
        unknown = [ready_pod(f"unknown-{index}", None) for index in range(missing)]
        assert wanted(target_of(*known, *unknown), cpu(percent=80)) == replicas

    def test_a_target_over_one_hundred_percent_makes_unknown_pods_use_the_target(self) -> None:
        pods = [ready_pod("a", 40_000), ready_pod("b", 40_000), ready_pod("c", None), ready_pod("d", None)]
        assert wanted(target_of(*pods), cpu(percent=200)) == 3

    @pytest.mark.parametrize(
        ("new_pod", "replicas"),
        [
            pytest.param(ready_pod("new", 400_000, age=timedelta(seconds=10)), 2, id="Ready for less than a window"),
            pytest.param(ready_pod("new", 400_000, age=timedelta(seconds=15)), 8, id="Ready for a whole window"),
            pytest.param(replace(ready_pod("new", 400_000), phase="Pending"), 2, id="Pending"),
            pytest.param(replace(ready_pod("new", 400_000), ready=None), 2, id="without a Ready condition"),
            pytest.param(
                replace(ready_pod("new", 400_000), ready=False, ready_changed_at=LONG_AGO), 2, id="never Ready"
            ),
            pytest.param(
                replace(ready_pod("new", 400_000), ready=False, ready_changed_at=NOW), 8, id="Ready once, not now"
            ),
        ],
    )
    def test_the_cpu_of_a_pod_that_starts_is_not_believed(self, new_pod: Pod, replicas: int) -> None:
        # One old pod at 2 x the target. With the new one at 8 x believed, 5 x 2 = 10 pods would follow ...
        expected = 10 if replicas == 8 else replicas
        assert wanted(target_of(ready_pod("old", 100_000), new_pod), cpu(percent=50)) == expected

    def test_a_failed_or_leaving_pod_counts_nowhere(self) -> None:
        gone = [replace(ready_pod("a", 900_000), deleting=True), replace(ready_pod("b", 900_000), phase="Failed")]
        assert wanted(target_of(ready_pod("c", 50_000), *gone, replicas=1), cpu(percent=50)) == 1

    def test_an_average_value_looks_at_no_request(self) -> None:
        pods = [replace(ready_pod("a", 150_000), requests={"app": {}}), ready_pod("b", 150_000)]
        assert wanted(target_of(*pods), cpu(average=100_000)) == 3

    @pytest.mark.parametrize(
        ("pods", "metric", "reason", "text"),
        [
            pytest.param(
                [ready_pod("a", None)], cpu(percent=50), "FailedGetResourceMetric",
                "failed to get cpu utilization: unable to get metrics for resource cpu: "
                "no metrics returned from resource metrics API", id="no samples",
            ),
            pytest.param(
                [replace(ready_pod("a", 10), ready=None)], cpu(average=10), "FailedGetResourceMetric",
                "failed to get cpu usage: did not receive metrics for targeted pods (pods might be unready)",
                id="nobody is ready",
            ),
            pytest.param(
                [replace(ready_pod("a", 10), requests={"app": {}})], cpu(percent=50), "FailedGetResourceMetric",
                "failed to get cpu utilization: missing request for cpu in container app of Pod a", id="no request",
            ),
            pytest.param(
                [ready_pod("a", 10)], cpu(percent=50, container="web"), "FailedGetContainerResourceMetric",
                "failed to get cpu utilization: unable to get metrics for resource cpu: "
                "container web not present in metrics for pod shop/a", id="no such container",
            ),
            pytest.param(
                [ready_pod("a", 10)], replace(cpu(percent=50), error="it is away"), "FailedGetResourceMetric",
                "failed to get cpu utilization: unable to get metrics for resource cpu: "
                "unable to fetch metrics from resource metrics API: it is away", id="no metrics server",
            ),
        ],
    )  # fmt: skip
    def test_what_cannot_be_had_is_told_in_the_controllers_words(
        self, pods: list[Pod], metric: ResourceSample, reason: str, text: str
    ) -> None:
        verdict = decide(target_of(*pods), metric)
        assert (verdict.desired, verdict.rescale) == (None, False)
        assert verdict.events[0] == HpaEvent("Warning", reason, text)
        assert message_of(verdict, "ScalingActive") == f"the HPA was unable to compute the replica count: {text}"


class TestSeveralMetrics:
    FAILED = external(error="unable to fetch metrics from external metrics API: it is away", name="broken")

    def test_the_highest_proposal_wins_and_is_named(self) -> None:
        verdict = decide(idle_target(3), external(4000), external(5000, name="other"))
        assert verdict.desired == 5
        assert verdict.reason == f"external metric other({SELECTOR}) above target"
        assert message_of(verdict, "ScalingActive").endswith(
            f"calculate a replica count from external metric other({SELECTOR})"
        )

    def test_a_failed_metric_lets_another_scale_up(self) -> None:
        verdict = decide(idle_target(3), self.FAILED, external(5000))
        assert (verdict.desired, verdict.rescale) == (5, True)
        assert verdict.metrics == (None, MetricValue(average_value="1667m"))
        assert [event.reason for event in verdict.events] == ["FailedGetExternalMetric"]

    def test_a_failed_metric_blocks_the_way_down(self) -> None:
        verdict = decide(idle_target(3), self.FAILED, external(1000))
        assert (verdict.desired, verdict.rescale) == (None, False)
        text = f"unable to get external metric shop/broken/{SELECTOR}: {self.FAILED.error}"
        assert message_of(verdict, "ScalingActive") == f"the HPA was unable to compute the replica count: {text}"
        first = f"failed to get broken external metric value: failed to get broken external metric: {text}"
        summary = f"invalid metrics (1 invalid out of 2), first error is: {first}"
        assert [(event.reason, event.message) for event in verdict.events] == [
            ("FailedGetExternalMetric", text),
            ("FailedComputeMetricsReplicas", summary),
        ]

    @pytest.mark.parametrize(
        ("metric", "first"),
        [
            (replace(cpu(percent=50), error="x"), "failed to get cpu resource metric value: failed to get cpu utiliz"),
            (replace(cpu(average=5), error="x"), "failed to get cpu resource metric value: failed to get cpu usage"),
            (cpu(percent=50, container="web"), "failed to get web container metric value: failed to get cpu utiliz"),
            (
                external(value=5, error="x"),
                "failed to get queue external metric value: failed to get external metric q",
            ),
        ],
    )
    def test_the_event_on_the_whole_sync_says_what_was_wanted_first(self, metric: MetricSample, first: str) -> None:
        event = decide(idle_target(1), metric).events[-1]
        assert event.reason == "FailedComputeMetricsReplicas"
        assert event.message.startswith(f"invalid metrics (1 invalid out of 1), first error is: {first}")

    def test_no_metric_at_all_is_refused(self) -> None:
        with pytest.raises(ValueError, match="metrics: none given"):
            decide(idle_target(1))


class TestAroundTheMetrics:
    def test_zero_replicas_switch_the_hpa_off(self) -> None:
        verdict = decide(idle_target(0), external(9000))
        assert (verdict.desired, verdict.rescale, verdict.metrics) == (0, False, ())
        message = "scaling is disabled since the replica count of the target is zero"
        assert message_of(verdict, "ScalingActive") == message

    @pytest.mark.parametrize(
        ("replicas", "desired", "reason"),
        [
            (12, 6, "Current number of replicas above Spec.MaxReplicas"),
            (1, 3, "Current number of replicas below Spec.MinReplicas"),
        ],
    )
    def test_a_count_outside_of_the_bounds_is_moved_without_a_look_at_the_metrics(
        self, replicas: int, desired: int, reason: str
    ) -> None:
        spec = HpaSpec(min_replicas=3, max_replicas=6)
        verdict = decide(idle_target(replicas), external(error="away"), spec=spec)
        assert (verdict.desired, verdict.rescale, verdict.reason) == (desired, True, reason)
        assert verdict.events == ()

    def test_the_first_sync_remembers_the_count_it_found(self) -> None:
        verdict = decide(idle_target(8), external(1000))
        assert (verdict.desired, verdict.rescale) == (8, False)
        assert [each.replicas for each in verdict.history.recommendations] == [8, 1]

    def test_a_rescale_is_told_and_remembered(self) -> None:
        spec = HpaSpec(max_replicas=100, behavior=Behavior())
        verdict = record_rescale(spec, decide(idle_target(3), external(5000), spec=spec), ControllerOptions(), NOW)
        text = f"New size: 5; reason: external metric queue({SELECTOR}) above target"
        assert verdict.events == (HpaEvent("Normal", "SuccessfulRescale", text),)
        assert message_of(verdict, "AbleToScale") == "the HPA controller was able to update the target scale to 5"
        assert verdict.history.scale_ups == (ScaleEvent(2, NOW),)

    def test_a_refused_rescale_is_told_and_changes_no_desired_count(self) -> None:
        verdict = report_failed_rescale(decide(idle_target(3), external(5000)), "quota exceeded")
        assert (verdict.desired, verdict.rescale) == (None, False)
        text = f"New size: 5; reason: external metric queue({SELECTOR}) above target; error: quota exceeded"
        assert verdict.events == (HpaEvent("Warning", "FailedRescale", text),)
        assert message_of(verdict, "AbleToScale").endswith("unable to update the target scale: quota exceeded")

    def test_a_scale_that_cannot_be_read_is_told(self) -> None:
        condition, event = report_failed_scale('deployments.apps "web" not found')
        assert (condition.type, condition.status, condition.reason) == ("AbleToScale", "False", "FailedGetScale")
        assert event == HpaEvent("Warning", "FailedGetScale", 'deployments.apps "web" not found')


def test_a_target_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ValueError, match="target: 0 is not positive"):
        MetricTarget(type=TargetType.VALUE, amount=0)


METRICS = st.one_of(
    st.builds(external, st.integers(0, 10**6), per_pod=st.integers(1, 10**5)),
    st.builds(external, st.integers(0, 10**6), value=st.integers(1, 10**5)),
    st.builds(external, error=st.just("away")),
    st.builds(cpu, percent=st.integers(1, 300)),
    st.builds(cpu, average=st.integers(1, 300_000)),
)
PODS = st.lists(
    st.builds(
        ready_pod,
        name=st.uuids().map(str),
        cpu=st.one_of(st.none(), st.integers(0, 500_000)),
        age=st.timedeltas(timedelta(0), timedelta(minutes=10)),
    ),
    max_size=12,
)


@given(PODS, st.lists(METRICS, min_size=1, max_size=4), st.integers(1, 6), st.integers(0, 20), st.booleans())
def test_no_sync_leaves_the_bounds_or_scales_down_on_a_failed_metric(
    pods: list[Pod], metrics: list[MetricSample], minimum: int, above: int, with_behavior: bool
) -> None:
    spec = HpaSpec(min_replicas=minimum, max_replicas=minimum + above, behavior=Behavior() if with_behavior else None)
    verdict = decide(target_of(*pods), *metrics, spec=spec)
    if verdict.rescale:
        assert verdict.desired is not None
        assert minimum <= verdict.desired <= minimum + above
    if verdict.desired is not None and None in verdict.metrics:
        assert verdict.desired >= len(pods)


@given(PODS, METRICS)
def test_a_new_hpa_never_scales_down_in_its_first_sync(pods: list[Pod], metric: MetricSample) -> None:
    verdict = decide(target_of(*pods), metric)
    assert verdict.desired is None or verdict.desired >= len(pods)
