"""One request per source, and the requests to a source that fails."""

import asyncio
import random
import sys

import pytest

from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ScalerError
from keda_py.readings.tracked_metrics import TrackedMetric
from keda_py.sdk.advanced import OpenKey, sharing_key
from keda_py.sdk.scaler import Reading

ONE = Reading(value=1.0, active=True)
SYNC = 15.0
"""Seconds between two questions of an HPA."""


async def build_many(engine, count, **spec):
    for number in range(count):
        trigger = {"metadata": {"batch": "yes", "item": f"i{number}"}}
        await engine.build(trigger, name=f"app{number}", **spec)
    return [ObjectKey("ScaledObject", "shop", f"app{number}") for number in range(count)]


async def poll_all(engine, keys):
    rounds = await asyncio.gather(*(engine.readings.poll(key) for key in keys))
    return [seen.readings[0].outcome for seen in rounds]


async def advance_to_phase(engine, keys):
    now = engine.clock.monotonic()
    (due,) = {engine.readings.next_phase(key, now) for key in keys}
    await engine.clock.advance(due - now)


async def test_five_hundred_triggers_of_one_source_are_one_question(engine):
    keys = await build_many(engine, 500)
    assert await poll_all(engine, keys) == [ONE] * 500
    assert (engine.taps["a"].batches, engine.taps["a"].reads) == ([500], 0)
    assert sorted(engine.told, key=str) == sorted(keys, key=str)


async def test_the_first_key_polled_on_the_grid_takes_all_that_are_due_along(engine):
    keys = await build_many(engine, 50, pollingInterval=15)
    await poll_all(engine, keys)
    await advance_to_phase(engine, keys)
    await poll_all(engine, keys)
    await advance_to_phase(engine, keys)
    engine.told.clear()
    await engine.readings.poll(keys[0])
    await engine.clock.settle()
    assert engine.taps["a"].batches[-1] == 50
    assert sorted(engine.told, key=str) == sorted(keys, key=str)


async def test_an_object_that_is_new_is_read_without_a_look_through_all_of_its_source(engine):
    keys = await build_many(engine, 100, pollingInterval=30)
    looked_at = 0

    def note(frame, event, _argument):
        nonlocal looked_at
        looked_at += event == "call" and frame.f_code is TrackedMetric.is_due.__code__

    sys.setprofile(note)
    try:
        for key in keys:
            await engine.readings.poll(key)
    finally:
        sys.setprofile(None)
    assert looked_at <= 100


async def test_members_with_intervals_of_their_own_are_taken_along_when_they_are_due(engine):
    often = await build_many(engine, 3, pollingInterval=10)
    await engine.build({"metadata": {"batch": "yes", "item": "seldom"}}, name="seldom", pollingInterval=20)
    keys = [*often, ObjectKey("ScaledObject", "shop", "seldom")]
    await poll_all(engine, keys)
    due = {key: engine.readings.next_phase(key, engine.clock.monotonic()) for key in keys}
    for _ in range(4):
        now = min(due.values())
        await engine.clock.advance(now - engine.clock.monotonic())
        for key in [key for key in keys if due[key] <= now]:
            await engine.readings.poll(key)
            due[key] = engine.readings.next_phase(key, now)
    assert engine.taps["a"].batches == [4, 3, 4, 3, 4]


async def test_an_object_that_is_no_longer_polled_is_no_longer_taken_along(engine):
    keys = await build_many(engine, 3, pollingInterval=15)
    await poll_all(engine, keys)
    for _ in range(3):
        await engine.clock.advance(15)
        await poll_all(engine, keys[:2])
    assert engine.taps["a"].batches == [3, 3, 2, 2]


async def test_an_hpa_question_between_polls_asks_for_itself_alone(engine):
    keys = await build_many(engine, 5, pollingInterval=30)
    await advance_to_phase(engine, keys)
    await poll_all(engine, keys)
    await engine.clock.advance(2.5)
    await engine.readings.ask(keys[0], "s0-a-i0")
    assert (engine.taps["a"].batches, engine.taps["a"].reads) == ([5], 1)


async def ask_each(engine, keys, pause=0.06):
    """A round of questions as the HPA controller asks them, one after the other; then it waits for its next sync."""
    began = engine.clock.monotonic()
    for key in keys:
        await engine.readings.ask(key, f"s0-a-i{key.name.removeprefix('app')}")
        await engine.clock.advance(pause)
    await engine.clock.advance(began + SYNC - engine.clock.monotonic())


async def test_questions_of_hpas_that_are_due_within_a_second_are_one_question_to_their_source(engine):
    keys = await build_many(engine, 30, pollingInterval=30)
    for _ in range(3):
        await ask_each(engine, keys)
    assert (engine.taps["a"].batches, engine.taps["a"].reads) == ([], 90)
    await ask_each(engine, keys)
    assert (engine.taps["a"].batches, engine.taps["a"].reads) == ([17, 13], 90)


async def test_objects_asked_about_all_the_time_are_one_question_a_second_to_their_source(engine):
    keys = await build_many(engine, 20, pollingInterval=30)
    for _ in range(20):
        for key in keys:
            await engine.readings.ask(key, f"s0-a-i{key.name.removeprefix('app')}")
            await engine.clock.advance(0.02)
    assert engine.taps["a"].reads == 20
    assert len(engine.taps["a"].batches) <= 8


async def test_an_hpa_that_asks_at_no_regular_time_is_not_taken_along(engine):
    keys = await build_many(engine, 10, pollingInterval=30)
    for pause in (0.1, 1.2, 0.1, 1.2, 0.1):
        await ask_each(engine, keys, pause)
    assert engine.taps["a"].batches == []


async def test_an_object_whose_hpa_has_stopped_to_ask_is_not_taken_along(engine):
    keys = await build_many(engine, 3, pollingInterval=30)
    for _ in range(3):
        await ask_each(engine, keys)
    await ask_each(engine, keys[:2])
    await ask_each(engine, keys[:2])
    assert engine.taps["a"].batches == [3, 2]


async def test_no_hpa_is_told_a_reading_of_two_seconds_however_its_questions_come(engine):
    keys = await build_many(engine, 20, pollingInterval=60)
    chance = random.Random(1)
    for _ in range(500):
        key = chance.choice(keys)
        (reading,) = await engine.readings.ask(key, f"s0-a-i{key.name.removeprefix('app')}")
        assert (engine.clock.now() - reading.taken_at).total_seconds() < 2
        await engine.clock.advance(chance.expovariate(4))
    assert engine.taps["a"].batches


async def test_a_question_to_a_source_that_fails_takes_nothing_along(engine):
    keys = await build_many(engine, 5, pollingInterval=30)
    for _ in range(3):
        await ask_each(engine, keys)
    engine.taps["a"].failing_names = {f"i{number}" for number in range(5)}
    engine.taps["a"].batch_error = ScalerError("down")
    for _ in range(2):
        await ask_each(engine, keys)
    assert engine.taps["a"].batches == [5]


async def test_readings_of_a_polling_interval_too_short_to_share_are_not_read_ahead(engine):
    keys = await build_many(engine, 4, pollingInterval=1)
    for _ in range(4):
        await ask_each(engine, keys, pause=0.6)
    assert engine.taps["a"].batches == []


async def test_an_error_of_one_trigger_is_its_own(engine):
    keys = await build_many(engine, 4)
    engine.taps["a"].failing_names = {"i2"}
    outcomes = await poll_all(engine, keys)
    assert [str(outcome) for outcome in outcomes if isinstance(outcome, ScalerError)] == ["i2 is broken"]
    assert outcomes.count(ONE) == 3


@pytest.mark.parametrize("error", [ScalerError("no"), RuntimeError("bug")], ids=["source error", "bug"])
async def test_when_the_common_question_fails_each_is_read_alone_once(engine, error):
    keys = await build_many(engine, 20)
    engine.taps["a"].batch_error = error
    assert await poll_all(engine, keys) == [ONE] * 20
    assert (engine.taps["a"].batches, engine.taps["a"].reads) == ([20], 20)


async def test_objects_of_two_kinds_are_one_question_to_their_source(engine):
    (key,) = await build_many(engine, 1)
    await engine.build_job("work", tap="a", item="i1", batch="yes")
    assert await poll_all(engine, [key, ObjectKey("ScaledJob", "shop", "work")]) == [ONE, ONE]
    assert (engine.taps["a"].batches, engine.taps["a"].reads) == ([2], 0)


async def test_a_dead_source_is_asked_by_one_at_a_time_and_everyone_gets_an_error(engine):
    keys = await build_many(engine, 20)
    engine.taps["a"].hangs = True
    outcomes = await asyncio.wait_for(poll_all(engine, keys), 2)
    assert all(isinstance(outcome, ScalerError) for outcome in outcomes)
    assert engine.taps["a"].most_at_once == 1


async def test_one_hanging_trigger_costs_its_neighbours_one_round_at_most(engine):
    keys = await build_many(engine, 20)
    engine.taps["a"].hanging_names = {"i7"}
    await poll_all(engine, keys)
    await engine.clock.advance(30)
    outcomes = await poll_all(engine, keys)
    assert [number for number, outcome in enumerate(outcomes) if isinstance(outcome, ScalerError)] == [7]
    await engine.clock.advance(30)
    engine.taps["a"].hanging_names = set()
    assert await poll_all(engine, keys) == [ONE] * 20


async def test_a_recovered_source_is_asked_in_common_again(engine):
    keys = await build_many(engine, 10)
    engine.taps["a"].batch_error = ScalerError("down")
    engine.taps["a"].value = ScalerError("down")
    await poll_all(engine, keys)
    engine.taps["a"].batch_error, engine.taps["a"].value = None, 1.0
    await engine.clock.advance(30)
    assert await poll_all(engine, keys) == [ONE] * 10
    engine.taps["a"].batches.clear()
    await engine.clock.advance(30)
    assert await poll_all(engine, keys) == [ONE] * 10
    assert engine.taps["a"].batches == [10]


async def test_a_trigger_renewed_with_another_password_joins_the_source_of_that_password(engine):
    keys = await build_many(engine, 3)
    await poll_all(engine, keys)
    engine.resolver.auth = {"password": "new"}
    engine.taps["a"].failing_names = {"i0"}
    await engine.clock.advance(30)
    await poll_all(engine, keys)
    engine.taps["a"].failing_names = set()
    engine.taps["a"].batches.clear()
    await engine.clock.advance(30)
    assert await poll_all(engine, keys) == [ONE] * 3
    assert engine.taps["a"].batches == [2]  # and the renewed one alone
    renewed, *others = (engine.readings.built(key).batch_keys[0] for key in keys)
    assert renewed == sharing_key("shop", ("tap", "a"), "new")
    assert others == [OpenKey(what=("tap", "a"))] * 2
    await engine.clock.settle()
    assert engine.taps["a"].open_scalers == 3


async def test_nothing_is_resolved_any_more_for_an_object_that_is_forgotten(engine):
    keys = await build_many(engine, 2)
    engine.taps["a"].failing_names, engine.resolver.slow = {"i0"}, {keys[0].name}
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(poll_all(engine, keys))
        await engine.resolver.asked.wait()
        await engine.readings.forget(keys[0])
    failed, read = polling.result()
    assert "the object was changed or deleted" in str(failed)
    assert read == ONE
    engine.resolver.answers.set()
    await engine.clock.settle()
    assert engine.resolver.answered == set()


async def test_a_scaler_may_leave_out_the_spec_and_answer_nonsense_in_common(engine):
    for number in range(3):
        trigger = {"type": "plain", "metadata": {"batch": "yes", "item": f"i{number}"}}
        await engine.build(trigger, name=f"app{number}")
    assert (
        await poll_all(engine, [ObjectKey("ScaledObject", "shop", f"app{number}") for number in range(3)]) == [ONE] * 3
    )
    assert (engine.taps["a"].batches, engine.taps["a"].reads) == ([3], 3)
