"""What the HPA controller writes around the arithmetic: conditions, Events, status."""

from datetime import timedelta

import pytest

from keda_py.localkube.plane import PlaneOptions
from tests.builders import hpa
from tests.localkube.controllers.world import Obj, World, workload

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


def conditions(world: World) -> dict[str, tuple[str, str, str]]:
    status = world.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")["status"]
    return {row["type"]: (row["status"], row["reason"], row["message"]) for row in status["conditions"]}


async def test_a_rescale_is_told_as_condition_event_and_time(world: World) -> None:
    world.create(workload(replicas=2, cpu="100m"))
    await world.seconds(60)
    world.create(autoscaler(CPU))
    await world.seconds(16)
    assert world.get("apps/v1", "Deployment", "web")["spec"]["replicas"] == 4
    message = "the HPA controller was able to update the target scale to 4"
    assert conditions(world)["AbleToScale"] == ("True", "SucceededRescale", message)
    reason = "cpu resource utilization (percentage of request) above target"
    assert ("SuccessfulRescale", f"New size: 4; reason: {reason}") in world.events()
    status = world.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")["status"]
    assert status["lastScaleTime"] == "2026-03-02T08:01:15Z"
    assert (status["currentReplicas"], status["desiredReplicas"]) == (2, 4)


async def test_a_metric_that_nobody_serves_is_told_in_the_words_of_a_client(world: World) -> None:
    world.create(workload(replicas=2))
    await world.seconds(60)
    world.create(autoscaler(QUEUE))
    await world.seconds(16)
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
    assert conditions(world)["ScalingActive"] == expected
    assert ("FailedGetExternalMetric", failure) in world.events()
    assert world.get("apps/v1", "Deployment", "web")["spec"]["replicas"] == 2


async def test_a_missing_target_is_told_and_found_when_it_comes(world: World) -> None:
    world.create(autoscaler(CPU))
    await world.seconds(16)
    message = 'the HPA controller was unable to get the target\'s current scale: deployments.apps "web" not found'
    assert conditions(world)["AbleToScale"] == ("False", "FailedGetScale", message)
    assert ("FailedGetScale", 'deployments.apps "web" not found') in world.events()
    world.create(workload(replicas=1, cpu="50m"))
    await world.seconds(60)
    assert conditions(world)["AbleToScale"][0] == "True"


async def test_an_unknown_kind_of_target_is_told(world: World) -> None:
    world.create(autoscaler(CPU, kind="Robot"))
    await world.seconds(16)
    assert ("FailedGetScale", 'no matches for kind "Robot" in group "apps"') in world.events()


async def test_scaling_is_disabled_at_zero_replicas(world: World) -> None:
    world.create(workload(replicas=0))
    world.create(autoscaler(CPU))
    await world.seconds(16)
    message = "scaling is disabled since the replica count of the target is zero"
    assert conditions(world)["ScalingActive"] == ("False", "ScalingDisabled", message)
    assert world.get("apps/v1", "Deployment", "web")["spec"]["replicas"] == 0


async def test_last_transition_time_moves_only_with_the_status(world: World) -> None:
    world.create(workload(replicas=0))
    world.create(autoscaler(CPU))
    await world.seconds(16)
    before = world.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")
    await world.seconds(60)
    after = world.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_repeated_events_are_counted_on_one(world: World) -> None:
    world.create(autoscaler(CPU))
    await world.seconds(61)
    (event,) = world.all("v1", "Event")
    assert (event["reason"], event["count"], event["lastTimestamp"]) == ("FailedGetScale", 4, "2026-03-02T08:01:00Z")


async def test_usage_that_is_no_quantity_is_told_on_the_pod(world: World) -> None:
    world.create(workload(replicas=1, cpu="much"))
    await world.seconds(10)
    world.create(autoscaler(CPU))
    await world.seconds(16)
    (message,) = [message for reason, message in world.events() if reason == "InvalidUsage"]
    assert "local.keda-py.dev/cpu" in message
    assert conditions(world)["ScalingActive"][1] == "FailedGetResourceMetric"


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
async def test_custom_metrics_that_cannot_be_asked_are_told(
    world: World, metric: Obj, reason: str, message: str
) -> None:
    world.create(workload(replicas=1))
    world.create(autoscaler(metric))
    await world.seconds(16)
    status, told, words = conditions(world)["ScalingActive"]
    assert (status, told) == ("False", reason)
    assert words.endswith(f"unable to fetch metrics from custom metrics API: {message}")


async def test_a_broken_autoscaler_does_not_stop_the_others(world: World, caplog: pytest.LogCaptureFixture) -> None:
    broken = autoscaler({"type": "External", "external": {}})
    world.create({**broken, "metadata": {"name": "broken", "namespace": "default"}})
    world.create(workload(replicas=20, cpu="1m"))
    world.create(autoscaler(CPU, maximum=10))
    await world.seconds(31)
    assert world.get("apps/v1", "Deployment", "web")["spec"]["replicas"] == 10
    assert [record.hpa for record in caplog.records if record.message == "hpa sync failed"] == ["broken"]


async def test_the_sync_period_can_be_set() -> None:
    async with World(PlaneOptions(hpa_sync_seconds=timedelta(minutes=1).total_seconds())) as world:
        world.create(workload(replicas=0))
        world.create(autoscaler(CPU))
        await world.seconds(59)
        assert "status" not in world.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")
        await world.seconds(2)
        assert conditions(world)["ScalingActive"][1] == "ScalingDisabled"


async def test_a_deleted_autoscaler_is_left_alone(world: World) -> None:
    world.create(workload(replicas=2, cpu="100m"))
    hpa = world.create(autoscaler(CPU))
    await world.seconds(5)
    world.delete(hpa)
    await world.seconds(60)
    assert world.get("apps/v1", "Deployment", "web")["spec"]["replicas"] == 2


async def test_two_autoscalers_on_the_same_pods_both_stop(world: World) -> None:
    world.create(workload(replicas=2, cpu="100m"))
    await world.seconds(60)
    first, second = autoscaler(CPU), autoscaler(CPU)
    world.create(first)
    await world.seconds(16)
    second["metadata"] = {"name": "second", "namespace": "default"}
    other = world.create(second)
    await world.seconds(31)
    message = "pods by selector app=web are controlled by multiple HPAs: [default/second default/web]"
    assert conditions(world)["ScalingActive"] == ("False", "AmbiguousSelector", message)
    world.delete(other)
    await world.seconds(16)
    assert conditions(world)["ScalingActive"][0] == "True"
