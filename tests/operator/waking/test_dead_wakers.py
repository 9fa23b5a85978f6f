"""Wakers that die while no leader lives: the next leader takes their addresses out of the slices within five seconds.

No other process may: a waker has no right to write slices, and a replica that does not lead writes nothing. So the
bound is the time until a replica leads, plus these seconds.
"""

from collections.abc import AsyncIterator

import pytest

from keda_py.kube.resources import ENVIRONMENTS
from tests.builders import deployment, environment, override
from tests.operator.environments.builders import LUNCH, condition, until
from tests.operator.replicas import Replicas
from tests.operator.waking.stand_in import SERVICE, StandInWaker, our_slices, service, two_wakers, waker_slice
from tests.operator.waking.test_environments import writes
from tests.waiting import eventually
from tests.worlds.stored import Stored
from tests.worlds.world import World

BOUND_SECONDS = 5.0


@pytest.fixture
async def asleep(world: World) -> AsyncIterator[list[StandInWaker]]:
    """Two wakers to which the Service of what sleeps leads; the operator has been killed."""
    async with two_wakers(world) as wakers:
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:06")
        assert shown(world) == {one.address for one in wakers}
        await world.operator.kill()
        yield wakers


def shown(world: Stored) -> set[str]:
    """The addresses to which our slices lead."""
    return {one["addresses"][0] for live in our_slices(world) for one in live["endpoints"] or ()}


async def test_the_next_leader_takes_out_a_waker_whose_node_has_not_told_of_its_death(
    world: World, asleep: list[StandInWaker]
) -> None:
    asleep[0].close()
    await world.operator.start()
    await world.seconds(BOUND_SECONDS)
    assert shown(world) == {asleep[1].address}
    await world.seconds(100)  # it never comes back
    assert shown(world) == {asleep[1].address}


async def test_the_next_leader_takes_out_a_waker_that_is_not_ready_any_more(
    world: World, asleep: list[StandInWaker]
) -> None:
    await world.apply(waker_slice(asleep[1:]))
    await world.operator.start()
    await world.seconds(BOUND_SECONDS)
    assert shown(world) == {asleep[1].address}


async def test_the_next_leader_takes_out_all_wakers_if_all_of_them_died(
    world: World, asleep: list[StandInWaker]
) -> None:
    for one in asleep:
        one.close()
    await world.operator.start()
    await world.seconds(BOUND_SECONDS)
    assert shown(world) == set()


async def test_the_next_leader_takes_out_no_waker_for_one_probe_that_is_lost(
    world: World, asleep: list[StandInWaker]
) -> None:
    """It knows of no earlier answer: the Service would lead nowhere for a moment."""
    for one in asleep:
        one.lost = 1
    told = writes(world)
    await world.operator.start()
    await world.seconds(BOUND_SECONDS)
    assert (told, [one.lost for one in asleep]) == ([], [0, 0])


async def invalidate(world: World) -> None:
    """Make the manifest of what sleeps one that the next leader cannot read."""
    await world.patch(ENVIRONMENTS, {"spec": {"idleAfter": "1m"}}, "dev")


async def test_a_dead_waker_leaves_the_slice_of_an_environment_that_cannot_be_read(
    world: World, asleep: list[StandInWaker]
) -> None:
    await invalidate(world)
    asleep[0].close()
    await world.operator.start()
    await world.seconds(BOUND_SECONDS)
    assert condition(world, "Valid") == ("False", "SpecInvalid")
    assert shown(world) == {asleep[1].address}
    asleep[1].close()  # later ones are found as well
    await world.seconds(2 * BOUND_SECONDS)
    assert shown(world) == set()


async def test_the_slice_of_an_environment_that_cannot_be_read_stays_as_it_is_while_its_wakers_live(
    world: World, asleep: list[StandInWaker]
) -> None:
    await invalidate(world)
    before = our_slices(world)
    await world.operator.start()
    await world.seconds(90)
    assert condition(world, "Valid") == ("False", "SpecInvalid")
    assert our_slices(world) == before


async def test_leader_and_waker_killed_at_once_leave_a_slice_of_living_wakers_once_another_replica_leads(
    replicas: Replicas,
) -> None:
    leader = await replicas.start("one", waker_service=SERVICE)
    await replicas.held_by("one")
    await replicas.start("two", waker_service=SERVICE)
    async with two_wakers(replicas) as wakers:
        await replicas.create(deployment("web", 2), service(), environment(wakeOnRequest={}))
        await replicas.create(override(state="Asleep", target={"kind": "Environment", "name": "dev"}))
        await eventually(lambda: replicas.replicas("web") == 0 and len(shown(replicas)) == 2)
        await replicas.kill(leader)
        wakers[0].close()
        await replicas.held_by("two")
        await eventually(lambda: shown(replicas) == {wakers[1].address})
