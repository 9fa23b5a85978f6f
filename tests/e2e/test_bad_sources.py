"""Sources that fail, hang or talk nonsense: "do not know" is never zero, and nobody else has to wait."""

import asyncio
from collections.abc import Callable

import pytest

from keda_py.kube.resources import DEPLOYMENTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.source import NONSENSE, Source, serve_source
from tests.e2e.world import World, has_replicas

FAULTS: dict[str, Callable[[Source], None]] = {
    "fails": Source.fail,
    "hangs": Source.hang,
    "talks nonsense": lambda source: source.babble(NONSENSE[4]),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_source_that_does_not_answer_takes_nothing_down(
    world: World, source: Source, fault: Callable[[Source], None]
) -> None:
    source.value = 1
    await world.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=0))
    async with world.watching(DEPLOYMENTS) as workload:
        await workload.until(has_replicas(1))
        fault(source)
        failed = await world.condition("Ready", "False", "TriggerError")
        assert failed["message"] == "Triggers defined in ScaledObject are not working correctly"
        assert (await world.event("KEDAScalerFailed"))["type"] == "Warning"
        await source.asked(2)
        source.value = 1
        await world.condition("Ready", "True")
        assert workload.replicas() == [0, 1]
        source.value = 0
        await workload.until(has_replicas(0))


async def test_every_kind_of_nonsense_is_an_error(world: World, source: Source) -> None:
    source.value = 1
    await world.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=0))
    async with world.watching(DEPLOYMENTS) as workload:
        await workload.until(has_replicas(1))
        for body in NONSENSE:
            source.babble(body)
            await source.asked(2)
        await world.condition("Ready", "False", "TriggerError")
        assert workload.replicas() == [0, 1]


async def test_a_source_that_hangs_delays_nobody_else(world: World, source: Source) -> None:
    source.hang()
    async with serve_source() as other:
        await world.create(deployment("stuck"), deployment("quick"))
        await world.create(scaled_object(metrics_api(source.url), name="stuck"))
        await source.asked()
        await world.create(scaled_object(metrics_api(other.url), name="quick"))
        await other.asked()
        began = asyncio.get_running_loop().time()
        other.value = 1
        await world.replicas(1, "quick")
        assert asyncio.get_running_loop().time() - began < 3


async def test_a_fallback_takes_over_from_a_source_that_fails(world: World, source: Source) -> None:
    source.fail()
    fallback = {"failureThreshold": 2, "replicas": 3}
    await world.create(deployment(), scaled_object(metrics_api(source.url), fallback=fallback))
    await world.condition("Fallback", "True", "FallbackExists")
    await world.replicas(3)
    source.value = 0
    await world.condition("Fallback", "False", "NoFallbackFound")
