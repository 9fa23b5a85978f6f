"""One question per source, and how a source that fails is asked."""

import asyncio
import sys

import pytest

from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ScalerError
from keda_py.readings.tracked_metrics import TrackedMetric
from keda_py.sdk.scaler import OpenKey, Reading, sharing_key

ONE = Reading(value=1.0, active=True)


async def build_many(world, count, **spec):
    for number in range(count):
        trigger = {"metadata": {"batch": "yes", "item": f"i{number}"}}
        await world.build(trigger, name=f"app{number}", **spec)
    return [ObjectKey("ScaledObject", "shop", f"app{number}") for number in range(count)]


async def poll_all(world, keys):
    rounds = await asyncio.gather(*(world.readings.poll(key) for key in keys))
    return [seen.readings[0].outcome for seen in rounds]


async def advance_to_phase(world, keys):
    now = world.clock.monotonic()
    (due,) = {world.readings.next_phase(key, now) for key in keys}
    await world.clock.advance(due - now)


async def test_five_hundred_triggers_of_one_source_are_one_question(world):
    keys = await build_many(world, 500)
    assert await poll_all(world, keys) == [ONE] * 500
    assert (world.taps["a"].batches, world.taps["a"].reads) == ([500], 0)
    assert sorted(world.told, key=str) == sorted(keys, key=str)


async def test_the_first_key_polled_on_the_grid_takes_all_that_are_due_along(world):
    keys = await build_many(world, 50, pollingInterval=15)
    await poll_all(world, keys)
    await advance_to_phase(world, keys)
    await poll_all(world, keys)
    await advance_to_phase(world, keys)
    world.told.clear()
    await world.readings.poll(keys[0])
    await world.clock.settle()
    assert world.taps["a"].batches[-1] == 50
    assert sorted(world.told, key=str) == sorted(keys, key=str)


async def test_an_object_that_is_new_is_read_without_a_look_through_all_of_its_source(world):
    keys = await build_many(world, 100, pollingInterval=30)
    looked_at = 0

    def note(frame, event, _argument):
        nonlocal looked_at
        looked_at += event == "call" and frame.f_code is TrackedMetric.is_due.__code__

    sys.setprofile(note)
    try:
        for key in keys:
            await world.readings.poll(key)
    finally:
        sys.setprofile(None)
    assert looked_at <= 100


async def test_members_with_intervals_of_their_own_are_taken_along_when_they_are_due(world):
    often = await build_many(world, 3, pollingInterval=10)
    await world.build({"metadata": {"batch": "yes", "item": "seldom"}}, name="seldom", pollingInterval=20)
    keys = [*often, ObjectKey("ScaledObject", "shop", "seldom")]
    await poll_all(world, keys)
    due = {key: world.readings.next_phase(key, world.clock.monotonic()) for key in keys}
    for _ in range(4):
        now = min(due.values())
        await world.clock.advance(now - world.clock.monotonic())
        for key in [key for key in keys if due[key] <= now]:
            await world.readings.poll(key)
            due[key] = world.readings.next_phase(key, now)
    assert world.taps["a"].batches == [4, 3, 4, 3, 4]


async def test_an_object_that_is_no_longer_polled_is_no_longer_taken_along(world):
    keys = await build_many(world, 3, pollingInterval=15)
    await poll_all(world, keys)
    for _ in range(3):
        await world.clock.advance(15)
        await poll_all(world, keys[:2])
    assert world.taps["a"].batches == [3, 3, 2, 2]


async def test_an_hpa_question_between_polls_asks_for_itself_alone(world):
    keys = await build_many(world, 5, pollingInterval=30)
    await advance_to_phase(world, keys)
    await poll_all(world, keys)
    await world.clock.advance(2.5)
    await world.readings.ask(keys[0], "s0-a-i0")
    assert (world.taps["a"].batches, world.taps["a"].reads) == ([5], 1)


async def test_an_error_of_one_trigger_is_its_own(world):
    keys = await build_many(world, 4)
    world.taps["a"].failing_names = {"i2"}
    outcomes = await poll_all(world, keys)
    assert [str(outcome) for outcome in outcomes if isinstance(outcome, ScalerError)] == ["i2 is broken"]
    assert outcomes.count(ONE) == 3


@pytest.mark.parametrize("error", [ScalerError("no"), RuntimeError("bug")], ids=["source error", "bug"])
async def test_when_the_common_question_fails_each_is_read_alone_once(world, error):
    keys = await build_many(world, 20)
    world.taps["a"].batch_error = error
    assert await poll_all(world, keys) == [ONE] * 20
    assert (world.taps["a"].batches, world.taps["a"].reads) == ([20], 20)


async def test_objects_of_two_kinds_are_one_question_to_their_source(world):
    (key,) = await build_many(world, 1)
    await world.build_job("work", tap="a", item="i1", batch="yes")
    assert await poll_all(world, [key, ObjectKey("ScaledJob", "shop", "work")]) == [ONE, ONE]
    assert (world.taps["a"].batches, world.taps["a"].reads) == ([2], 0)


async def test_a_dead_source_is_asked_by_one_at_a_time_and_everyone_gets_an_error(world):
    keys = await build_many(world, 20)
    world.taps["a"].hangs = True
    outcomes = await asyncio.wait_for(poll_all(world, keys), 2)
    assert all(isinstance(outcome, ScalerError) for outcome in outcomes)
    assert world.taps["a"].most_at_once == 1


async def test_one_hanging_trigger_costs_its_neighbours_one_round_at_most(world):
    keys = await build_many(world, 20)
    world.taps["a"].hanging_names = {"i7"}
    await poll_all(world, keys)
    await world.clock.advance(30)
    outcomes = await poll_all(world, keys)
    assert [number for number, outcome in enumerate(outcomes) if isinstance(outcome, ScalerError)] == [7]
    await world.clock.advance(30)
    world.taps["a"].hanging_names = set()
    assert await poll_all(world, keys) == [ONE] * 20


async def test_a_recovered_source_is_asked_in_common_again(world):
    keys = await build_many(world, 10)
    world.taps["a"].batch_error = ScalerError("down")
    world.taps["a"].value = ScalerError("down")
    await poll_all(world, keys)
    world.taps["a"].batch_error, world.taps["a"].value = None, 1.0
    await world.clock.advance(30)
    assert await poll_all(world, keys) == [ONE] * 10
    world.taps["a"].batches.clear()
    await world.clock.advance(30)
    assert await poll_all(world, keys) == [ONE] * 10
    assert world.taps["a"].batches == [10]


async def test_a_trigger_renewed_with_another_password_joins_the_source_of_that_password(world):
    keys = await build_many(world, 3)
    await poll_all(world, keys)
    world.resolver.auth = {"password": "new"}
    world.taps["a"].failing_names = {"i0"}
    await world.clock.advance(30)
    await poll_all(world, keys)
    world.taps["a"].failing_names = set()
    world.taps["a"].batches.clear()
    await world.clock.advance(30)
    assert await poll_all(world, keys) == [ONE] * 3
    assert world.taps["a"].batches == [2]  # and the renewed one by itself
    renewed, *others = (world.readings.built(key).batch_keys[0] for key in keys)
    assert renewed == sharing_key("shop", ("tap", "a"), "new")
    assert others == [OpenKey(what=("tap", "a"))] * 2
    await world.clock.settle()
    assert world.taps["a"].open_scalers == 3


async def test_a_scaler_may_leave_out_the_spec_and_answer_nonsense_in_common(world):
    for number in range(3):
        trigger = {"type": "plain", "metadata": {"batch": "yes", "item": f"i{number}"}}
        await world.build(trigger, name=f"app{number}")
    assert (
        await poll_all(world, [ObjectKey("ScaledObject", "shop", f"app{number}") for number in range(3)]) == [ONE] * 3
    )
    assert (world.taps["a"].batches, world.taps["a"].reads) == ([3], 3)
