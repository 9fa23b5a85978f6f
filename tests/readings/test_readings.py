"""One read per trigger whoever asks; errors stay errors; nobody waits for somebody else's source."""

import asyncio
import logging

import pytest

from keda_py.apis.scaled_object import MOST_TRIGGERS
from keda_py.core.fallback import FallbackState
from keda_py.core.pacing.polling_grid import Grid
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, ScalerError
from keda_py.readings.readings import QUIET_SECONDS
from keda_py.readings.tracked_metrics import TrackedMetric
from keda_py.sdk.scaler import Reading
from tests.costs import within
from tests.waiting import eventually, turns

KEY, JOB = ObjectKey("ScaledObject", "shop", "app"), ObjectKey("ScaledJob", "shop", "app")
BATCHED = {"metadata": {"batch": "yes"}}


async def test_poll_and_hpa_share_one_read(world):
    await world.build()
    seen, (answer,) = await asyncio.gather(world.readings.poll(KEY), world.readings.ask(KEY, "s0-a-x"))
    assert seen.readings == (answer,)
    assert answer.outcome == Reading(value=1.0, active=True)
    assert (world.taps["a"].reads, world.told) == (1, [KEY])


async def test_a_reading_younger_than_two_seconds_is_shared_and_an_older_one_is_not(world):
    await world.build()
    await world.readings.poll(KEY)
    await world.clock.advance(1.9)
    await world.readings.ask(KEY, "s0-a-x")
    assert world.taps["a"].reads == 1
    await world.clock.advance(0.1)
    await world.readings.ask(KEY, "s0-a-x")
    assert world.taps["a"].reads == 2


async def test_a_polling_interval_of_one_second_reads_every_second(world):
    await world.build(pollingInterval=1)
    for _ in range(3):
        await world.readings.poll(KEY)
        await world.clock.advance(1)
    assert world.taps["a"].reads == 3


async def test_an_asker_that_gives_up_takes_nobodys_answer_away(world):
    await world.build()
    world.taps["a"].hangs = True
    async with asyncio.TaskGroup() as askers:
        impatient = askers.create_task(world.readings.ask(KEY, "s0-a-x"))
        patient = askers.create_task(world.readings.poll(KEY))
        await eventually(lambda: world.taps["a"].reading_now)
        await turns()
        impatient.cancel()
        await asyncio.sleep(0)
        world.taps["a"].flowing.set()
    assert patient.result().readings[0].outcome == Reading(value=1.0, active=True)


async def test_a_source_that_hangs_is_an_error_after_the_time_out_and_delays_nobody(world):
    await world.build()
    await world.build({"metadata": {"tap": "b"}}, name="other")
    world.taps["a"].hangs = True
    world.readings.begin(KEY)
    assert await world.outcomes(ObjectKey("ScaledObject", "shop", "other")) == [Reading(value=1.0, active=True)]
    (outcome,) = await world.outcomes()
    assert isinstance(outcome, ScalerError)
    assert "no answer within" in str(outcome)


async def test_no_good_value_is_served_after_a_failure(world):
    await world.build()
    await world.readings.poll(KEY)
    world.taps["a"].value = ScalerError("connection refused")
    await world.clock.advance(2)
    (asked,) = await world.readings.ask(KEY, "s0-a-x")
    assert str(asked.outcome) == "connection refused"
    assert [str(outcome) for outcome in await world.outcomes()] == ["connection refused"]


async def test_one_broken_trigger_leaves_the_others_their_values(world):
    await world.build({}, {"metadata": {"tap": "b"}})
    world.taps["a"].value = ScalerError("down")
    broken, fine = await world.outcomes()
    assert (str(broken), fine) == ("down", Reading(value=1.0, active=True))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (ZeroDivisionError("password=hunter2"), "unexpected ZeroDivisionError"),
        (ConfigError("the key is gone"), "the key is gone"),
        (asyncio.CancelledError(), "cancelled itself"),
        (None, "NoneType"),
        (Reading(value="7"), "Reading with a number"),
    ],
    ids=["unexpected exception", "config error", "cancels itself", "answers nothing", "answers text"],
)
async def test_whatever_a_scaler_does_is_confined_to_its_trigger(world, answer, text):
    await world.build()
    world.taps["a"].value = answer
    (outcome,) = await world.outcomes()
    assert isinstance(outcome, ScalerError)
    assert text in str(outcome)
    assert "hunter2" not in str(outcome)


async def test_activity_is_a_value_above_activation_unless_the_scaler_says_otherwise(world):
    await world.build({"metadata": {"activation": "1"}}, {"metadata": {"activation": "0.5"}})
    assert [outcome.active for outcome in await world.outcomes()] == [False, True]
    world.taps["a"].value = Reading(value=9.0, active=False)
    await world.clock.advance(2)
    assert [outcome.active for outcome in await world.outcomes()] == [False, False]


async def test_metric_names_are_found_in_upper_and_lower_case_and_unknown_ones_are_empty(world):
    await world.build()
    assert len(await world.readings.ask(KEY, "S0-A-X")) == 1
    assert await world.readings.ask(KEY, "s1-a-x") == ()


async def test_cached_metrics_answer_with_the_last_poll_error_included_and_never_read(world):
    await world.build({"useCachedMetrics": True})
    await world.readings.poll(KEY)
    world.taps["a"].value = ScalerError("down")
    await world.clock.advance(30)
    (good,) = await world.readings.ask(KEY, "s0-a-x")
    await world.readings.poll(KEY)
    await world.clock.advance(30)
    (failed,) = await world.readings.ask(KEY, "s0-a-x")
    assert (good.outcome, str(failed.outcome)) == (Reading(value=1.0, active=True), "down")
    assert world.taps["a"].reads == 2


async def test_cached_metrics_are_read_for_who_asks_before_the_first_poll(world):
    await world.build({"useCachedMetrics": True})
    (before,) = await world.readings.ask(KEY, "s0-a-x")
    assert (before.outcome, world.taps["a"].reads) == (Reading(value=1.0, active=True), 1)


async def test_work_that_the_hpa_asked_about_is_no_poll_of_a_trigger_with_cached_metrics(world):
    await world.build({}, {"useCachedMetrics": True, "metadata": {"tap": "b"}}, pollingInterval=60)
    await world.readings.poll(KEY)
    for _ in range(3):
        await world.clock.advance(15)
        await world.readings.ask(KEY, "s0-a-x")
        assert len((await world.readings.poll(KEY)).readings) == 2
    assert (world.taps["a"].reads, world.taps["b"].reads) == (4, 1)
    await world.clock.advance(15)
    await world.readings.ask(KEY, "s0-a-x")
    await world.readings.poll(KEY)
    assert world.taps["b"].reads == 2, "its polling interval is over"
    world.taps["a"].value = 0.0
    await world.clock.advance(15)
    await world.readings.ask(KEY, "s0-a-x")
    await world.readings.poll(KEY)
    assert world.taps["b"].reads == 3, "whoever looks for another reason, as at the end of a cooldown, wants to know"


async def test_a_failing_trigger_is_asked_again_only_when_its_parameters_have_changed(world):
    await world.build()
    world.taps["a"].value = ScalerError("wrong password")
    await world.outcomes()
    assert (world.taps["a"].reads, world.opened_with) == (1, [""])
    world.resolver.auth = {"password": "new"}
    await world.clock.advance(2)
    await world.outcomes()
    assert (world.taps["a"].reads, world.opened_with, world.taps["a"].open_scalers) == (3, ["", "new"], 1)


async def test_scalers_are_built_once_per_generation_and_the_old_ones_are_closed(world):
    await world.build()
    annotated = world.spec(maxReplicaCount=7)
    await world.readings.build(annotated)
    assert (len(world.opened_with), world.readings.built(KEY).spec.max_replicas) == (1, 7)
    await world.build(generation=2)
    await world.clock.settle()
    assert (len(world.opened_with), world.taps["a"].open_scalers) == (2, 1)
    await world.readings.forget(KEY)
    await world.clock.settle()
    assert (world.readings.built(KEY), world.taps["a"].open_scalers) == (None, 0)


async def test_a_generation_that_cannot_be_built_is_not_scaled_by_the_one_before(world):
    await world.build()
    with pytest.raises(ConfigError, match="'Utilization' metric type is unsupported"):
        await world.build({"metricType": "Utilization"}, generation=2)
    with pytest.raises(ScalerError, match="not built"):
        await world.readings.poll(KEY)
    await world.clock.settle()
    assert world.taps["a"].open_scalers == 0


async def test_failures_are_counted_per_reading_while_there_is_a_fallback(world):
    fallback = {"failureThreshold": 2, "replicas": 4}
    await world.build(fallback=fallback)
    world.taps["a"].value = ScalerError("down")
    for _ in range(3):
        await world.readings.poll(KEY)
        await world.readings.ask(KEY, "s0-a-x")  # shared, so not counted again
        await world.clock.advance(2)
    assert world.readings.health(KEY) == {"s0-a-x": FallbackState(failures=3)}
    await world.build(fallback=fallback, generation=2)
    assert world.readings.health(KEY) == {"s0-a-x": FallbackState(failures=3)}
    await world.build(generation=3)
    assert world.readings.health(KEY) == {}


async def test_a_scaledjob_by_the_same_name_is_another_object(world):
    await world.build(fallback={"failureThreshold": 2, "replicas": 4})
    await world.build_job("app", tap="b")
    assert [reading.metric.name for reading in (await world.readings.poll(JOB)).readings] == ["s0-b-x"]
    assert (await world.readings.ask(KEY, "s0-b-x"), world.told) == ((), [JOB])
    await world.readings.forget(JOB)
    assert (world.readings.built(JOB), world.readings.keys()) == (None, (KEY,))
    assert await world.outcomes(KEY) == [Reading(value=1.0, active=True)]


async def test_a_controller_that_begins_forgets_failures_of_its_own_kind_alone(world):
    await world.build(fallback={"failureThreshold": 2, "replicas": 4})
    world.taps["a"].value = ScalerError("down")
    await world.readings.poll(KEY)
    world.readings.recount("ScaledJob")
    assert world.readings.health(KEY) == {"s0-a-x": FallbackState(failures=1)}
    world.readings.recount("ScaledObject")
    assert world.readings.health(KEY) == {}


async def test_failure_counts_survive_a_restart_and_drop_metrics_that_are_gone(world):
    world.shared.health = {"s0-a-x": FallbackState(failures=5), "s1-gone": FallbackState(failures=9)}
    await world.build(fallback={"failureThreshold": 2, "replicas": 4})
    assert world.readings.health(KEY) == {"s0-a-x": FallbackState(failures=5)}
    await world.readings.poll(KEY)
    assert world.readings.health(KEY) == {"s0-a-x": FallbackState()}


async def test_a_question_that_comes_before_the_first_poll_goes_on_counting(world):
    world.shared.health = {"s0-a-x": FallbackState(failures=5)}
    await world.build(fallback={"failureThreshold": 2, "replicas": 4})
    world.taps["a"].value = ScalerError("down")
    await world.readings.ask(KEY, "s0-a-x")
    assert world.readings.health(KEY) == {"s0-a-x": FallbackState(failures=6)}


async def test_a_replica_that_does_not_lead_counts_nothing_and_believes_the_status(world):
    world.shared.leads = False
    world.shared.health = {"s0-a-x": FallbackState(failures=3)}
    await world.build(fallback={"failureThreshold": 2, "replicas": 4})
    await world.readings.ask(KEY, "s0-a-x")
    assert world.readings.health(KEY) == {"s0-a-x": FallbackState(failures=3)}
    world.shared.leads = True
    world.taps["a"].value = ScalerError("down")
    await world.clock.advance(3)
    await world.readings.poll(KEY)
    assert world.readings.health(KEY) == {"s0-a-x": FallbackState(failures=4)}


async def test_cached_metrics_are_read_all_the_same_where_nobody_polls(world):
    world.shared.leads = False
    await world.build({"useCachedMetrics": True})
    for value in (3.0, 4.0):
        world.taps["a"].value = value
        (reading,) = await world.readings.ask(KEY, "s0-a-x")
        assert reading.outcome.value == value
        await world.clock.advance(3)


async def test_who_asks_while_the_engine_closes_gets_an_error(world):
    await world.build()
    world.taps["a"].hangs = True
    async with asyncio.TaskGroup() as askers:
        asking = askers.create_task(world.readings.poll(KEY))
        await eventually(lambda: world.taps["a"].reading_now)
        await world.readings.aclose()
    assert "shutting down" in str(asking.result().readings[0].outcome)


async def test_what_is_read_for_an_object_that_is_gone_is_given_up_at_once(world):
    world.taps["a"].hangs = True
    await world.build()
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(world.outcomes())
        while not world.taps["a"].reading_now:
            await asyncio.sleep(0)
        await world.readings.forget(KEY)
        (outcome,) = await polling
    assert str(outcome) == "not read: the object was changed or deleted"
    assert (world.taps["a"].reading_now, world.told) == (0, [])


async def test_a_poll_that_is_not_wanted_any_more_waits_no_longer_and_the_next_one_has_its_answer(world):
    tap = world.taps["a"]
    tap.hangs = True
    await world.build()
    changed = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(world.readings.poll(KEY, changed))
        while not tap.reading_now:
            await asyncio.sleep(0)
        changed.set_result(None)
        assert await polling is None
        tap.flowing.set()
        assert await world.outcomes() == [Reading(value=1.0, active=True)]
    assert tap.reads == 1


async def test_what_a_trigger_shares_with_others_costs_the_same_however_many_its_object_has(world):
    await world.build(*({"metadata": {"item": f"i{number}"}} for number in range(MOST_TRIGGERS)))
    built = world.readings.built(KEY)
    meters = [
        TrackedMetric(key=KEY, scalers=built, metric=one, grid=Grid(interval=30, offset=0))
        for one in built.metrics.external
    ]
    with within(0.3):  # a tenth of that; 2 s where each looks at all others
        assert not any(meter.batch_key for meter in meters for _ in range(60))


async def test_a_trigger_that_fails_by_turns_is_told_of_once_in_a_while(world, caplog):
    caplog.set_level(logging.INFO, "keda_py.readings.readings")
    await world.build()
    for turn in range(60):
        world.taps["a"].value = ScalerError("down") if turn % 2 else 1.0
        await world.readings.poll(KEY)
        await world.clock.advance(QUIET_SECONDS / 20)
    assert [one.levelname for one in caplog.records] == ["WARNING", "INFO"] * 3
