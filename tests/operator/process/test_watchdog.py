"""Who blocks the event loop is named."""

import asyncio
import importlib.util
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from keda_py.operator.process.loops import loop_factory
from keda_py.operator.process.watchdog import REST_SECONDS, Watchdog
from keda_py.telemetry.page import MetricsPage
from keda_py.telemetry.prometheus import OperatorMetrics
from tests.waiting import eventually

STALL_SECONDS = 0.5
"""More than the watchdog lets pass: blocking for so long is reported, waiting for so long is not."""

LONG_SECONDS = 2.0
"""Enough for eight looks at a loop that has two beats of its own meanwhile."""

PLUGIN = """
import time

async def read(seconds):
    time.sleep(seconds)
"""


@pytest.fixture
def read(tmp_path: Path) -> Callable[[float], object]:
    """A third party's way to read a source: it blocks."""
    path = tmp_path / "acme_scaler.py"
    path.write_text(PLUGIN)
    spec = importlib.util.spec_from_file_location("acme_scaler", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.read  # type: ignore[no-any-return]


@asynccontextmanager
async def watched() -> AsyncIterator[OperatorMetrics]:
    """A watchdog at work, whose heart has begun to beat."""
    metrics = OperatorMetrics()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(Watchdog(metrics.process, {"acme_scaler": "acme"}).run())
        await eventually(lambda: beats(metrics))
        yield metrics
        running.cancel()


async def page(metrics: OperatorMetrics) -> dict[str, float]:
    lines = (await MetricsPage(metrics).render()).decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if line.startswith("keda_py_event_loop"))
    return {name: float(value) for name, _, value in pairs}


async def beats(metrics: OperatorMetrics) -> float:
    return (await page(metrics))["keda_py_event_loop_lag_seconds_count"]


async def next_beat(metrics: OperatorMetrics) -> None:
    before = await beats(metrics)

    async def another() -> bool:
        return await beats(metrics) != before

    await eventually(another)


async def test_a_plug_in_that_blocks_the_loop_is_reported_by_its_trigger_type(
    read: Callable[[float], object], caplog: pytest.LogCaptureFixture
) -> None:
    async with watched() as metrics:
        for _ in range(2):
            await read(0.5)  # type: ignore[misc]
            await next_beat(metrics)
        assert (await page(metrics))['keda_py_event_loop_stalls_total{culprit="scaler acme"}'] == 2
    told = [record for record in caplog.records if record.message == "the event loop was blocked"]
    assert [(one.levelno, one.culprit) for one in told] == [(logging.WARNING, "scaler acme")]
    assert told[0].seconds > 0.3


async def test_the_count_of_stalls_begins_at_0_so_that_the_first_one_is_an_increase() -> None:
    async with watched() as metrics:
        assert (await page(metrics))['keda_py_event_loop_stalls_total{culprit="elsewhere"}'] == 0


async def test_whoever_else_blocks_it_is_reported_as_such() -> None:
    async with watched() as metrics:
        time.sleep(STALL_SECONDS)  # noqa: ASYNC251 - blocking is what is shown
        await next_beat(metrics)
        assert (await page(metrics))['keda_py_event_loop_stalls_total{culprit="elsewhere"}'] == 1


async def test_a_plug_in_that_only_waits_is_not_reported(read: Callable[[float], object]) -> None:
    async with watched() as metrics:
        await read(0)  # type: ignore[misc]
        await asyncio.sleep(STALL_SECONDS)
        assert not [name for name in await page(metrics) if "scaler acme" in name]


def on_a_loop_in_c(scenario: Callable[[], Coroutine[None, None, None]]) -> None:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(scenario())


def test_on_a_loop_in_c_who_blocks_it_is_named_too(read: Callable[[float], object]) -> None:
    async def scenario() -> None:
        async with watched() as metrics:
            await asyncio.sleep(REST_SECONDS)  # the thread finds it at rest before
            await read(STALL_SECONDS)  # type: ignore[misc]
            await next_beat(metrics)
            assert (await page(metrics))['keda_py_event_loop_stalls_total{culprit="scaler acme"}'] == 1

    on_a_loop_in_c(scenario)


def test_a_loop_in_c_that_has_nothing_to_do_is_left_alone() -> None:
    async def scenario() -> None:
        async with watched() as metrics:
            before = await beats(metrics)
            await asyncio.sleep(LONG_SECONDS)
            assert await beats(metrics) - before < LONG_SECONDS / REST_SECONDS

    on_a_loop_in_c(scenario)
