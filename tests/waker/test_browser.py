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


COLOURS = """
const rgb = text => text.match(/\\d+/g).slice(0, 3).map(Number);
const seen = one => getComputedStyle(one);
const back = one => one.matches('button') ? seen(one) : seen(document.querySelector('main'));
const texts = [...document.querySelectorAll('h1, p, li b, li i, footer, button')];
return [rgb(seen(document.body).backgroundColor), texts.map(one => [rgb(seen(one).color), rgb(back(one).backgroundColor)])];
"""
"""The page's background, and for each of its texts the colour and that behind it."""


@pytest.mark.parametrize("page", [Page.AUTO, Page.CONFIRM])
async def test_the_page_is_legible_in_light_and_in_dark_and_names_who_keeps_the_environment_up(
    lab: Lab, browser: Browser, page: Page
) -> None:
    run, backs = asyncio.to_thread, list[list[int]]()
    waves = (WavePart(name="db", ready=1, total=1), WavePart(name="rest", ready=2, total=8))
    state = WakeState.WAKING if page is Page.AUTO else WakeState.ASLEEP
    keeps = "Override release by jana (Awake until 2026-11-23T22:00:00Z)"
    [port] = await lab.sleep("web", page=page, state=state, waves=waves, kept_up_by=keeps)
    for scheme in ("light", "dark"):
        await run(browser.pretend, "Europe/Berlin", scheme)
        await run(browser.driver.get, f"http://{LOOPBACK}:{port}/")
        await run(browser.until, "main", f"Kept up by: {keeps}")
        back, texts = await run(browser.ask, COLOURS)
        backs.append(back)
        assert len(texts) == (8 if page is Page.AUTO else 4)
        assert min(_contrast(*colours) for colours in texts) >= 4.5  # what WCAG asks of a text, level AA
    assert _luminance(backs[0]) > 0.8
    assert _luminance(backs[1]) < 0.05


def _contrast(one: list[int], other: list[int]) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: list[int]) -> float:
    parts = [part / 255 for part in colour]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _console(browser: Browser) -> list[Any]:
    return [line for line in browser.driver.get_log("browser") if "503" not in line["message"]]
