"""Idle objects whose source cannot push are read often and together, and only while they are idle."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.spec import build_spec
from keda_py.core.values.object_key import ObjectKey
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSource
from keda_py.readings.zero_polls import LONGEST_PAUSE, MOST_A_SECOND
from keda_py.sdk.context import SharedContext
from keda_py.sdk.scaler import ScalerError
from tests.readings.conftest import Passwords, Tap, TapMetadata, TapScaler
from tests.waiting import turns

INTERVAL = 0.4
OBJECTS = 50


class OftenAsked(TapScaler):
    """Scaler without a push stream."""

    asked_often_at_zero = property(lambda self: True)


class Desk(SimpleNamespace):
    """Engine on virtual time, and a tap that many objects use."""

    async def add(self, name: str, namespace: str = "shop", **metadata: str) -> ObjectKey:
        meta = {"name": name, "namespace": namespace, "uid": name, "generation": 1}
        keys = {"tap": "a", "item": name, "batch": "1", **metadata}
        body = {"scaleTargetRef": {"name": "app"}, "triggers": [{"type": "often", "metadata": keys}]}
        spec = build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))
        await self.readings.build(spec)
        return spec.key

    async def idle(self, name: str, **metadata: str) -> ObjectKey:
        key = await self.add(name, **metadata)
        self.readings.note_idle(key, idle=True)
        return key


@pytest.fixture
def interval() -> float:
    return INTERVAL


@pytest.fixture
async def desk(lent: SharedContext, interval: float) -> AsyncIterator[Desk]:
    taps, told, resolver = {"a": Tap(value=0.0), "b": Tap(value=0.0)}, list[ObjectKey](), Passwords()

    def build(trigger, context):
        return OftenAsked(TapMetadata.parse(trigger.metadata, trigger.env, trigger.auth), context, taps)

    async with asyncio.TaskGroup() as tasks:
        source = ScalerSource(shared_context=lent, build=build, resolver=resolver, zero_polling_interval=interval)
        readings = Readings(scalers=source, tasks=tasks, on_reading=told.append)
        with readings.listening():
            yield Desk(readings=readings, taps=taps, tap=taps["a"], told=told, clock=lent.clock, resolver=resolver)
        await readings.aclose()


async def test_all_idle_objects_of_a_source_are_one_question_each_interval(desk: Desk) -> None:
    for number in range(OBJECTS):
        await desk.idle(f"app-{number}")
    await desk.add("busy")
    await desk.clock.advance(10 * INTERVAL)
    assert desk.tap.batches == [OBJECTS] * 10
    assert (desk.tap.reads, desk.told) == (0, [])


async def test_many_sources_are_asked_no_more_than_a_hundred_times_a_second_together(desk: Desk) -> None:
    sources = 2 * MOST_A_SECOND
    for number in range(sources):
        desk.taps[f"tap-{number}"] = Tap(value=0.0)
        await desk.idle(f"app-{number}", tap=f"tap-{number}")
    await desk.clock.advance(20)
    assert {len(tap.batches) for tap in desk.taps.values()} == {0, 10}


async def test_a_namespace_of_many_sources_takes_no_other_ones_turn(desk: Desk) -> None:
    for number in range(10 * MOST_A_SECOND):
        desk.taps[f"tap-{number}"] = Tap(value=0.0)
        await desk.idle(f"app-{number}", tap=f"tap-{number}")
    await desk.idle("alone", namespace="other", tap="b")
    await desk.clock.advance(10)
    assert 24 <= len(desk.taps["b"].batches) <= 25
    assert sum(len(tap.batches) for name, tap in desk.taps.items() if name != "b") <= 10 * MOST_A_SECOND


async def test_work_is_found_within_the_interval_and_read_and_told(desk: Desk) -> None:
    key = await desk.idle("app")
    await desk.clock.advance(10 * INTERVAL)
    desk.tap.value = 3.0
    await desk.clock.advance(INTERVAL)
    assert (desk.tap.reads, desk.told) == (1, [key])
    assert [one.outcome.value for one in (await desk.readings.poll(key)).readings] == [3.0]


async def test_an_object_with_work_is_asked_about_no_longer(desk: Desk) -> None:
    keys = [await desk.idle("one"), await desk.idle("other")]
    await desk.clock.advance(INTERVAL)
    desk.readings.note_idle(keys[0], idle=False)
    await desk.clock.advance(INTERVAL)
    desk.readings.note_idle(keys[1], idle=False)
    await desk.clock.advance(60)
    assert desk.tap.batches == [2, 1]
    desk.readings.note_idle(keys[0], idle=True)
    await desk.clock.advance(INTERVAL)
    assert desk.tap.batches == [2, 1, 1]


async def test_what_seems_active_without_a_look_that_agrees_is_read_once_a_second(desk: Desk) -> None:
    await desk.idle("app")
    desk.tap.value = 3.0
    await desk.clock.advance(10)
    assert 6 <= desk.tap.reads <= 10


async def test_a_failure_is_no_reading_and_is_asked_about_less_and_less(desk: Desk) -> None:
    await desk.idle("one")
    await desk.idle("other")
    desk.tap.batch_error = ScalerError("away")
    await desk.clock.advance(600)
    assert 10 <= len(desk.tap.batches) <= 18
    assert (desk.tap.reads, desk.told) == (0, [])
    desk.tap.batch_error = None
    before = len(desk.tap.batches)
    await desk.clock.advance(LONGEST_PAUSE + 10 * INTERVAL)
    assert len(desk.tap.batches) >= before + 10


async def test_one_trigger_that_fails_is_left_to_the_polls_and_delays_no_other(desk: Desk) -> None:
    await desk.idle("one")
    await desk.idle("missing")
    desk.tap.failing_names = {"missing"}
    await desk.clock.advance(10 * INTERVAL)
    assert desk.tap.batches == [2] + [1] * 9
    await desk.clock.advance(LONGEST_PAUSE)
    assert desk.tap.batches.count(2) == 2


async def test_what_has_no_batch_is_left_to_the_polls(desk: Desk) -> None:
    await desk.idle("app", batch="")
    await desk.clock.advance(60)
    assert (desk.tap.batches, desk.tap.reads) == ([], 0)


async def test_an_object_that_is_forgotten_is_not_asked_about(desk: Desk) -> None:
    key = await desk.idle("app")
    await desk.clock.advance(INTERVAL)
    await desk.readings.forget(key)
    await desk.clock.advance(60)
    assert desk.tap.batches == [1]


async def test_a_scaler_with_other_credentials_is_asked_with_these(desk: Desk) -> None:
    key, _ = await desk.idle("one"), await desk.idle("other")
    desk.resolver.auth = {"password": "new"}
    assert await desk.readings.renew(key, [0])
    desk.readings.note_idle(key, idle=True)
    await desk.clock.advance(INTERVAL)
    assert desk.tap.batches == [1, 1]


async def test_a_scaler_that_was_renewed_is_asked_often_without_another_look(desk: Desk) -> None:
    key, _ = await desk.idle("one"), await desk.idle("other")
    desk.resolver.auth = {"password": "new"}
    assert await desk.readings.renew(key, [0])
    await desk.clock.advance(INTERVAL)
    assert desk.tap.batches == [1, 1]


async def test_a_replica_that_polls_no_longer_asks_no_longer(lent: SharedContext) -> None:
    taps = {"a": Tap(value=0.0)}

    def build(trigger, context):
        return OftenAsked(TapMetadata.parse(trigger.metadata, trigger.env, trigger.auth), context, taps)

    async with asyncio.TaskGroup() as tasks:
        source = ScalerSource(shared_context=lent, build=build, resolver=Passwords(), zero_polling_interval=INTERVAL)
        readings = Readings(scalers=source, tasks=tasks, on_reading=lambda key: None)
        desk = Desk(readings=readings)
        with readings.listening():
            key = await desk.idle("app")
            await lent.clock.advance(INTERVAL)
        await lent.clock.advance(60)
        readings.note_idle(key, idle=True)
        await lent.clock.advance(60)
        assert taps["a"].batches == [1]
        with readings.listening():
            readings.note_idle(key, idle=True)
            await lent.clock.advance(INTERVAL)
        await turns()
        assert taps["a"].batches == [1, 1]
        await readings.aclose()


async def test_a_question_under_way_is_not_cut_off_when_its_object_wakes(desk: Desk) -> None:
    """Cancelling it would close its connection."""
    key = await desk.idle("app")
    desk.tap.hangs = True
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(desk.clock.advance(INTERVAL))
        while not desk.tap.batches:
            await asyncio.sleep(0)
        desk.readings.note_idle(key, idle=False)
        desk.tap.flowing.set()
    desk.tap.value = 3.0
    await desk.clock.advance(60)
    assert (desk.tap.batches, desk.tap.reads) == ([1], 0)


@pytest.mark.parametrize("interval", [0.0])
async def test_zero_switches_it_off(desk: Desk) -> None:
    await desk.idle("app")
    await desk.clock.advance(60)
    assert desk.tap.batches == []
