"""selenium-grid against a real hub; KEDA's recordings judge what nodes and their sessions mean."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import httpx
import pytest

from keda_py.errors import ScalerError
from keda_py.sdk.registry import AnyScaler
from tests.scalers.conftest import Bench
from tests.scalers.servers.selenium import run_hub

ASK_AGAIN_SECONDS = 0.02
"""Between two looks at a server, which works in real time."""

CHROME = {"browserName": "chrome", "platformName": "linux"}


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with run_hub(tmp_path_factory.mktemp("selenium")) as url:
        yield url


@asynccontextmanager
async def waiting_sessions(hub: str, capabilities: dict[str, str], count: int) -> AsyncIterator[None]:
    """Sessions that are asked for, as long as the block lasts."""
    wanted = {"capabilities": {"alwaysMatch": capabilities, "firstMatch": [{}]}}
    headers = {"Content-Type": "application/json; charset=utf-8"}
    async with httpx.AsyncClient(trust_env=False, timeout=60, headers=headers) as client, asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(client.post(f"{hub}/session", json=wanted)) for _ in range(count)]
        try:
            yield
        finally:
            for task in asked:
                task.cancel()


async def read_until(scaler: AnyScaler, value: float) -> None:
    """Read until the hub has queued what it accepted a moment before."""
    async with asyncio.timeout(20):
        while (await scaler.read()).value != value:
            await asyncio.sleep(ASK_AGAIN_SECONDS)


async def test_sessions_that_wait_for_a_browser_are_counted(bench: Bench, hub: str) -> None:
    chrome = await bench.opened("selenium-grid", {"url": f"{hub}/graphql", **CHROME}, timeout=10)
    edge = await bench.opened("selenium-grid", {"url": f"{hub}/graphql", "browserName": "MicrosoftEdge"}, timeout=10)
    assert (await chrome.read()).value == 0
    async with waiting_sessions(hub, CHROME, 3):
        await read_until(chrome, 3)
        pairs = await bench.opened("selenium-grid", {"url": f"{hub}/graphql", "nodeMaxSessions": "2", **CHROME})
        assert [(await scaler.read()).value for scaler in (pairs, edge)] == [2, 0]


async def test_a_path_that_is_not_the_grids_is_an_error(bench: Bench, hub: str) -> None:
    scaler = await bench.opened("selenium-grid", {"url": f"{hub}/nothing", **CHROME}, timeout=10)
    with pytest.raises(ScalerError, match="status code: 404"):
        await scaler.read()
