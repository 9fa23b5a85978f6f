"""A look waits for its sources without a task of its own; what changes its object meanwhile ends the wait."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from keda_py.kube.resources import HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.waiting import eventually
from tests.worlds.world import HPA, World

POLL = 10


@asynccontextmanager
async def waiting_for_its_source(world: World) -> AsyncIterator[asyncio.Event]:
    """An object whose second poll has begun, and is answered with 3 when the event is set, as it is afterwards."""
    assert world.server is not None
    asked, answers = asyncio.Event(), asyncio.Event()

    async def answer(_: web.Request) -> web.Response:
        asked.set()
        await answers.wait()
        return web.Response(text='{"value": 3}')

    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=POLL, maxReplicaCount=1))
    await world.seconds(4)
    world.server.answers["/jobs"] = answer
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.seconds(2 * POLL))
        await asked.wait()
        yield answers
        answers.set()


async def test_a_look_that_waits_for_its_source_has_no_task_and_decides_on_the_answer(world: World) -> None:
    async with waiting_for_its_source(world) as answers:
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("work ScaledObject")]
        assert world.replicas() == 0
        answers.set()
        await eventually(lambda: world.replicas() == 1)


async def test_an_object_that_is_deleted_while_its_source_hangs_goes_at_once(world: World) -> None:
    async with waiting_for_its_source(world):
        await world.delete(SCALED_OBJECTS)
        await eventually(lambda: world.find(SCALED_OBJECTS) is None)


async def test_an_object_that_is_changed_while_its_source_hangs_is_reconciled_at_once(world: World) -> None:
    async with waiting_for_its_source(world):
        await world.patch(SCALED_OBJECTS, {"spec": {"maxReplicaCount": 7}})
        await eventually(lambda: world.get(HORIZONTAL_POD_AUTOSCALERS, HPA)["spec"]["maxReplicas"] == 7)
    assert world.replicas() == 1
