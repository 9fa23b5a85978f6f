"""Objects are deleted, made anew, paused, released, and there may be many of them."""

import asyncio

import pytest
from aiohttp import web

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS
from keda_py.localkube.store.subscriptions import Event
from tests.builders import deployment, metrics_api, scaled_object
from tests.http_server import Answer
from tests.sweeps import size
from tests.waiting import eventually
from tests.worlds.world import HPA, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAUSED = "autoscaling.keda.sh/paused"
PAUSED_REPLICAS = "autoscaling.keda.sh/paused-replicas"
RESTORE = {"restoreToOriginalReplicaCount": True}
MANY = size(100, 20)
DELAY = 1.0
"""Seconds of the loop's time."""


@pytest.fixture
def world(room: World) -> World:
    return room


async def test_an_object_made_anew_at_once_is_another_object(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=300))
    await world.seconds(5)
    first = world.get(SCALED_OBJECTS)["metadata"]["uid"]
    await world.delete(SCALED_OBJECTS)
    await world.seconds(0.01)
    await world.create(scaled_object(metrics_api(world.url), maxReplicaCount=7, cooldownPeriod=300))
    await world.seconds(5)
    hpa = world.get(HORIZONTAL_POD_AUTOSCALERS, HPA)
    assert hpa["spec"]["maxReplicas"] == 7
    assert hpa["metadata"]["ownerReferences"][0]["uid"] == world.get(SCALED_OBJECTS)["metadata"]["uid"] != first
    assert world.status()["originalReplicaCount"] == 1
    assert world.condition("Active") == ("True", "ScalerActive")


async def test_an_object_made_anew_while_nobody_looked_is_another_object(alone: World) -> None:
    world = alone
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=300))
    await world.seconds(5)
    world.operator.cable.pull()
    await world.patch(SCALED_OBJECTS, {"metadata": {"finalizers": []}})
    await world.delete(SCALED_OBJECTS)
    await world.create(scaled_object(metrics_api(world.url), maxReplicaCount=7, cooldownPeriod=300))
    world.operator.cable.plug()

    async def recovered() -> bool:
        await world.seconds(1)
        return world.condition("Ready") == ("True", "ScaledObjectReady")

    await eventually(recovered, 30)
    await world.seconds(5)
    hpa, uid = world.get(HORIZONTAL_POD_AUTOSCALERS, HPA), world.get(SCALED_OBJECTS)["metadata"]["uid"]
    assert hpa["spec"]["maxReplicas"] == 7
    assert [owner["uid"] for owner in hpa["metadata"]["ownerReferences"]] == [uid]
    assert world.get(SCALED_OBJECTS)["metadata"]["finalizers"] == ["finalizer.keda.sh"]


async def test_replicas_are_given_back_once_and_the_target_may_be_gone(world: World) -> None:
    await world.create(
        deployment(replicas=3),
        deployment("gone", 3),
        scaled_object(metrics_api(world.url), advanced=RESTORE),
        scaled_object(metrics_api(world.url), name="gone", advanced=RESTORE),
    )
    await world.seconds(10)
    assert (world.replicas(), world.replicas("gone")) == (0, 0)
    await world.delete(DEPLOYMENTS, "gone")
    for name in ("app", "gone"):
        await world.delete(SCALED_OBJECTS, name)
    await world.seconds(5)
    assert (world.find(SCALED_OBJECTS), world.find(SCALED_OBJECTS, "gone")) == (None, None)
    assert (world.replicas(), world.find(HORIZONTAL_POD_AUTOSCALERS, HPA)) == (3, None)


async def test_a_paused_object_is_neither_polled_nor_scaled(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(5)
    await world.annotate({PAUSED: "true"})
    await world.seconds(1)
    asked = len(world.server.asked)
    world.jobs(0)
    await world.seconds(600)
    assert (len(world.server.asked), world.replicas()) == (asked, 1)
    assert (world.condition("Paused"), world.message("Ready")) == (
        ("True", "ScaledObjectPaused"),
        "ScaledObject is paused",
    )
    assert world.find(HORIZONTAL_POD_AUTOSCALERS, HPA) is None
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 4}})
    await world.seconds(600)
    assert world.replicas() == 4
    await world.annotate({PAUSED: None})
    await world.seconds(5)
    assert (world.replicas(), world.condition("Paused")) == (0, ("False", "ScaledObjectUnpaused"))
    assert world.reasons().count("ScaledObjectPaused") == world.reasons().count("ScaledObjectUnpaused") == 1


async def test_an_object_that_is_born_paused_never_scales(world: World) -> None:
    world.jobs(1)
    wanted = scaled_object(metrics_api(world.url))
    wanted["metadata"]["annotations"] = {PAUSED_REPLICAS: "2"}
    await world.create(deployment(), wanted)
    await world.seconds(60)
    assert (world.replicas(), world.status()["pausedReplicaCount"], len(world.server.asked)) == (2, 2, 0)
    await world.delete(SCALED_OBJECTS)
    await world.seconds(1)
    assert world.find(SCALED_OBJECTS) is None


async def test_the_annotation_empty_means_paused_and_false_means_not(world: World) -> None:
    world.jobs(1)
    for name, value in (("empty", ""), ("no", "false"), ("zero", "0"), ("odd", "maybe")):
        wanted = scaled_object(metrics_api(world.url), name=name)
        wanted["metadata"]["annotations"] = {PAUSED: value}
        await world.create(deployment(name), wanted)
    await world.seconds(5)
    assert {name: world.replicas(name) for name in ("empty", "no", "zero", "odd")} == {
        "empty": 0,
        "no": 1,
        "zero": 1,
        "odd": 0,
    }


@pytest.mark.asyncio(loop_scope="function")
async def test_many_objects_at_once_are_all_ready_and_asked_for_in_time(quiet_world: World) -> None:
    world = quiet_world
    world.operator.source_seconds = 3.0
    await world.operator.start()
    names = [f"app-{number}" for number in range(MANY)]
    scaled: dict[str, float] = {}

    def hear(event: Event) -> None:
        if event.resource.plural == "deployments" and event.object["spec"]["replicas"] == 1:
            scaled.setdefault(event.name, world.clock.monotonic())

    world.listen(hear)
    await asyncio.gather(*(world.create(deployment(name)) for name in names))
    triggers = metrics_api(world.url)
    await asyncio.gather(
        *(world.create(scaled_object(triggers, name=name, pollingInterval=30, cooldownPeriod=300)) for name in names)
    )
    await world.seconds(10)
    assert {world.condition("Ready", name) for name in names} == {("True", "ScaledObjectReady")}
    assert scaled == {}
    began = world.clock.monotonic()
    world.jobs(1)
    await world.seconds(31)
    assert len(scaled) == MANY
    assert max(scaled.values()) - began <= 31
    await world.seconds(30)  # the HPAs have something to do again, which is passed on
    versions = {name: world.get(SCALED_OBJECTS, name)["metadata"]["resourceVersion"] for name in names}
    await world.seconds(120)
    assert {name: world.get(SCALED_OBJECTS, name)["metadata"]["resourceVersion"] for name in names} == versions


@pytest.mark.asyncio(loop_scope="function")
async def test_one_source_that_hangs_delays_none_of_the_others(quiet_world: World) -> None:
    world = quiet_world
    world.operator.source_seconds = 0.25
    await world.operator.start()

    async def never(_: object) -> None:
        await asyncio.get_running_loop().create_future()

    world.server.answers["/stuck"] = never  # type: ignore[assignment]
    stuck = metrics_api(world.url.replace("/jobs", "/stuck"))
    await world.create(deployment("stuck", 1), scaled_object(stuck, name="stuck", cooldownPeriod=0))
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    world.jobs(1)
    await world.seconds(3)
    assert (world.replicas(), world.replicas("stuck")) == (1, 1)
    assert world.condition("Ready", "stuck") == ("False", "TriggerError")


@pytest.mark.asyncio(loop_scope="function")
async def test_fifty_objects_of_a_dead_server_delay_no_poll_of_the_others(quiet_world: World) -> None:
    world, over, hanging, asked = quiet_world, asyncio.Event(), set[str](), dict[str, float]()
    world.operator.source_seconds = 30.0
    await world.operator.start()
    clock = asyncio.get_running_loop().time

    async def never(request: web.Request) -> web.Response:
        hanging.add(request.path)
        await over.wait()
        return web.Response(text='{"value": 0}')

    async def answer(request: web.Request) -> web.Response:
        asked[request.path] = clock()
        return web.Response(text='{"value": 1}')

    async def poll(count: int, path: str, behave: Answer) -> None:
        names = [f"{path}-{number}" for number in range(count)]
        world.server.answers |= dict.fromkeys((f"/{name}" for name in names), behave)
        made = [
            (deployment(name, 1), scaled_object(metrics_api(f"{world.server.url}/{name}"), name=name)) for name in names
        ]
        await asyncio.gather(*(world.create(*both) for both in made))

    await poll(50, "dead", never)
    await eventually(lambda: len(hanging) == 50)
    began = clock()
    await poll(5, "good", answer)
    await eventually(lambda: len(asked) == 5)
    assert (len(hanging), max(asked.values()) - began <= DELAY) == (50, True)
    over.set()


async def test_an_object_whose_source_hangs_for_an_hour_is_changed_and_deleted_at_once(world: World) -> None:
    asked, over, gone = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def hang(_: web.Request) -> web.Response:
        asked.set()
        await over.wait()
        return web.Response(text='{"value": 1}')

    def hear(event: Event) -> None:
        if (event.resource.plural, event.type) == (SCALED_OBJECTS.plural, "DELETED"):
            gone.set()

    world.server.answers["/hang"] = hang
    world.listen(hear)
    trigger = metrics_api(f"{world.server.url}/hang")
    trigger["metadata"]["timeout"] = "1h"
    async with asyncio.timeout(30):
        await world.create(deployment(), scaled_object(trigger))
        await asked.wait()
        asked.clear()
        trigger["metadata"]["targetValue"] = "7"
        await world.patch(SCALED_OBJECTS, {"spec": {"triggers": [trigger]}})
        await asked.wait()
        await world.delete(SCALED_OBJECTS)
        await gone.wait()
    over.set()
