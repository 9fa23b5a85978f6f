"""Pause annotations: the HPA goes, the replicas stay or take the asked count, and afterwards all is as before."""

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.scene import Scene, has_replicas
from tests.e2e.source import Source

PAUSED = "autoscaling.keda.sh/paused"
PAUSED_REPLICAS = "autoscaling.keda.sh/paused-replicas"
PAUSED_SCALE_IN = "autoscaling.keda.sh/paused-scale-in"
PAUSED_SCALE_OUT = "autoscaling.keda.sh/paused-scale-out"
HPA = "keda-hpa-app"


async def test_a_paused_object_is_left_alone_until_it_is_released(scene: Scene, source: Source) -> None:
    source.value = 1
    await scene.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=0))
    async with scene.watching(DEPLOYMENTS) as workload, scene.watching(HORIZONTAL_POD_AUTOSCALERS, HPA) as hpa:
        await workload.until(has_replicas(1))
        await scene.annotate({PAUSED: "true"})
        paused = await scene.condition("Paused", "True", "ScaledObjectPaused")
        assert paused["message"] == "ScaledObject is paused"
        await hpa.gone()
        await scene.event("ScaledObjectPaused")
        await scene.event("KEDAScalersStopped")
        source.value = 0
        assert workload.replicas() == [0, 1]
        await scene.annotate({PAUSED: None})
        await scene.condition("Paused", "False", "ScaledObjectUnpaused")
        await workload.until(has_replicas(0))
        assert workload.replicas() == [0, 1, 0]
    assert await scene.exists(HORIZONTAL_POD_AUTOSCALERS, HPA)


async def test_an_object_can_be_paused_at_a_count(scene: Scene, source: Source) -> None:
    await scene.create(deployment(), scaled_object(metrics_api(source.url)))
    await scene.condition("Ready", "True")
    await scene.annotate({PAUSED_REPLICAS: "3"})
    await scene.replicas(3)
    await scene.until(SCALED_OBJECTS, lambda live: live["status"].get("pausedReplicaCount") == 3)
    await scene.annotate({PAUSED_REPLICAS: "2"})
    await scene.replicas(2)
    await scene.annotate({PAUSED_REPLICAS: None})
    await scene.replicas(0)
    await scene.until(SCALED_OBJECTS, lambda live: "pausedReplicaCount" not in live["status"])


async def test_scaling_can_be_paused_in_one_direction(scene: Scene, source: Source) -> None:
    wanted = scaled_object(metrics_api(source.url), cooldownPeriod=0)
    wanted["metadata"]["annotations"] = {PAUSED_SCALE_OUT: "true"}
    source.value = 1
    await scene.create(deployment(), wanted)
    async with scene.watching(DEPLOYMENTS) as workload:
        await scene.condition("Active", "True")
        hpa = await scene.until(HORIZONTAL_POD_AUTOSCALERS, bool, HPA)  # it is made behind the first status
        assert hpa["spec"]["behavior"]["scaleUp"]["selectPolicy"] == "Disabled"
        assert workload.replicas() == [0]
        await scene.annotate({PAUSED_SCALE_OUT: None, PAUSED_SCALE_IN: "true"})
        await workload.until(has_replicas(1))
        source.value = 0
        await scene.condition("Active", "False")
        await source.asked(2)
        assert workload.replicas() == [0, 1]
        await scene.annotate({PAUSED_SCALE_IN: None})
        await workload.until(has_replicas(0))
