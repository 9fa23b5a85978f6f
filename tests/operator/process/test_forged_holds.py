"""What a status says of being held back holds up its own object alone, and once: its user may have written it."""

import asyncio
from datetime import timedelta

from keda_py.core.quarantine import NAMESPACE_DEATHS
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.process.quarantine import Lane, Quarantine, work_on
from keda_py.readings.journal import Journal
from keda_py.readings.journal_bytes import SIZE, SLOTS
from tests.builders import a_namespace, deployment, metrics_api, scaled_object
from tests.operator.process.lives import HELD, READY, Lives, Sources, create
from tests.waiting import turns


async def forge(lives: Lives, *names: str, deaths: int = 1000, namespace: str = "") -> None:
    """Have statuses say that their objects are held back for a minute."""
    until = write_time(lives.world.clock.now() + timedelta(seconds=60))
    held = {"deaths": deaths, "generation": 1, "until": until}
    for name in names:
        path = SCALED_OBJECTS.named(namespace or "default", name, "status")
        await lives.world.client.patch(path, {"status": {"kedaPy": {"heldBack": held}}})


async def test_forged_deaths_hold_their_own_object_once_and_no_other_of_the_namespace(
    lives: Lives, sources: Sources
) -> None:
    world = lives.world
    await create(world, sources, "forged", "neighbour")
    await lives.begin()
    await world.seconds(5)
    await world.operator.kill()
    await forge(lives, "forged", deaths=10 * NAMESPACE_DEATHS)
    sources.asked.clear()
    await lives.begin()
    await create(world, sources, "new")
    await world.seconds(30)
    assert world.condition("Ready", "forged") == HELD
    assert (world.condition("Ready", "neighbour"), world.condition("Ready", "new")) == (READY, READY)
    assert set(sources.asked) == {"neighbour", "new"}
    await world.seconds(35)
    assert world.condition("Ready", "forged") == READY
    await forge(lives, "forged")
    await world.seconds(30)
    assert world.condition("Ready", "forged") == READY


async def test_of_what_a_status_alone_says_no_event_tells_and_the_condition_names_it_as_the_source(
    lives: Lives, sources: Sources
) -> None:
    world = lives.world
    await create(world, sources, "forged")
    await forge(lives, "forged")
    await lives.begin()
    await world.seconds(5)
    assert world.condition("Ready", "forged") == HELD
    assert world.message("Ready", "forged").startswith("held back: its status says that another replica found work")
    assert HELD[1] not in world.reasons("forged")


async def test_forged_statuses_leave_the_journal_to_what_is_under_way(lives: Lives) -> None:
    memory = bytearray(SIZE)
    journal = Journal(memoryview(memory))
    quarantine, key = Quarantine(lives.world.clock, journal), ObjectKey("ScaledObject", "evil", "killer")
    for number in range(SLOTS):
        live = _forged(number)
        assert quarantine.review(work_on(ObjectKey.of("ScaledObject", live), live), live) is not None
    killer, copies = work_on(key, _forged(SLOTS)), list[bytearray]()

    async def step() -> None:
        copies.append(bytearray(memory))

    await journal.run((killer,), step())
    (blamed,) = Journal(memoryview(copies[0]), lives.now).inherited
    assert (blamed.work, blamed.deaths) == (killer, 1)


async def test_the_many_objects_of_one_namespace_that_wait_for_a_trial_hold_another_up_for_one(
    lives: Lives, sources: Sources
) -> None:
    world, names = lives.world, [f"evil{number}" for number in range(20)]
    await world.create(a_namespace("good"))
    await create(world, sources, *names, pollingInterval=3600)
    body = scaled_object(metrics_api(sources.url("victim")), name="victim", pollingInterval=3600)
    await world.create(deployment("victim"), body, namespace="good")
    await forge(lives, *names)
    await forge(lives, "victim", namespace="good")
    await lives.begin()
    await world.seconds(90)
    order = list(dict.fromkeys(sources.asked))
    assert sorted(order) == sorted([*names, "victim"])
    assert order.index("victim") <= 2


async def test_namespaces_have_the_lane_in_turn() -> None:
    lane, order = Lane(), list[str]()

    async def use(namespace: str) -> None:
        await lane.acquire(namespace)
        order.append(namespace)
        await asyncio.sleep(0)
        lane.release()

    async with asyncio.TaskGroup() as tasks:
        for namespace in ("evil", "evil", "evil", "evil", "good", "good"):
            tasks.create_task(use(namespace))
    assert order == ["evil", "evil", "good", "evil", "good", "evil"]
    assert not lane.locked()


async def test_one_that_waits_no_longer_gives_its_turn_on() -> None:
    lane = Lane()
    await lane.acquire("a")
    async with asyncio.TaskGroup() as tasks:
        gone, gone_late, last = (tasks.create_task(lane.acquire(name)) for name in ("b", "c", "d"))
        await turns()
        gone.cancel()
        await turns()
        lane.release()
        gone_late.cancel()  # its turn has come, and it has not heard of it yet
        await last
    assert lane.locked()
    lane.release()
    assert not lane.locked()


async def test_a_turn_that_comes_in_the_moment_of_a_cancellation_goes_to_the_next() -> None:
    lane = Lane()
    await lane.acquire("a")
    async with asyncio.TaskGroup() as tasks:
        gone, last = (tasks.create_task(lane.acquire(name)) for name in ("b", "c"))
        await turns()
        gone.cancel()
        lane.release()  # the one that is cancelled has not heard of it yet
        await last
    assert lane.locked()
    lane.release()
    assert not lane.locked()


def _forged(number: int) -> Obj:
    held = {"deaths": 1, "generation": 1, "until": "2099-01-01T00:00:00Z"}
    metadata = {"namespace": "evil", "name": f"x{number}", "uid": f"u{number}", "generation": 1}
    return {"metadata": metadata, "status": {"kedaPy": {"heldBack": held}}}
