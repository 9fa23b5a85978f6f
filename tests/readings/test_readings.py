"""One read per trigger for all callers; errors stay errors; no caller waits for another one's source."""

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


async def test_poll_and_hpa_share_one_read(engine):
    await engine.build()
    seen, (answer,) = await asyncio.gather(engine.readings.poll(KEY), engine.readings.ask(KEY, "s0-a-x"))
    assert seen.readings == (answer,)
    assert answer.outcome == Reading(value=1.0, active=True)
    assert (engine.taps["a"].reads, engine.told) == (1, [KEY])


async def test_a_reading_younger_than_two_seconds_is_shared_and_an_older_one_is_not(engine):
    await engine.build()
    await engine.readings.poll(KEY)
    await engine.clock.advance(1.9)
    await engine.readings.ask(KEY, "s0-a-x")
    assert engine.taps["a"].reads == 1
    await engine.clock.advance(0.1)
    await engine.readings.ask(KEY, "s0-a-x")
    assert engine.taps["a"].reads == 2


async def test_a_polling_interval_of_one_second_reads_every_second(engine):
    await engine.build(pollingInterval=1)
    for _ in range(3):
        await engine.readings.poll(KEY)
        await engine.clock.advance(1)
    assert engine.taps["a"].reads == 3


async def test_an_asker_that_gives_up_takes_nobodys_answer_away(engine):
    await engine.build()
    engine.taps["a"].hangs = True
    async with asyncio.TaskGroup() as askers:
        impatient = askers.create_task(engine.readings.ask(KEY, "s0-a-x"))
        patient = askers.create_task(engine.readings.poll(KEY))
        await eventually(lambda: engine.taps["a"].reading_now)
        await turns()
        impatient.cancel()
        await asyncio.sleep(0)
        engine.taps["a"].flowing.set()
    assert patient.result().readings[0].outcome == Reading(value=1.0, active=True)


async def test_a_source_that_hangs_is_an_error_after_the_time_out_and_delays_nobody(engine):
    await engine.build()
    await engine.build({"metadata": {"tap": "b"}}, name="other")
    engine.taps["a"].hangs = True
    engine.readings.read_ahead(KEY)
    assert await engine.outcomes(ObjectKey("ScaledObject", "shop", "other")) == [Reading(value=1.0, active=True)]
    (outcome,) = await engine.outcomes()
    assert isinstance(outcome, ScalerError)
    assert "no answer within" in str(outcome)


async def test_no_good_value_is_served_after_a_failure(engine):
    await engine.build()
    await engine.readings.poll(KEY)
    engine.taps["a"].value = ScalerError("connection refused")
    await engine.clock.advance(2)
    (asked,) = await engine.readings.ask(KEY, "s0-a-x")
    assert str(asked.outcome) == "connection refused"
    assert [str(outcome) for outcome in await engine.outcomes()] == ["connection refused"]


async def test_one_broken_trigger_leaves_the_others_their_values(engine):
    await engine.build({}, {"metadata": {"tap": "b"}})
    engine.taps["a"].value = ScalerError("down")
    broken, fine = await engine.outcomes()
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
async def test_whatever_a_scaler_does_is_confined_to_its_trigger(engine, answer, text):
    await engine.build()
    engine.taps["a"].value = answer
    (outcome,) = await engine.outcomes()
    assert isinstance(outcome, ScalerError)
    assert text in str(outcome)
    assert "hunter2" not in str(outcome)


async def test_activity_is_a_value_above_activation_unless_the_scaler_says_otherwise(engine):
    await engine.build({"metadata": {"activation": "1"}}, {"metadata": {"activation": "0.5"}})
    assert [outcome.active for outcome in await engine.outcomes()] == [False, True]
    engine.taps["a"].value = Reading(value=9.0, active=False)
    await engine.clock.advance(2)
    assert [outcome.active for outcome in await engine.outcomes()] == [False, False]


async def test_metric_names_are_found_in_upper_and_lower_case_and_unknown_ones_are_empty(engine):
    await engine.build()
    assert len(await engine.readings.ask(KEY, "S0-A-X")) == 1
    assert await engine.readings.ask(KEY, "s1-a-x") == ()


async def test_cached_metrics_answer_with_the_last_poll_error_included_and_never_read(engine):
    await engine.build({"useCachedMetrics": True})
    await engine.readings.poll(KEY)
    engine.taps["a"].value = ScalerError("down")
    await engine.clock.advance(30)
    (good,) = await engine.readings.ask(KEY, "s0-a-x")
    await engine.readings.poll(KEY)
    await engine.clock.advance(30)
    (failed,) = await engine.readings.ask(KEY, "s0-a-x")
    assert (good.outcome, str(failed.outcome)) == (Reading(value=1.0, active=True), "down")
    assert engine.taps["a"].reads == 2


async def test_cached_metrics_are_read_for_who_asks_before_the_first_poll(engine):
    await engine.build({"useCachedMetrics": True})
    (before,) = await engine.readings.ask(KEY, "s0-a-x")
    assert (before.outcome, engine.taps["a"].reads) == (Reading(value=1.0, active=True), 1)


async def test_work_that_the_hpa_asked_about_is_no_poll_of_a_trigger_with_cached_metrics(engine):
    await engine.build({}, {"useCachedMetrics": True, "metadata": {"tap": "b"}}, pollingInterval=60)
    await engine.readings.poll(KEY)
    for _ in range(3):
        await engine.clock.advance(15)
        await engine.readings.ask(KEY, "s0-a-x")
        assert len((await engine.readings.poll(KEY)).readings) == 2
    assert (engine.taps["a"].reads, engine.taps["b"].reads) == (4, 1)
    await engine.clock.advance(15)
    await engine.readings.ask(KEY, "s0-a-x")
    await engine.readings.poll(KEY)
    assert engine.taps["b"].reads == 2, "its polling interval is over"
    engine.taps["a"].value = 0.0
    await engine.clock.advance(15)
    await engine.readings.ask(KEY, "s0-a-x")
    await engine.readings.poll(KEY)
    assert engine.taps["b"].reads == 3, "whoever looks for another reason, as at the end of a cooldown, wants to know"


async def test_a_failing_trigger_is_asked_again_only_when_its_parameters_have_changed(engine):
    await engine.build()
    engine.taps["a"].value = ScalerError("wrong password")
    await engine.outcomes()
    assert (engine.taps["a"].reads, engine.opened_with) == (1, [""])
    engine.resolver.auth = {"password": "new"}
    await engine.clock.advance(2)
    await engine.outcomes()
    assert (engine.taps["a"].reads, engine.opened_with, engine.taps["a"].open_scalers) == (3, ["", "new"], 1)


async def test_scalers_are_built_once_per_generation_and_the_old_ones_are_closed(engine):
    await engine.build()
    annotated = engine.spec(maxReplicaCount=7)
    await engine.readings.build(annotated)
    assert (len(engine.opened_with), engine.readings.built(KEY).spec.max_replicas) == (1, 7)
    await engine.build(generation=2)
    await engine.clock.settle()
    assert (len(engine.opened_with), engine.taps["a"].open_scalers) == (2, 1)
    await engine.readings.forget(KEY)
    await engine.clock.settle()
    assert (engine.readings.built(KEY), engine.taps["a"].open_scalers) == (None, 0)


async def test_a_generation_that_cannot_be_built_is_not_scaled_by_the_one_before(engine):
    await engine.build()
    with pytest.raises(ConfigError, match="'Utilization' metric type is unsupported"):
        await engine.build({"metricType": "Utilization"}, generation=2)
    with pytest.raises(ScalerError, match="not built"):
        await engine.readings.poll(KEY)
    await engine.clock.settle()
    assert engine.taps["a"].open_scalers == 0


async def test_failures_are_counted_per_reading_while_there_is_a_fallback(engine):
    fallback = {"failureThreshold": 2, "replicas": 4}
    await engine.build(fallback=fallback)
    engine.taps["a"].value = ScalerError("down")
    for _ in range(3):
        await engine.readings.poll(KEY)
        await engine.readings.ask(KEY, "s0-a-x")  # shared, so not counted again
        await engine.clock.advance(2)
    assert engine.readings.health(KEY) == {"s0-a-x": FallbackState(failures=3)}
    await engine.build(fallback=fallback, generation=2)
    assert engine.readings.health(KEY) == {"s0-a-x": FallbackState(failures=3)}
    await engine.build(generation=3)
    assert engine.readings.health(KEY) == {}


async def test_a_scaledjob_by_the_same_name_is_another_object(engine):
    await engine.build(fallback={"failureThreshold": 2, "replicas": 4})
    await engine.build_job("app", tap="b")
    assert [reading.metric.name for reading in (await engine.readings.poll(JOB)).readings] == ["s0-b-x"]
    assert (await engine.readings.ask(KEY, "s0-b-x"), engine.told) == ((), [JOB])
    await engine.readings.forget(JOB)
    assert (engine.readings.built(JOB), engine.readings.keys()) == (None, (KEY,))
    assert await engine.outcomes(KEY) == [Reading(value=1.0, active=True)]


async def test_a_controller_that_begins_forgets_failures_of_its_own_kind_alone(engine):
    await engine.build(fallback={"failureThreshold": 2, "replicas": 4})
    engine.taps["a"].value = ScalerError("down")
    await engine.readings.poll(KEY)
    engine.readings.recount("ScaledJob")
    assert engine.readings.health(KEY) == {"s0-a-x": FallbackState(failures=1)}
    engine.readings.recount("ScaledObject")
    assert engine.readings.health(KEY) == {}


async def test_failure_counts_survive_a_restart_and_drop_metrics_that_are_gone(engine):
    engine.shared.health = {"s0-a-x": FallbackState(failures=5), "s1-gone": FallbackState(failures=9)}
    await engine.build(fallback={"failureThreshold": 2, "replicas": 4})
    assert engine.readings.health(KEY) == {"s0-a-x": FallbackState(failures=5)}
    await engine.readings.poll(KEY)
    assert engine.readings.health(KEY) == {"s0-a-x": FallbackState()}


async def test_a_question_that_comes_before_the_first_poll_goes_on_counting(engine):
    engine.shared.health = {"s0-a-x": FallbackState(failures=5)}
    await engine.build(fallback={"failureThreshold": 2, "replicas": 4})
    engine.taps["a"].value = ScalerError("down")
    await engine.readings.ask(KEY, "s0-a-x")
    assert engine.readings.health(KEY) == {"s0-a-x": FallbackState(failures=6)}


async def test_a_replica_that_does_not_lead_counts_nothing_and_believes_the_status(engine):
    engine.shared.leads = False
    engine.shared.health = {"s0-a-x": FallbackState(failures=3)}
    await engine.build(fallback={"failureThreshold": 2, "replicas": 4})
    await engine.readings.ask(KEY, "s0-a-x")
    assert engine.readings.health(KEY) == {"s0-a-x": FallbackState(failures=3)}
    engine.shared.leads = True
    engine.taps["a"].value = ScalerError("down")
    await engine.clock.advance(3)
    await engine.readings.poll(KEY)
    assert engine.readings.health(KEY) == {"s0-a-x": FallbackState(failures=4)}


async def test_cached_metrics_are_read_all_the_same_where_nobody_polls(engine):
    engine.shared.leads = False
    await engine.build({"useCachedMetrics": True})
    for value in (3.0, 4.0):
        engine.taps["a"].value = value
        (reading,) = await engine.readings.ask(KEY, "s0-a-x")
        assert reading.outcome.value == value
        await engine.clock.advance(3)


async def test_who_asks_while_the_engine_closes_gets_an_error(engine):
    await engine.build()
    engine.taps["a"].hangs = True
    async with asyncio.TaskGroup() as askers:
        asking = askers.create_task(engine.readings.poll(KEY))
        await eventually(lambda: engine.taps["a"].reading_now)
        await engine.readings.aclose()
    assert "shutting down" in str(asking.result().readings[0].outcome)


async def test_what_is_read_for_an_object_that_is_gone_is_given_up_at_once(engine):
    engine.taps["a"].hangs = True
    await engine.build()
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(engine.outcomes())
        while not engine.taps["a"].reading_now:
            await asyncio.sleep(0)
        await engine.readings.forget(KEY)
        (outcome,) = await polling
    assert str(outcome) == "not read: the object was changed or deleted"
    assert (engine.taps["a"].reading_now, engine.told) == (0, [])


async def test_a_poll_that_is_not_wanted_any_more_waits_no_longer_and_the_next_one_has_its_answer(engine):
    tap = engine.taps["a"]
    tap.hangs = True
    await engine.build()
    changed = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        polling = tasks.create_task(engine.readings.poll(KEY, changed))
        while not tap.reading_now:
            await asyncio.sleep(0)
        changed.set_result(None)
        assert await polling is None
        tap.flowing.set()
        assert await engine.outcomes() == [Reading(value=1.0, active=True)]
    assert tap.reads == 1


async def test_what_a_trigger_shares_with_others_costs_the_same_however_many_its_object_has(engine):
    await engine.build(*({"metadata": {"item": f"i{number}"}} for number in range(MOST_TRIGGERS)))
    built = engine.readings.built(KEY)
    meters = [
        TrackedMetric(key=KEY, scalers=built, metric=one, grid=Grid(interval=30, offset=0))
        for one in built.metrics.external
    ]
    with within(0.3):  # it takes a tenth of this; 2 s if each key scans all others
        assert not any(meter.batch_key for meter in meters for _ in range(60))


async def test_a_trigger_that_fails_by_turns_is_told_of_once_in_a_while(engine, caplog):
    caplog.set_level(logging.INFO, "keda_py.readings.readings")
    await engine.build()
    for turn in range(60):
        engine.taps["a"].value = ScalerError("down") if turn % 2 else 1.0
        await engine.readings.poll(KEY)
        await engine.clock.advance(QUIET_SECONDS / 20)
    assert [one.levelname for one in caplog.records] == ["WARNING", "INFO"] * 3


async def test_a_poll_that_was_begun_ahead_has_what_was_read_while_the_last_of_it_is_young(engine):
    await engine.build({}, {"metadata": {"tap": "b"}})
    assert engine.readings.known_round(KEY) is None
    first, last = (engine.readings.read_ahead(KEY), engine.readings.read_ahead(KEY))
    await first
    assert last.done()
    assert engine.readings.read_ahead(KEY) is None
    known = engine.readings.known_round(KEY)
    assert [reading.outcome for reading in known.readings] == [Reading(value=1.0, active=True)] * 2
    await engine.clock.advance(3)
    assert engine.readings.known_round(KEY) is None
    await engine.readings.ask(KEY, "s1-b-x")
    assert (await engine.readings.poll(KEY, ahead=True)).readings[0] is known.readings[0]
    assert (engine.taps["a"].reads, engine.taps["b"].reads) == (1, 2)
    assert (await engine.readings.poll(KEY)).readings[0] is not known.readings[0]
    assert (engine.taps["a"].reads, engine.taps["b"].reads) == (2, 2)


async def test_what_is_read_ahead_is_waited_for_until_its_object_is_changed(engine):
    await engine.build()
    engine.taps["a"].hangs = True
    changed = asyncio.get_running_loop().create_future()
    ahead = engine.readings.read_ahead(KEY, changed)
    changed.set_result(None)
    await ahead
    assert engine.readings.known_round(KEY) is None
    assert await engine.readings.poll(KEY, changed, ahead=True) is None
    engine.taps["a"].flowing.set()
    assert await engine.outcomes() == [Reading(value=1.0, active=True)]


async def test_a_scaler_that_was_renewed_after_its_poll_was_begun_ahead_is_read_again(engine):
    await engine.build()
    await engine.readings.read_ahead(KEY)
    engine.resolver.auth = {"password": "new"}
    assert await engine.readings.renew(KEY, [0])
    await engine.readings.poll(KEY, ahead=True)
    assert engine.taps["a"].reads == 2
