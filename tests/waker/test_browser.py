"""The page in a real browser, which arrives at the application without a script and without a click."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from keda_py.core.waking.rules import Page, WakeState, WavePart
from tests.browser import Browser, open_browser
from tests.http_server import HttpServer, http_server
from tests.servers import LOOPBACK
from tests.waiting import eventually
from tests.waker.lab import Lab, open_lab, rules


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with open_lab(tmp_path) as found:
        yield found


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with open_browser(tmp_path / "chromium") as found:
        yield found


@pytest.fixture
async def shop() -> AsyncIterator[HttpServer]:
    async def show(request: web.Request) -> web.Response:
        text = f"<title>shop</title><h1>Order {request.query['id']}</h1>"
        return web.Response(text=text, content_type="text/html")

    async with http_server() as server:
        server.answers["/orders"] = show
        yield server


async def test_the_page_shows_progress_and_then_the_application_at_the_same_url(
    lab: Lab, shop: HttpServer, browser: Browser
) -> None:
    run = asyncio.to_thread
    [port] = await lab.sleep()
    await run(browser.driver.get, f"http://{LOOPBACK}:{port}/orders?id=7")
    await run(browser.until, "h1", "night is waking up")
    await eventually(lambda: lab.calls)
    assert lab.calls[0]["userAgent"].startswith("Mozilla/5.0")
    waves = (WavePart(name="db", ready=1, total=1), WavePart(name="rest", ready=2, total=8))
    at = datetime.now(UTC) + timedelta(minutes=5)  # noqa: TID251  # the waker's clock is the machine's
    await lab.put(rules("web", ("", port), state=WakeState.WAKING, waves=waves, ready_at=at))
    await run(browser.until, "main", "Ready: 3/9. About 5 min left.")
    await run(browser.until, "ol", "rest")
    assert await run(_console, browser) == []  # nothing is refused by the page's own policy
    await lab.pods("web", {"": [shop.port]})
    await run(browser.until, "h1", "Order 7")
    assert await run(lambda: browser.driver.current_url) == f"http://{LOOPBACK}:{port}/orders?id=7"


async def test_the_button_wakes_and_leads_back_to_the_url_that_was_opened(
    lab: Lab, shop: HttpServer, browser: Browser
) -> None:
    run = asyncio.to_thread
    [port] = await lab.sleep("web", page=Page.CONFIRM)
    await run(browser.pretend, "Europe/Berlin", "dark")
    await run(browser.driver.get, f"http://{LOOPBACK}:{port}/orders?id=8")
    await run(browser.until, "h1", "night is asleep")
    assert lab.calls == []
    await run(browser.click, "button")
    await run(browser.until, "h1", "night is waking up")
    await lab.pods("web", {"": [shop.port]})
    await run(browser.until, "h1", "Order 8")


def _console(browser: Browser) -> list[Any]:
    return [line for line in browser.driver.get_log("browser") if "503" not in line["message"]]
