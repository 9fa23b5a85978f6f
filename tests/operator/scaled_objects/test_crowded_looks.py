"""Looks of one namespace that would act at once take places: who waited for long decides on what holds then."""

import asyncio

import pytest

from keda_py.answers.fairness import TenantPlaces
from keda_py.operator.scaled_objects.look import ScaleLoop
from tests.builders import deployment, metrics_api, scaled_object
from tests.waiting import eventually, turns
from tests.worlds.world import NAMESPACE, World


@pytest.mark.parametrize(("waited", "asked", "replicas"), [(3, 2, 0), (1, 1, 1)])
async def test_after_a_long_wait_for_a_place_the_source_is_asked_again(
    world: World, waited: float, asked: int, replicas: int
) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=300))
    await world.seconds(5)
    assert world.operator.assembly is not None
    asked_of = world.server
    assert asked_of is not None
    parts, (state,) = world.operator.assembly.parts, world.operator.assembly.scaled_objects.states.values()
    places = TenantPlaces(1)
    loop = ScaleLoop(parts, places)
    world.jobs(3)
    before = len(asked_of.asked)
    async with asyncio.TaskGroup() as tasks, places.one(NAMESPACE):
        tasks.create_task(loop.look(state))
        await eventually(lambda: len(asked_of.asked) > before)
        await turns(100)
        await world.seconds(waited)
        assert world.replicas() == 0
        world.jobs(0)
    assert len(asked_of.asked) - before == asked
    assert world.replicas() == replicas
