"""Killed at any stored write of falling asleep, of a wake, or of a release, the next process forgets no count."""

from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, STATEFUL_SETS
from keda_py.operator.controller.state import version_of
from tests.builders import cron_job, environment
from tests.operator.environments.builders import LUNCH, is_suspended, labelled, starting, status, until
from tests.operator.environments.killing import Kills
from tests.worlds.world import World

WAVES = [{"name": "data", "selector": {"matchLabels": {"wave": "data"}}}]
COUNTS = {"web": 3, "api": 1}


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


async def test_while_it_falls_asleep(kills: Kills) -> None:
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


async def test_while_it_wakes(kills: Kills) -> None:
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


async def test_while_it_gives_its_counts_back_at_the_end(kills: Kills) -> None:
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
