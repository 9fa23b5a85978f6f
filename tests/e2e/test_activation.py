"""0 <-> 1: what the operator does itself, and when."""

import asyncio

from keda_py.kube.resources import DEPLOYMENTS, SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.scene import Scene, has_condition, has_replicas
from tests.e2e.source import Source

LATE_SECONDS = 4.0


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_job_in_the_queue_wakes_the_workload_and_an_empty_queue_sends_it_to_sleep(
    scene: Scene, source: Source
) -> None:
    source.value = 3
    await scene.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=3))
    await scene.replicas(1)
    await scene.condition("Active", "True", "ScalerActive")
    source.value, emptied = 0, now()
    await scene.replicas(0)
    assert 3 - 1.5 <= now() - emptied <= 3 + LATE_SECONDS
    live = await scene.until(SCALED_OBJECTS, has_condition("Active", "False", "ScalerNotActive"))
    assert live["status"]["lastActiveTime"]
    assert (await scene.event("KEDAScaleTargetActivated"))["note"].endswith(
        "from 0 to 1, triggered by s0-metric-api-value"
    )
    assert (await scene.event("KEDAScaleTargetDeactivated"))["note"].endswith("from 1 to 0")


async def test_the_cooldown_begins_with_the_last_activity_and_is_shown(scene: Scene, source: Source) -> None:
    source.value = 3
    await scene.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=4))
    async with scene.watching(DEPLOYMENTS) as workload:
        await workload.until(has_replicas(1))
        source.value = 0
        await scene.condition("Active", "False", "ScalerCooldown")
        source.value = 1
        await scene.condition("Active", "True")
        source.value, emptied = 0, now()
        await workload.until(has_replicas(0))
        assert now() - emptied >= 4 - 1.5
        assert workload.replicas() == [0, 1, 0]


async def test_the_initial_cooldown_holds_a_new_workload_back_from_zero(scene: Scene, source: Source) -> None:
    began = now()
    late = scaled_object(metrics_api(source.url), name="late", initialCooldownPeriod=5, cooldownPeriod=0)
    early = scaled_object(metrics_api(source.url), name="early", cooldownPeriod=300)
    await scene.create(deployment("late", 1), deployment("early", 1), late, early)
    await scene.replicas(0, "early")
    sooner = now() - began
    await scene.replicas(0, "late")
    assert now() - began >= 5 - 1  # creationTimestamp is cut to the second
    assert sooner < now() - began


async def test_idle_replicas_stay_while_nothing_is_to_do(scene: Scene, source: Source) -> None:
    source.value = 1
    idle = scaled_object(metrics_api(source.url), idleReplicaCount=1, minReplicaCount=2)
    async with asyncio.timeout(90):
        await scene.create(deployment(replicas=1), idle)
        async with scene.watching(DEPLOYMENTS) as workload:
            await workload.until(has_replicas(2))
            source.value = 0
            await workload.until(has_replicas(1))
            await source.asked(3)
            assert workload.replicas()[-3:] == [1, 2, 1]


async def test_with_a_minimum_above_zero_the_workload_never_sleeps(scene: Scene, source: Source) -> None:
    await scene.create(deployment(replicas=1), scaled_object(metrics_api(source.url), minReplicaCount=2))
    async with scene.watching(DEPLOYMENTS) as workload:
        await workload.until(has_replicas(2))
        await scene.condition("Active", "False", "ScalerNotActive")
        await source.asked(4)
        assert workload.replicas() == [1, 2] or workload.replicas() == [2]


async def test_below_the_activation_value_nothing_wakes(scene: Scene, source: Source) -> None:
    trigger = metrics_api(source.url)
    trigger["metadata"]["activationTargetValue"] = "10"
    source.value = 10
    await scene.create(deployment(), scaled_object(trigger))
    async with scene.watching(DEPLOYMENTS) as workload:
        await scene.condition("Active", "False")
        await source.asked(3)
        assert workload.replicas() == [0]
        source.value = 11
        await workload.until(has_replicas(1))
