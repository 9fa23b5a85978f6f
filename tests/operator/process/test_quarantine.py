"""Objects that a process died of are held back, tried again alone and late, and free again. Virtual time."""

import asyncio
from datetime import datetime

import pytest

from keda_py.core.quarantine import HOLD_SECONDS, Hold
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import KubeError
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS, Obj
from keda_py.operator.process.quarantine import work_on
from keda_py.readings.journal import Journal
from tests.builders import metrics_api
from tests.operator.process.lives import HELD, READY, Lives, Sources, create, question
from tests.operator.test_metrics_page import read as read_page
from tests.sweeps import size
from tests.worlds.world import World


def own(world: World, name: str = "app") -> Obj:
    return dict(world.status(name).get("kedaPy") or {})


async def test_what_a_process_died_of_is_held_back_and_everything_else_goes_on(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "poison", "ordinary")
    await lives.died("poison")
    await world.seconds(29)
    assert (world.replicas("ordinary"), world.condition("Ready", "ordinary")) == (1, READY)
    assert (world.replicas("poison"), world.condition("Ready", "poison")) == (0, HELD)
    assert set(sources.asked) == {"ordinary"}
    message = world.message("Ready", "poison")
    assert message.startswith("held back: work on it has ended the operator's process once. It is tried again, alone, ")
    assert [note for reason, note in world.notes("poison") if reason == HELD[1]] == [message]
    held = own(world, "poison")
    assert (held["reason"], held["heldBack"]["deaths"], held["heldBack"]["generation"]) == ("HeldBack", 1, 1)
    again = datetime.fromisoformat(held["nextChange"]).timestamp()
    assert again - lives.now == 1
    assert (await read_page(world))['keda_py_objects_held_back{type="scaledobject"}'] == 1
    await world.seconds(3)
    assert (world.replicas("poison"), world.condition("Ready", "poison")) == (1, READY)
    assert own(world, "poison")["reason"] == "Activated"
    assert "heldBack" not in own(world, "poison")
    assert (await read_page(world))['keda_py_objects_held_back{type="scaledobject"}'] == 0


async def test_a_status_that_says_it_is_written_once(lives: Lives, sources: Sources) -> None:
    await create(lives.world, sources, "poison")
    await lives.died("poison")
    versions = lives.world.writes_of(SCALED_OBJECTS, "poison")
    await lives.world.seconds(25)
    assert versions == []


async def test_a_change_of_its_spec_ends_it_at_once(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "poison")
    await lives.died("poison")
    await world.seconds(5)
    mended = metrics_api(sources.url("mended"))
    await world.patch(SCALED_OBJECTS, {"spec": {"triggers": [mended]}}, "poison")
    await world.seconds(1)
    assert (world.replicas("poison"), world.condition("Ready", "poison")) == (1, READY)
    assert set(sources.asked) == {"mended"}


async def test_an_annotation_does_not_end_it(lives: Lives, sources: Sources) -> None:
    await create(lives.world, sources, "poison")
    await lives.died("poison")
    await lives.world.annotate({"touched": "yes"}, "poison")
    await lives.world.seconds(5)
    assert (lives.world.condition("Ready", "poison"), sources.asked) == (HELD, [])


async def test_what_is_held_back_can_be_deleted(lives: Lives, sources: Sources) -> None:
    await create(lives.world, sources, "poison", advanced={"restoreToOriginalReplicaCount": True})
    await lives.begin()
    await lives.world.seconds(5)
    await lives.world.operator.kill()
    await lives.died("poison")
    await lives.world.delete(SCALED_OBJECTS, "poison")
    await lives.world.seconds(5)
    assert lives.world.find(SCALED_OBJECTS, "poison") is None


async def test_what_is_held_back_and_waits_for_a_foreign_finalizer_costs_nothing(
    lives: Lives, sources: Sources
) -> None:
    world = lives.world
    await create(world, sources, "poison")
    await lives.died("poison")
    await world.patch(SCALED_OBJECTS, {"metadata": {"finalizers": ["example.com/slow"]}}, "poison")
    await world.delete(SCALED_OBJECTS, "poison")
    async with asyncio.timeout(20):  # work that is due at once, again and again, would never let the clock step
        await world.seconds(2 * HOLD_SECONDS[0])
    assert world.get(SCALED_OBJECTS, "poison")["metadata"]["finalizers"] == ["example.com/slow"]


async def test_dying_again_at_it_holds_it_for_longer_each_time(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "poison", "ordinary", pollingInterval=300)
    await lives.died("poison")
    lengths = []
    for _ in range(5):
        began, left = lives.now, asyncio.get_running_loop().create_future()

        async def die(left: asyncio.Future[bytearray] = left) -> None:
            left.set_result(lives.left())
            world.operator.cut()

        sources.on_question["poison"] = die
        while not left.done():
            await world.seconds(10)
        lengths.append(lives.now - began)
        await world.operator.kill()
        await lives.begin(left.result())
        await world.seconds(1)
        assert world.condition("Ready", "poison") == HELD
        assert (world.replicas("poison"), world.replicas("ordinary")) == (0, 1)
    assert own(world, "poison")["heldBack"]["deaths"] == 6
    # To the ten seconds of our look, and one for each second look of another.
    assert [round(length / 100) * 100 for length in lengths] == [0, 300, 600, 1200, 2400]
    assert "6 times" in world.message("Ready", "poison")


async def test_another_replica_keeps_to_what_the_status_says(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "poison", "ordinary")
    await lives.died("poison")
    await world.seconds(2)
    await world.operator.kill()
    sources.asked.clear()
    await lives.begin()
    await world.seconds(20)
    assert (world.condition("Ready", "poison"), set(sources.asked)) == (HELD, {"ordinary"})
    with pytest.raises(KubeError, match="held back"):
        await question(world, "poison")
    await world.seconds(15)
    assert world.condition("Ready", "poison") == READY


async def test_what_was_active_keeps_its_replicas_and_then_its_whole_cooldown(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "app")
    await lives.begin()
    await world.seconds(size(600, 120))
    assert world.replicas("app") == 1
    await world.operator.kill()
    sources.url("app", 0)
    await lives.died("app")
    await world.seconds(28)
    assert (world.condition("Ready", "app"), world.replicas("app")) == (HELD, 1)
    await world.seconds(55)
    assert (world.condition("Ready", "app"), world.replicas("app")) == (READY, 1)
    await world.seconds(15)
    assert world.replicas("app") == 0


async def test_an_object_that_is_gone_by_now_is_forgotten(lives: Lives, sources: Sources) -> None:
    world = lives.world
    await create(world, sources, "poison")
    live = world.get(SCALED_OBJECTS, "poison")
    await world.delete(SCALED_OBJECTS, "poison")
    journal = Journal(memoryview(lives.memory), lives.now)
    journal.keep(Hold(work=work_on(ObjectKey.of("ScaledObject", live), live), deaths=1, died=lives.now, seconds=3600))
    await lives.begin(lives.left())
    assert (await read_page(world))['keda_py_objects_held_back{type="scaledobject"}'] == 0


async def test_a_scaled_job_is_held_back_as_well(lives: Lives, sources: Sources) -> None:
    world = lives.world
    template = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}
    spec = {
        "jobTargetRef": {"template": template},
        "pollingInterval": 10,
        "triggers": [metrics_api(sources.url("jobs"))],
    }
    meta = {"name": "work", "namespace": "default"}
    await world.client.create(SCALED_JOBS, {"metadata": meta, "spec": spec})
    await lives.died("work", resource=SCALED_JOBS)
    await world.seconds(28)

    def ready() -> tuple[str, str]:
        listed = world.get(SCALED_JOBS, "work")["status"]["conditions"]
        return next((one["status"], one["reason"]) for one in listed if one["type"] == "Ready")

    assert (ready(), sources.asked) == (("False", "ScaledJobHeldBack"), [])
    assert world.get(SCALED_JOBS, "work")["status"]["kedaPy"]["heldBack"]["deaths"] == 1
    await world.seconds(5)
    assert ready() == ("True", "ScaledJobReady")
    assert "kedaPy" not in world.get(SCALED_JOBS, "work")["status"]
    assert sources.asked


async def test_what_was_held_back_is_not_read_together_with_others_for_an_hour(lives: Lives, sources: Sources) -> None:
    """So that the next death shows which of them it was; metrics-api has no common question, so the key is looked at."""
    world = lives.world
    await create(world, sources, "app", pollingInterval=300)
    await lives.died("app")
    await world.seconds(35)
    assert world.operator.assembly is not None
    built = world.operator.assembly.parts.shared.readings.built(ObjectKey("ScaledObject", "default", "app"))
    assert built is not None
    assert built.is_read_alone
    await world.seconds(3700)
    assert not built.is_read_alone
