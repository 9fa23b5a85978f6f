"""A source that tells its metrics anew: the object has them at once, and keeps its scalers and readings."""

from typing import Any

import pytest

from keda_py.core.metric_names import MetricSet
from keda_py.core.metric_specs import ExternalMetric
from keda_py.readings.pushes import PAUSE
from keda_py.sdk.scaler import Reading, ScalerError
from tests.readings.conftest import KEY
from tests.waiting import eventually

RESTATING = {"type": "restating"}


def metrics_of(engine: Any) -> MetricSet:
    metrics: MetricSet = engine.readings.built(KEY).metrics
    return metrics


def shown(engine: Any) -> list[tuple[str, float]]:
    return [(metric.name, metric.target) for metric in metrics_of(engine).external]


def tell(engine: Any, *metrics: tuple[str, float]) -> None:
    engine.taps["a"].restated.put_nowait(tuple(ExternalMetric(name=name, target=target) for name, target in metrics))


async def test_another_target_is_taken_and_reported_while_scaler_and_readings_stay(engine: Any) -> None:
    spec = await engine.build(RESTATING)
    assert shown(engine) == [("s0-a-x", 5)]
    engine.taps["a"].value = 7.0
    await engine.outcomes()
    before = len(engine.told)
    tell(engine, ("a-x", 20))
    await eventually(lambda: shown(engine) == [("s0-a-x", 20)])
    assert len(engine.told) == before + 1
    [reading] = (await engine.readings.poll(KEY)).readings
    assert (reading.outcome, reading.metric.target) == (Reading(value=7.0, active=True), 20)
    assert (engine.taps["a"].reads, len(engine.opened_with)) == (1, 1)
    assert await engine.readings.build(spec) is metrics_of(engine)


async def test_what_is_told_again_is_no_change(engine: Any) -> None:
    await engine.build(RESTATING)
    tell(engine, ("a-x", 5))
    await eventually(engine.taps["a"].restated.empty)
    tell(engine, ("a-x", 6))
    await eventually(lambda: shown(engine) == [("s0-a-x", 6)])
    assert engine.told == [KEY]


async def test_metrics_of_other_names_take_the_place_of_the_old_ones(engine: Any) -> None:
    await engine.build({"metadata": {"tap": "b"}}, RESTATING)
    tell(engine, ("fast", 2), ("slow", 3))
    await eventually(lambda: shown(engine) == [("s0-b-x", 5), ("s1-fast", 2), ("s1-slow", 3)])
    assert await engine.outcomes() == [Reading(value=1.0, active=True)] * 3
    assert await engine.readings.ask(KEY, "s1-a-x") == ()
    [asked] = await engine.readings.ask(KEY, "s1-fast")
    assert asked.outcome == Reading(value=1.0, active=True)


async def test_a_read_under_way_of_a_metric_that_is_gone_ends(engine: Any) -> None:
    await engine.build(RESTATING)
    engine.taps["a"].hangs = True
    engine.readings.read_ahead(KEY)
    await eventually(lambda: engine.taps["a"].reads == 1)
    tell(engine, ("other", 2))
    await eventually(lambda: shown(engine) == [("s0-other", 2)])
    engine.taps["a"].flowing.set()
    assert await engine.outcomes() == [Reading(value=1.0, active=True)]


@pytest.mark.parametrize(
    "told", [(("a", 1), ("a", 2)), (), (("n" * 3_000, 1),)], ids=["one name twice", "no metric", "a name too long"]
)
async def test_metrics_that_cannot_be_used_are_passed_over(
    engine: Any, told: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await engine.build(RESTATING)
    tell(engine, *told)
    await eventually(lambda: "metrics that cannot be used" in caplog.text)
    assert (shown(engine), engine.told) == ([("s0-a-x", 5)], [])


async def test_of_many_changes_in_a_row_the_newest_is_taken(engine: Any) -> None:
    await engine.build(RESTATING)
    for target in range(6, 100):
        tell(engine, ("a-x", target))
    await eventually(lambda: shown(engine) == [("s0-a-x", 99)])
    assert len(engine.told) <= 2 + PAUSE


async def test_a_stream_that_ends_or_fails_is_opened_again(engine: Any) -> None:
    await engine.build(RESTATING)
    engine.taps["a"].restated.put_nowait(None)
    await eventually(lambda: engine.taps["a"].spec_streams == 2)
    engine.taps["a"].restated.put_nowait(ScalerError("no"))
    await eventually(lambda: engine.taps["a"].spec_streams == 3)
    tell(engine, ("a-x", 6))
    await eventually(lambda: shown(engine) == [("s0-a-x", 6)])


async def test_the_last_words_of_a_stream_count(engine: Any) -> None:
    await engine.build(RESTATING)
    tell(engine, ("a-x", 6))
    tell(engine, ("a-x", 7))
    engine.taps["a"].restated.put_nowait(None)
    await eventually(lambda: shown(engine) == [("s0-a-x", 7)])
