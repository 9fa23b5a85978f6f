"""Sources that fail, hang or talk nonsense: "do not know" is never zero, and nobody else has to wait."""

import asyncio
from collections.abc import Callable

import pytest

from keda_py.kube.resources import DEPLOYMENTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.scene import Scene, has_replicas
from tests.e2e.source import NONSENSE, Source, serve_source

FAULTS: dict[str, Callable[[Source], None]] = {
    "fails": Source.fail,
    "hangs": Source.hang,
    "talks nonsense": lambda source: source.babble(NONSENSE[4]),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_source_that_does_not_answer_takes_nothing_down(
    scene: Scene, source: Source, fault: Callable[[Source], None]
) -> None:
    source.value = 1
    await scene.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=0))
    async with scene.watching(DEPLOYMENTS) as workload:
        await workload.until(has_replicas(1))
        fault(source)
        failed = await scene.condition("Ready", "False", "TriggerError")
        assert failed["message"] == "Triggers defined in ScaledObject are not working correctly"
        assert (await scene.event("KEDAScalerFailed"))["type"] == "Warning"
        await source.asked(2)
        source.value = 1
        await scene.condition("Ready", "True")
        assert workload.replicas() == [0, 1]
        source.value = 0
        await workload.until(has_replicas(0))


async def test_every_kind_of_nonsense_is_an_error(scene: Scene, source: Source) -> None:
    source.value = 1
    await scene.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=0))
    async with scene.watching(DEPLOYMENTS) as workload:
        await workload.until(has_replicas(1))
        for body in NONSENSE:
            source.babble(body)
            await source.asked(2)
        await scene.condition("Ready", "False", "TriggerError")
        assert workload.replicas() == [0, 1]


async def test_a_source_that_hangs_delays_nobody_else(scene: Scene, source: Source) -> None:
    source.hang()
    async with serve_source() as other:
        await scene.create(deployment("stuck"), deployment("quick"))
        await scene.create(scaled_object(metrics_api(source.url), name="stuck"))
        await source.asked()
        await scene.create(scaled_object(metrics_api(other.url), name="quick"))
        await other.asked()
        began = asyncio.get_running_loop().time()
        other.value = 1
        await scene.replicas(1, "quick")
        assert asyncio.get_running_loop().time() - began < 3


async def test_a_fallback_takes_over_from_a_source_that_fails(scene: Scene, source: Source) -> None:
    source.fail()
    fallback = {"failureThreshold": 2, "replicas": 3}
    await scene.create(deployment(), scaled_object(metrics_api(source.url), fallback=fallback))
    await scene.condition("Fallback", "True", "FallbackExists")
    await scene.replicas(3)
    source.value = 0
    await scene.condition("Fallback", "False", "NoFallbackFound")
