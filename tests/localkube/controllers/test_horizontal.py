"""The conditions, Events and statuses that the HPA controller writes."""

from datetime import timedelta

import pytest

from keda_py.localkube.plane import PlaneOptions
from tests.builders import hpa
from tests.localkube.controllers.bare_cluster import BareCluster, Obj, behaving

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
QUEUE = {
    "type": "External",
    "external": {
        "metric": {"name": "s0-queue", "selector": {"matchLabels": {"scaledobject.keda.sh/name": "web"}}},
        "target": {"type": "AverageValue", "averageValue": "5"},
    },
}


def autoscaler(*metrics: Obj, name: str = "web", kind: str = "Deployment", maximum: int = 10) -> Obj:
    target = {"apiVersion": "apps/v1", "kind": kind, "name": name}
    return hpa(
        "web", namespace="default", scaleTargetRef=target, minReplicas=1, maxReplicas=maximum, metrics=list(metrics)
    )


def conditions(cluster: BareCluster) -> dict[str, tuple[str, str, str]]:
    status = cluster.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")["status"]
    return {row["type"]: (row["status"], row["reason"], row["message"]) for row in status["conditions"]}


async def test_a_rescale_sets_a_condition_an_event_and_the_time(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=2, cpu="100m"))
    await cluster.seconds(60)
    cluster.create(autoscaler(CPU))
    await cluster.seconds(16)
    assert cluster.get("apps/v1", "Deployment", "web")["spec"]["replicas"] == 4
    message = "the HPA controller was able to update the target scale to 4"
    assert conditions(cluster)["AbleToScale"] == ("True", "SucceededRescale", message)
    reason = "cpu resource utilization (percentage of request) above target"
    assert ("SuccessfulRescale", f"New size: 4; reason: {reason}") in cluster.events()
    status = cluster.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")["status"]
    assert status["lastScaleTime"] == "2026-03-02T08:01:15Z"
    assert (status["currentReplicas"], status["desiredReplicas"]) == (2, 4)


async def test_a_metric_without_a_server_is_an_error_in_the_words_of_a_client(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=2))
    await cluster.seconds(60)
    cluster.create(autoscaler(QUEUE))
    await cluster.seconds(16)
    selector = (
        "&LabelSelector{MatchLabels:map[string]string{scaledobject.keda.sh/name: web,},"
        "MatchExpressions:[]LabelSelectorRequirement{},}"
    )
    failure = (
        f"unable to get external metric default/s0-queue/{selector}: "
        "unable to fetch metrics from external metrics API: the server could not find the requested resource "
        "(get s0-queue.external.metrics.k8s.io)"
    )
    expected = ("False", "FailedGetExternalMetric", f"the HPA was unable to compute the replica count: {failure}")
    assert conditions(cluster)["ScalingActive"] == expected
    assert ("FailedGetExternalMetric", failure) in cluster.events()
    assert cluster.get("apps/v1", "Deployment", "web")["spec"]["replicas"] == 2


async def test_a_missing_target_is_reported_and_found_when_it_is_created(cluster: BareCluster) -> None:
    cluster.create(autoscaler(CPU))
    await cluster.seconds(16)
    message = 'the HPA controller was unable to get the target\'s current scale: deployments.apps "web" not found'
    assert conditions(cluster)["AbleToScale"] == ("False", "FailedGetScale", message)
    assert ("FailedGetScale", 'deployments.apps "web" not found') in cluster.events()
    cluster.create(behaving(replicas=1, cpu="50m"))
    await cluster.seconds(60)
    assert conditions(cluster)["AbleToScale"][0] == "True"


async def test_an_unknown_kind_of_target_is_reported(cluster: BareCluster) -> None:
    cluster.create(autoscaler(CPU, kind="Robot"))
    await cluster.seconds(16)
    assert ("FailedGetScale", 'no matches for kind "Robot" in group "apps"') in cluster.events()


async def test_scaling_is_disabled_at_zero_replicas(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=0))
    cluster.create(autoscaler(CPU))
    await cluster.seconds(16)
    message = "scaling is disabled since the replica count of the target is zero"
    assert conditions(cluster)["ScalingActive"] == ("False", "ScalingDisabled", message)
    assert cluster.get("apps/v1", "Deployment", "web")["spec"]["replicas"] == 0


async def test_last_transition_time_moves_only_with_the_status(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=0))
    cluster.create(autoscaler(CPU))
    await cluster.seconds(16)
    before = cluster.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")
    await cluster.seconds(60)
    after = cluster.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_repeated_events_are_counted_on_one(cluster: BareCluster) -> None:
    cluster.create(autoscaler(CPU))
    await cluster.seconds(61)
    (event,) = cluster.all("v1", "Event")
    assert (event["reason"], event["count"], event["lastTimestamp"]) == ("FailedGetScale", 4, "2026-03-02T08:01:00Z")


async def test_an_invalid_quantity_of_usage_is_reported_on_the_pod(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=1, cpu="much"))
    await cluster.seconds(10)
    cluster.create(autoscaler(CPU))
    await cluster.seconds(16)
    (message,) = [message for reason, message in cluster.events() if reason == "InvalidUsage"]
    assert "local.keda-py.dev/cpu" in message
    assert conditions(cluster)["ScalingActive"][1] == "FailedGetResourceMetric"


PODS = {
    "type": "Pods",
    "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "5"}},
}
ROBOT = {
    "type": "Object",
    "object": {
        "metric": {"name": "hits"},
        "describedObject": {"apiVersion": "example.com/v1", "kind": "Robot", "name": "r2"},
        "target": {"type": "Value", "value": "5"},
    },
}


@pytest.mark.parametrize(
    ("metric", "reason", "message"),
    [
        (PODS, "FailedGetPodsMetric", "no custom metrics API (custom.metrics.k8s.io) registered"),
        (
            ROBOT,
            "FailedGetObjectMetric",
            'unable to map kind Robot.example.com to resource: no matches for kind "Robot.example.com"',
        ),
    ],
)
async def test_custom_metrics_that_cannot_be_read_are_reported(
    cluster: BareCluster, metric: Obj, reason: str, message: str
) -> None:
    cluster.create(behaving(replicas=1))
    cluster.create(autoscaler(metric))
    await cluster.seconds(16)
    status, told, words = conditions(cluster)["ScalingActive"]
    assert (status, told) == ("False", reason)
    assert words.endswith(f"unable to fetch metrics from custom metrics API: {message}")


async def test_a_broken_autoscaler_does_not_stop_the_others(
    cluster: BareCluster, caplog: pytest.LogCaptureFixture
) -> None:
    broken = autoscaler({"type": "External", "external": {}})
    cluster.create({**broken, "metadata": {"name": "broken", "namespace": "default"}})
    cluster.create(behaving(replicas=20, cpu="1m"))
    cluster.create(autoscaler(CPU, maximum=10))
    await cluster.seconds(31)
    assert cluster.get("apps/v1", "Deployment", "web")["spec"]["replicas"] == 10
    assert [record.hpa for record in caplog.records if record.message == "hpa sync failed"] == ["broken"]


async def test_the_sync_period_can_be_set() -> None:
    async with BareCluster(PlaneOptions(hpa_sync_seconds=timedelta(minutes=1).total_seconds())) as cluster:
        cluster.create(behaving(replicas=0))
        cluster.create(autoscaler(CPU))
        await cluster.seconds(59)
        assert "status" not in cluster.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")
        await cluster.seconds(2)
        assert conditions(cluster)["ScalingActive"][1] == "ScalingDisabled"


async def test_a_deleted_autoscaler_is_left_alone(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=2, cpu="100m"))
    hpa = cluster.create(autoscaler(CPU))
    await cluster.seconds(5)
    cluster.delete(hpa)
    await cluster.seconds(60)
    assert cluster.get("apps/v1", "Deployment", "web")["spec"]["replicas"] == 2


async def test_two_autoscalers_on_the_same_pods_both_stop(cluster: BareCluster) -> None:
    cluster.create(behaving(replicas=2, cpu="100m"))
    await cluster.seconds(60)
    first, second = autoscaler(CPU), autoscaler(CPU)
    cluster.create(first)
    await cluster.seconds(16)
    second["metadata"] = {"name": "second", "namespace": "default"}
    other = cluster.create(second)
    await cluster.seconds(31)
    message = "pods by selector app=web are controlled by multiple HPAs: [default/second default/web]"
    assert conditions(cluster)["ScalingActive"] == ("False", "AmbiguousSelector", message)
    cluster.delete(other)
    await cluster.seconds(16)
    assert conditions(cluster)["ScalingActive"][0] == "True"
