"""Killed at any point of its work, the operator finds its way after a restart: every write is tried as the last one.

A kill is strict: at the k-th write that the cluster stores, the cable is pulled before the operator hears of it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS
from keda_py.localkube.store.subscriptions import Event
from tests.builders import deployment, metrics_api, scaled_object
from tests.http_server import HttpServer
from tests.sweeps import WHOLE, size, steps
from tests.worlds.world import HPA, World, open_world

OURS = ("scaledobjects", "horizontalpodautoscalers", "deployments", "events")
COOLDOWN = size(120, 40)
LONG_ACTIVE = size(3600, 600)
"""Both in seconds."""

Story = Callable[[World], AsyncIterator[None]]
"""Three chapters: what was before, what the operator may die in, what is the end all the same."""
EveryKill = Callable[[Story], Awaitable[int]]
"""Live through a story once for each write (each third, where not all is swept); how many there were."""


class Cutter:
    """Pulls the cable at the k-th write of the operator from now on; `writes` counts up to there."""

    def __init__(self, world: World, number: int) -> None:
        self._world, self._number = world, number
        self.writes = 0
        self.done = asyncio.Event()
        world.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if event.resource.plural not in OURS or self.done.is_set() or not _is_operators(event):
            return
        self.writes += 1
        if self.writes >= self._number:
            self._world.operator.cut()
            self.done.set()


def _is_operators(event: Event) -> bool:
    """Not the deployment controller's and not the HPA controller's status."""
    if event.resource.plural == "events":
        return bool((event.object.get("reportingComponent") or "") == "keda-operator")
    spec, before = event.object.get("spec"), (event.previous or {}).get("spec")
    if event.resource.plural in ("deployments", "horizontalpodautoscalers"):
        return bool(spec != before)
    return True


@pytest.fixture
async def every_kill(tmp_path: Path, server: HttpServer) -> AsyncIterator[EveryKill]:
    async with asyncio.TaskGroup() as tasks:

        async def live_through(story: Story) -> int:
            for number in steps(3):
                folder = tmp_path / str(number)
                folder.mkdir()
                async with open_world(folder, server, tasks, tls=WHOLE) as world:
                    await world.operator.start()
                    cutter = await _live_through(world, story, number)
                    if not cutter.done.is_set():
                        return cutter.writes
            raise AssertionError("unreachable")

        yield live_through


async def _live_through(world: World, story: Story, number: int) -> Cutter:
    """One life with a kill at that write, unless the story is over before."""
    chapters = story(world)
    await anext(chapters)
    cutter = Cutter(world, number)
    try:
        async with asyncio.TaskGroup() as tasks:
            dying = tasks.create_task(_die(world, cutter))
            await anext(chapters)
            dying.cancel()
        if cutter.done.is_set():
            await world.operator.start()
        await anext(chapters, None)
    except BaseException as error:
        error.add_note(f"killed at write {number}")
        raise
    return cutter


async def _die(world: World, cutter: Cutter) -> None:
    await cutter.done.wait()
    await world.operator.kill()


async def test_on_the_way_up_every_write_may_be_the_last_one(every_kill: EveryKill) -> None:
    async def story(world: World) -> AsyncIterator[None]:
        world.jobs(1)
        await world.create(deployment())
        counts = world.writes_of(DEPLOYMENTS)
        yield
        await world.create(scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN, pollingInterval=10))
        await world.seconds(5)
        yield
        await world.seconds(5)
        assert {version["spec"]["replicas"] for version in counts} <= {0, 1}
        assert (world.replicas(), world.condition("Active")) == (1, ("True", "ScalerActive"))
        assert world.condition("Ready") == ("True", "ScaledObjectReady")
        assert world.get(HORIZONTAL_POD_AUTOSCALERS, HPA)["spec"]["maxReplicas"] == 5
        assert world.get(SCALED_OBJECTS)["metadata"]["finalizers"] == ["finalizer.keda.sh"]
        assert world.status()["originalReplicaCount"] == 0

    assert await every_kill(story) > 8


async def test_on_the_way_down_every_write_may_be_the_last_one(every_kill: EveryKill) -> None:
    async def story(world: World) -> AsyncIterator[None]:
        world.jobs(1)
        await world.create(
            deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN, pollingInterval=10)
        )
        await world.seconds(10)
        emptied = world.clock.monotonic()
        asleep: list[float] = []
        counts = world.writes_of(DEPLOYMENTS)

        def hear(event: Event) -> None:
            if event.resource.plural == "deployments" and event.object["spec"]["replicas"] == 0:
                asleep.append(world.clock.monotonic())

        world.listen(hear)
        yield
        world.jobs(0)
        await world.seconds(COOLDOWN + 5)
        yield
        await world.seconds(COOLDOWN + 5)
        assert (world.replicas(), world.condition("Active")) == (0, ("False", "ScalerNotActive"))
        assert asleep[0] >= emptied + COOLDOWN - 10  # the last reading is a poll old
        assert {version["spec"]["replicas"] for version in counts} <= {0, 1}

    assert await every_kill(story) > 3


async def test_on_the_way_out_every_write_may_be_the_last_one(every_kill: EveryKill) -> None:
    async def story(world: World) -> AsyncIterator[None]:
        wanted = scaled_object(metrics_api(world.url), advanced={"restoreToOriginalReplicaCount": True})
        await world.create(deployment(replicas=3), wanted)
        await world.seconds(10)
        assert world.replicas() == 0
        yield
        await world.delete(SCALED_OBJECTS)
        await world.seconds(5)
        yield
        await world.seconds(5)
        assert (world.find(SCALED_OBJECTS), world.find(HORIZONTAL_POD_AUTOSCALERS, HPA)) == (None, None)
        assert world.replicas() == 3

    assert await every_kill(story) > 2


async def test_while_being_paused_every_write_may_be_the_last_one(every_kill: EveryKill) -> None:
    async def story(world: World) -> AsyncIterator[None]:
        world.jobs(1)
        await world.create(
            deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN, pollingInterval=10)
        )
        await world.seconds(10)
        yield
        await world.annotate({"autoscaling.keda.sh/paused-replicas": "4"})
        await world.seconds(5)
        yield
        await world.seconds(5)
        assert (world.replicas(), world.condition("Paused")) == (4, ("True", "ScaledObjectPaused"))
        assert (world.find(HORIZONTAL_POD_AUTOSCALERS, HPA), world.status()["pausedReplicaCount"]) == (None, 4)

    assert await every_kill(story) > 4


async def test_a_take_over_in_the_middle_of_a_cooldown_does_not_shorten_it(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN))
    await world.seconds(10)
    world.jobs(0)
    idle, away = size(40, 14), size(30, 10)
    await world.seconds(idle)
    await world.operator.kill()
    await world.seconds(away)
    await world.operator.start()
    await world.seconds(COOLDOWN - idle - away - 3)
    assert world.replicas() == 1
    await world.seconds(5)
    assert world.replicas() == 0


async def test_what_was_active_at_a_kill_cools_down_from_the_first_look_on(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN, pollingInterval=10))
    await world.seconds(LONG_ACTIVE)
    await world.operator.kill()
    world.jobs(0)
    await world.seconds(size(600, 120))
    await world.operator.start()
    await world.seconds(COOLDOWN - 2)
    assert world.replicas() == 1
    await world.seconds(5)
    assert world.replicas() == 0


async def test_at_sigterm_the_last_activity_is_written_and_nothing_else(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN, pollingInterval=10))
    await world.seconds(LONG_ACTIVE)
    before = world.status()
    await world.operator.stop()
    after = world.status()
    assert after.pop("lastActiveTime") == world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert before.pop("lastActiveTime") < world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert after == before
