"""Many objects that wait, since a process may have died of any of them, are tried one at a time. Virtual time."""

import asyncio

from keda_py.core.quarantine import NAMESPACE_DEATHS, Hold
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.operator.process.quarantine import work_on
from keda_py.readings.journal import Journal
from tests.operator.process.lives import HELD, READY, Lives, Sources, create


async def test_where_nobody_was_on_the_cpu_all_that_was_under_way_waits(lives: Lives, sources: Sources) -> None:
    await create(lives.world, sources, "one", "two", "ordinary")
    await lives.died(innocents=("one", "two"))
    await lives.world.seconds(29)
    assert set(sources.asked) == {"ordinary"}
    assert "perhaps for another reason" in lives.world.message("Ready", "one")
    await lives.world.seconds(3)
    assert (lives.world.replicas("one"), lives.world.replicas("two")) == (1, 1)


async def test_innocents_are_back_soon_and_are_tried_one_at_a_time(lives: Lives, sources: Sources) -> None:
    world, names = lives.world, [f"app{number}" for number in range(40)]
    await create(world, sources, "poison", *names, pollingInterval=3600)
    await lives.died("poison", names)
    await world.seconds(4)
    assert sources.asked == []
    await world.seconds(3)
    assert sorted(sources.asked) == sorted(names)
    assert sources.most == 1
    assert {world.condition("Ready", name) for name in names} == {READY}
    assert world.condition("Ready", "poison") == HELD


async def test_a_source_that_hangs_holds_the_others_up_for_a_second(lives: Lives, sources: Sources) -> None:
    """In real time; virtual time stands still while anything is asked."""
    world, others = lives.world, asyncio.Event()
    await create(world, sources, "slow", "app", pollingInterval=3600)

    async def wait() -> None:
        await others.wait()

    async def note() -> None:
        others.set()

    sources.on_question |= {"slow": wait, "app": note}
    world.operator.source_seconds = 60
    async with asyncio.timeout(30):
        await lives.died(innocents=("slow", "app"))
        await world.seconds(32)
    assert (world.replicas("slow"), world.replicas("app")) == (1, 1)


async def test_a_namespace_of_many_deaths_waits_as_a_whole_also_what_is_new_in_it(
    lives: Lives, sources: Sources
) -> None:
    world = lives.world
    await create(world, sources, "poison", "neighbour")
    journal = Journal(memoryview(lives.memory), lives.now)
    live = world.get(SCALED_OBJECTS, "poison")
    poison = work_on(ObjectKey.of("ScaledObject", live), live)
    journal.keep(Hold(work=poison, deaths=NAMESPACE_DEATHS, died=lives.now, seconds=2400))
    await lives.begin(lives.left())
    await create(world, sources, "new")
    await world.patch(SCALED_OBJECTS, {"spec": {"maxReplicaCount": 9}}, "poison")
    await world.seconds(290)
    assert sources.asked == []
    for name in ("poison", "neighbour", "new"):
        assert world.condition("Ready", name) == HELD
        assert "objects of this namespace has ended the operator's process 5 times" in world.message("Ready", name)
    await world.seconds(15)
    assert {world.replicas(name) for name in ("poison", "neighbour", "new")} == {1}
    assert sources.most == 1
