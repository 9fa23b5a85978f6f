"""What must wake nothing, however often it comes, and the connections beside it that must wake all the same."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from keda_py.core.waking.rules import Ignored, Page, WakeState
from tests.servers import LOOPBACK, free_port
from tests.waiting import eventually
from tests.waker.lab import Lab, open_lab, rules

AGENTS = ("kube-probe/*", "ELB-HealthChecker/*", "GoogleHC/*")
PROBE = {"User-Agent": "kube-probe/1.36"}


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with open_lab(tmp_path) as found:
        yield found


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        yield client


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    writer.close()


async def test_a_probe_that_comes_in_the_moment_in_which_the_last_pod_goes_wakes_nothing(
    lab: Lab, http: httpx.AsyncClient
) -> None:
    """Load balancers ask each second or so: one of them always meets a pod that is listed and does not accept."""
    [port] = await lab.sleep(ignored=Ignored(user_agents=AGENTS))
    url = f"http://{LOOPBACK}:{port}/"
    async with await asyncio.start_server(_serve, LOOPBACK, 0) as pod:
        await lab.pods("web", {"": [pod.sockets[0].getsockname()[1]]})

        async def is_passed_on() -> bool:
            return (await http.get(url, headers=PROBE)).text == "ok"

        await eventually(is_passed_on)
    assert (await http.get(url, headers=PROBE)).text == "asleep\n"
    assert lab.calls == []
    asking = asyncio.get_running_loop().create_task(http.get(url))
    await eventually(lambda: lab.calls)
    assert lab.calls[0]["userAgent"].startswith("python-httpx/")
    asking.cancel()


async def test_with_confirm_a_crawler_that_comes_in_the_moment_in_which_the_last_pod_goes_wakes_nothing(
    lab: Lab, http: httpx.AsyncClient
) -> None:
    [port] = await lab.sleep(page=Page.CONFIRM, state=WakeState.FORWARDING)
    await lab.pods("web", {"": [free_port()]})
    asking = asyncio.get_running_loop().create_task(http.get(f"http://{LOOPBACK}:{port}/"))
    await eventually(lambda: lab.metric("keda_py_waker_held"))
    await lab.put(rules("web", ("", port), page=Page.CONFIRM))
    await lab.pods("web", {})
    answer = await asking
    assert (answer.status_code, lab.calls) == (503, [])
    assert "presses the button" in answer.json()["error"]


async def test_a_request_that_waits_for_a_pod_wakes_once_the_last_pod_has_gone(
    lab: Lab, http: httpx.AsyncClient
) -> None:
    """The slice of an earlier wake still said that wakers only forward when it came."""
    [port] = await lab.sleep(state=WakeState.FORWARDING)
    await lab.pods("web", {"": [free_port()]})
    asking = asyncio.get_running_loop().create_task(http.get(f"http://{LOOPBACK}:{port}/"))
    await eventually(lambda: lab.metric("keda_py_waker_held"))
    await lab.pods("web", {})
    await lab.put(rules("web", ("", port)))
    await eventually(lambda: lab.calls)
    asking.cancel()
