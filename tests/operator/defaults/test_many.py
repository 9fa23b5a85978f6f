"""Defaults over many objects, and many defaults: bounded work for the loop, and nothing scaled on what is not known."""

import asyncio
from itertools import pairwise

import pytest

from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, KEDA_DEFAULTS, SCALED_OBJECTS
from keda_py.operator.defaults.known import AT_A_TIME, MOST_OBJECTS, KnownDefaults
from tests.builders import bare_scaled_object, deployment, keda_defaults, metrics_api, scaled_object
from tests.worlds.world import World

MANY = 2000


@pytest.fixture
def known(quiet_world: World) -> KnownDefaults:
    return KnownDefaults(quiet_world.client, (), None, watches=True)


async def test_a_change_over_two_thousand_objects_leaves_the_loop_to_others_after_each_hundred(
    quiet_world: World, known: KnownDefaults
) -> None:
    objects = Informer(quiet_world.client, InformerSpec(resource=SCALED_OBJECTS))
    for number in range(MANY):
        objects.put(bare_scaled_object(name=f"app-{number}", namespace="default"))
    due: list[ObjectKey] = []
    known.follow(objects, due.append)
    turns, done = [0], asyncio.Event()

    async def other_work() -> None:
        while len(due) < MANY:
            turns.append(len(due))
            await asyncio.sleep(0)
        done.set()

    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(known.run())]
        await known.synced()
        assert known.layers("default") == ()
        await quiet_world.create(keda_defaults(pollingInterval=60))
        running.append(tasks.create_task(other_work()))
        await done.wait()
        for task in running:
            task.cancel()
    assert max(after - before for before, after in pairwise(turns)) <= AT_A_TIME
    assert len(set(due)) == MANY


async def test_until_they_can_be_read_nothing_begins(quiet_world: World, known: KnownDefaults) -> None:
    name = f"{KEDA_DEFAULTS.plural}.{KEDA_DEFAULTS.group}"
    await quiet_world.client.delete(CUSTOM_RESOURCE_DEFINITIONS.named("", name))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(known.run())
        waiting = tasks.create_task(known.synced())
        await known.own.wait_tried()
        assert not known.own.synced
        assert not waiting.done()
        for task in (running, waiting):
            task.cancel()


async def test_of_many_in_a_namespace_the_oldest_are_in_force_and_the_others_say_so(quiet_world: World) -> None:
    world = quiet_world
    world.operator.flags = {"keda-defaults": "true"}
    await world.operator.start()
    for number in range(MOST_OBJECTS):
        await world.create(keda_defaults(f"d{number:02}", cooldownPeriod=number))
    await world.seconds(2)
    await world.create(keda_defaults("late", maxReplicaCount=3))
    await world.create(deployment(), scaled_object(metrics_api(world.url), maxReplicaCount=None))
    await world.seconds(5)
    found = world.hpa("keda-hpa-app")
    assert found is not None
    assert found["spec"]["maxReplicas"] == 100
    (valid,) = world.get(KEDA_DEFAULTS, "late")["status"]["conditions"]
    assert (valid["status"], valid["reason"]) == ("False", "TooMany")
    await world.delete(KEDA_DEFAULTS, "d00")
    await world.seconds(5)
    found = world.hpa("keda-hpa-app")
    assert found is not None
    assert found["spec"]["maxReplicas"] == 3
    assert world.get(KEDA_DEFAULTS, "late")["status"]["conditions"][0]["status"] == "True"
