"""Killed at any stored write of falling asleep, of a wake, or of a release, the next process forgets no count."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, STATEFUL_SETS
from keda_py.localkube.store.subscriptions import Event
from keda_py.operator.controller.state import version_of
from tests.builders import cron_job, environment
from tests.http_server import HttpServer
from tests.operator.environments.builders import LUNCH, is_suspended, labelled, starting, status, until
from tests.sweeps import steps
from tests.worlds.world import World, open_world

WAVES = [{"name": "data", "selector": {"matchLabels": {"wave": "data"}}}]
COUNTS = {"web": 3, "api": 1}
Act = Callable[[World], Awaitable[None]]


class Cutter:
    """Pulls the cable at the k-th write of a status, count or suspension from now on; `writes` counts up to there."""

    def __init__(self, world: World, number: int) -> None:
        self._world, self._number = world, number
        self.writes = 0
        self.done, self.armed = asyncio.Event(), True
        world.listen(self._hear)

    def _hear(self, event: Event) -> None:
        before, after = event.previous or {}, event.object
        plural = event.resource.plural
        is_ours = plural == "environments" or (
            plural in ("deployments", "statefulsets", "cronjobs") and before.get("spec") != after.get("spec")
        )
        if not is_ours or not self.armed or self.done.is_set():
            return
        self.writes += 1
        if self.writes >= self._number:
            self._world.operator.cut()
            self.done.set()


@pytest.fixture
async def kills(tmp_path: Path, server: HttpServer) -> AsyncIterator[Callable[[Act, Act, Act], Awaitable[int]]]:
    """Before, the part to die in, and what must be true all the same: once for each write
    (each fifth, where not all is swept); how many there were."""
    async with asyncio.TaskGroup() as tasks:

        async def live_through(before: Act, during: Act, after: Act) -> int:
            for number in steps(5):
                folder = tmp_path / str(number)
                folder.mkdir()
                async with open_world(folder, server, tasks, tls=True) as world:
                    await world.operator.start()
                    await before(world)
                    cutter = Cutter(world, number)
                    async with asyncio.TaskGroup() as dying:
                        death = dying.create_task(_die(world, cutter))
                        await during(world)
                        death.cancel()
                        cutter.armed = False
                    if cutter.done.is_set():
                        await world.operator.start()
                    try:
                        await after(world)
                    except AssertionError as error:
                        error.add_note(f"killed at write {number}")
                        raise
                    if not cutter.done.is_set():
                        return cutter.writes
            raise AssertionError("unreachable")

        yield live_through


async def _die(world: World, cutter: Cutter) -> None:
    await cutter.done.wait()
    await world.operator.kill()


async def populate(world: World) -> None:
    db = labelled(starting("db", 2, 1, kind="StatefulSet"), wave="data")
    await world.create(*(starting(name, count, 1) for name, count in COUNTS.items()), db, cron_job())
    await world.create(environment(calendar=LUNCH, waves=WAVES))
    await until(world, 20, "12:03")


async def is_up(world: World) -> None:
    await world.seconds(120)
    assert {name: world.replicas(name) for name in COUNTS} == COUNTS
    assert world.replicas("db", STATEFUL_SETS) == 2
    assert not is_suspended(world)


async def test_while_it_falls_asleep(kills: Callable[[Act, Act, Act], Awaitable[int]]) -> None:
    async def falling(world: World) -> None:
        await until(world, 20, "12:06")

    async def asleep_and_up_afterwards(world: World) -> None:
        await world.seconds(120)
        assert {world.replicas(name) for name in COUNTS} == {0}
        assert world.replicas("db", STATEFUL_SETS) == 0
        assert is_suspended(world)
        assert status(world)["phase"] == "Asleep"
        await until(world, 20, "12:11")
        await is_up(world)

    assert await kills(populate, falling, asleep_and_up_afterwards) > 6


async def test_while_it_wakes(kills: Callable[[Act, Act, Act], Awaitable[int]]) -> None:
    async def asleep(world: World) -> None:
        await populate(world)
        await until(world, 20, "12:09")

    async def waking(world: World) -> None:
        await until(world, 20, "12:12")

    async def awake(world: World) -> None:
        await is_up(world)
        assert status(world)["phase"] == "Awake"
        assert "members" not in status(world)

    assert await kills(asleep, waking, awake) > 6


async def test_while_it_gives_its_counts_back_at_the_end(kills: Callable[[Act, Act, Act], Awaitable[int]]) -> None:
    async def asleep(world: World) -> None:
        await populate(world)
        await until(world, 20, "12:06")

    async def end(world: World) -> None:
        await world.delete(ENVIRONMENTS, "dev")
        await world.seconds(60)

    async def gone(world: World) -> None:
        await is_up(world)
        assert world.find(ENVIRONMENTS, "dev") is None

    assert await kills(asleep, end, gone) > 4


async def test_a_replica_that_takes_over_behind_its_watch_overwrites_no_count(world: World) -> None:
    await world.create(starting("web", 3, 1), environment(calendar=LUNCH))
    await until(world, 20, "12:02")
    before = world.get(ENVIRONMENTS, "dev")
    await until(world, 20, "12:06")
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 1}}, "web")
    await until(world, 20, "12:07")
    assert world.operator.assembly is not None
    ((_, state),) = world.operator.assembly.environments.environments.states.items()
    state.version, state.stored = version_of(before), before["status"]
    state.due.look_now()
    world.operator.assembly.environments.environments.queue.add(state.key)
    await world.seconds(5)
    kept = status(world)["members"]["Deployment/web"]
    assert (kept["stage"], kept["replicas"], world.replicas("web")) == ("Kept", 3, 1)
    await world.patch(ENVIRONMENTS, {"metadata": {"annotations": {"any": "change"}}}, "dev")  # now it hears of it
    await until(world, 20, "12:12")
    assert world.replicas("web") == 3
