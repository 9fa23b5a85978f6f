"""Manifests that are wrong: the field and the reason are told, nothing is scaled, and a correction is enough."""

import pytest

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, Obj
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.scene import Scene, has_replicas
from tests.e2e.source import Source

CRON = {"timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "1"}

WRONG = {
    "a trigger type that nobody knows": ({"type": "metrics-apy", "metadata": {}}, "metrics-apy"),
    "a trigger without its url": (
        {"type": "metrics-api", "metadata": {"valueLocation": "value", "targetValue": "5"}},
        "url",
    ),
    "a number that is none": (
        {"type": "metrics-api", "metadata": {"url": "http://x.y", "valueLocation": "value", "targetValue": "lots"}},
        "targetValue",
    ),
    "a schedule with a sixtieth hour": ({"type": "cron", "metadata": {**CRON, "start": "0 60 * * *"}}, "start"),
    "memory measured in words": (
        {"type": "memory", "metricType": "Utilization", "metadata": {"value": "much"}},
        "value",
    ),
}


@pytest.mark.parametrize(("trigger", "field"), WRONG.values(), ids=WRONG)
async def test_a_broken_trigger_is_told_and_a_correction_is_enough(
    scene: Scene, source: Source, trigger: Obj, field: str
) -> None:
    source.value = 1
    await scene.create(deployment(), scaled_object(trigger))
    ready = await scene.condition("Ready", "False", "ScaledObjectCheckFailed")
    assert field in ready["message"]
    told = await scene.event("ScaledObjectCheckFailed", words=field)
    assert told["type"] == "Warning"
    assert (await scene.get(DEPLOYMENTS))["spec"]["replicas"] == 0
    assert not await scene.exists(HORIZONTAL_POD_AUTOSCALERS, "keda-hpa-app")
    await scene.replace_triggers(metrics_api(source.url))
    await scene.condition("Ready", "True")
    await scene.replicas(1)


async def test_a_workload_that_breaks_its_manifest_keeps_its_replicas(scene: Scene, source: Source) -> None:
    source.value = 1
    await scene.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=0))
    async with scene.watching(DEPLOYMENTS) as workload:
        await workload.until(has_replicas(1))
        await scene.replace_triggers({"type": "metrics-apy", "metadata": {}})
        await scene.condition("Ready", "False")
        source.value = 0
        await scene.replace_triggers(metrics_api(source.url))
        await scene.condition("Ready", "True")
        await workload.until(has_replicas(0))
        assert workload.replicas() == [0, 1, 0]


async def test_a_time_zone_that_is_nowhere_is_told_and_scales_nothing(scene: Scene, source: Source) -> None:
    nowhere = {"type": "cron", "metadata": {**CRON, "timezone": "Atlantis/Poseidonis"}}
    await scene.create(deployment(replicas=1), scaled_object(nowhere, cooldownPeriod=0))
    await scene.condition("Ready", "False", "TriggerError")
    assert "Atlantis/Poseidonis" in (await scene.event("KEDAScalerFailed"))["note"]
    assert (await scene.get(DEPLOYMENTS))["spec"]["replicas"] == 1
    await scene.replace_triggers(metrics_api(source.url))
    await scene.replicas(0)


async def test_a_target_may_come_after_its_scaled_object(scene: Scene, source: Source) -> None:
    source.value = 1
    await scene.create(scaled_object(metrics_api(source.url)))
    ready = await scene.condition("Ready", "False", "ScaledObjectCheckFailed")
    assert ready["message"].startswith("ScaledObject doesn't have correct scaleTargetRef specification")
    await scene.event("ScaledObjectCheckFailed", words="doesn't exist")
    await scene.create(deployment())
    await scene.condition("Ready", "True")
    await scene.replicas(1)


async def test_bounds_that_contradict_each_other_are_refused(scene: Scene, source: Source) -> None:
    wrong = scaled_object(metrics_api(source.url), idleReplicaCount=3, minReplicaCount=2)
    await scene.create(deployment(), wrong)
    ready = await scene.condition("Ready", "False", "ScaledObjectCheckFailed")
    assert "IdleReplicaCount=3 must be less than MinReplicaCount=2" in ready["message"]


async def test_an_unknown_kind_of_target_is_reported(scene: Scene, source: Source) -> None:
    wrong = scaled_object(
        metrics_api(source.url), scaleTargetRef={"apiVersion": "example.com/v1", "kind": "Robot", "name": "app"}
    )
    await scene.create(wrong)
    ready = await scene.condition("Ready", "False", "ScaledObjectCheckFailed")
    assert "Robot" in ready["message"]
