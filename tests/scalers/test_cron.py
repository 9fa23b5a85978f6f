"""`cron` on a clock that a test moves."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import A_SATURDAY, EngineContext, FakeClock, check_scaler, shared_context
from scalers.cron import CronScaler
from tests.scalers.conftest import Bench

SEOUL = {"timezone": "Asia/Seoul", "start": "30 08 * * *", "end": "30 19 * * *", "desiredReplicas": "10"}


async def test_a_window_is_open_from_its_start_until_just_before_its_end() -> None:
    clock = FakeClock(A_SATURDAY)  # 14:56 in Seoul
    async with shared_context(clock=clock) as lent:
        scaler = await Bench(lent).opened("cron", SEOUL)
        inside = await scaler.read()
        assert (inside.value, inside.active) == (10.0, True)
        assert inside.changes_at == datetime(2026, 11, 21, 10, 30, tzinfo=UTC)
        await clock.advance(inside.changes_at - clock.now() - timedelta(microseconds=1))
        assert (await scaler.read()).active
        await clock.advance(timedelta(microseconds=1))
        outside = await scaler.read()
        assert (outside.value, outside.active) == (0.0, False)
        assert outside.changes_at == datetime(2026, 11, 21, 23, 30, tzinfo=UTC)
        await clock.advance(outside.changes_at - clock.now())
        assert (await scaler.read()).active


async def test_metric_and_target(bench: Bench) -> None:
    scaler = bench.scaler("cron", SEOUL)
    (spec,) = await scaler.specs()
    assert (spec.name, spec.target) == ("cron-Asia/Seoul-3008xxx-3019xxx", 1)
    odd = bench.scaler("cron", {**SEOUL, "start": "*/5 0 ? * 1,3", "end": "0 1 * * mon-fri"})
    assert odd.metric_name == "cron-Asia/Seoul-xSl50Qmx1Cm3-01xxmon-fri"


async def test_a_zone_that_does_not_exist_is_an_error_of_the_poll(bench: Bench) -> None:
    scaler = await bench.opened("cron", {**SEOUL, "timezone": "Mars/Olympus"})
    assert scaler.metric_name == "cron-Mars/Olympus-3008xxx-3019xxx"
    with pytest.raises(ScalerError, match="unable to load timezone: unknown time zone Mars/Olympus"):
        await scaler.read()


async def test_the_error_of_a_mistyped_zone_says_once_what_was_meant(bench: Bench) -> None:
    scaler = await bench.opened("cron", {**SEOUL, "timezone": "KST"})
    with pytest.raises(ScalerError) as failure:
        await scaler.read()
    assert str(failure.value) == "unable to load timezone: unknown time zone KST; did you mean Asia/Seoul?"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": "61 25 * * *"}, "error parsing start schedule: "),
        ({"end": "@daily"}, "error parsing end schedule: "),
        ({"end": "30 08 * * *"}, "start and end can not have exactly same time input"),
        ({"desiredReplicas": "0"}, 'desiredReplicas: "0" is no count'),
        ({"desiredReplicas": "two"}, 'desiredReplicas: "two" is not a whole number'),
        ({"desiredReplicas": ""}, 'missing required parameter "desiredReplicas" in [triggerMetadata]'),
        ({"timezone": ""}, 'missing required parameter "timezone" in [triggerMetadata]'),
    ],
)
async def test_metadata_that_is_refused(bench: Bench, changes: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        bench.scaler("cron", {**SEOUL, **changes})
    assert str(refused.value).startswith(f"error parsing cron metadata: {message}")


async def test_the_contract_is_kept(bench: Bench) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(CronScaler, Trigger(type="cron", metadata=SEOUL), context)
