"""The page as a browser shows it, who may ask for it, and what its buttons may create."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from selenium.webdriver.common.keys import Keys

from keda_py.apis.kinds.crds import crd_of
from keda_py.apis.kinds.environments import ENVIRONMENT_KINDS
from keda_py.clock import FakeClock
from keda_py.dashboard.server import Dashboard, override_of
from keda_py.errors import ConfigError
from keda_py.kube.resources import ENVIRONMENTS, OVERRIDES, SCALED_OBJECTS, Obj, Resource
from tests.browser import Browser, open_browser
from tests.builders import a_namespace
from tests.dashboard import story
from tests.dashboard.story import FORGED, NOW
from tests.places import ROOT
from tests.waiting import eventually
from tests.worlds.world import World, open_world

WANTED = {
    "namespace": "default",
    "kind": "ScaledObject",
    "name": "app",
    "state": "Awake",
    "until": "2026-11-20T15:00:00Z",
    "reason": "demo",
}


@asynccontextmanager
async def open_story(folder: Path) -> AsyncIterator[World]:
    async with open_world(folder, clock=FakeClock(NOW - timedelta(hours=30))) as world:
        await world.apply(*map(crd_of, ENVIRONMENT_KINDS))
        for name in ("dev", "shop", "tools"):
            await world.create(a_namespace(name))
        for body in story.members():
            await world.create(body)
        (environment, office), (override, asleep) = story.others()
        for resource, (body, status) in [
            *((SCALED_OBJECTS, one) for one in story.objects()),
            (ENVIRONMENTS, (environment, office)),
        ]:
            await create(world, resource, body, status)
        await world.seconds(timedelta(hours=30).total_seconds())
        await create(world, OVERRIDES, override, asleep)
        yield world


async def create(world: World, resource: Resource, body: Obj, status: Mapping[str, Any]) -> None:
    await world.client.create(resource, body)
    path = resource.named(body["metadata"]["namespace"], body["metadata"]["name"], "status")
    await world.client.patch(path, {"status": status})


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_story(tmp_path) as world:
        yield world


@pytest.fixture
async def dashboard(world: World) -> AsyncIterator[Dashboard]:
    dashboard = Dashboard(world.client, "", world.clock)
    async with dashboard.running(0):
        yield dashboard


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def read_only(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Dashboard, World]]:
    """For requests that change nothing."""
    async with open_story(tmp_path_factory.mktemp("read-only")) as world:
        dashboard = Dashboard(world.client, "", world.clock)
        async with dashboard.running(0):
            yield dashboard, world


HERE = "http://127.0.0.1:PORT"
PICTURES = ROOT / "examples" / "nightly-environments"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("method", "path", "headers", "code"),
    [
        ("GET", "/", {}, 200),
        ("GET", "/page.js", {}, 200),
        ("GET", "/", {"Host": "evil.example"}, 403),
        ("GET", "/../secret", {}, 404),
        ("GET", "/api/state", {}, 403),
        ("GET", "/api/state", {"X-Keda-Py-Token": "wrong"}, 403),
        ("GET", "/api/state", {"X-Keda-Py-Token": "\udcff"}, 403),
        ("GET", "/api/state", {"X-Keda-Py-Token": "TOKEN"}, 200),
        ("GET", "/api/state", {"X-Keda-Py-Token": "TOKEN", "Host": "evil.example:PORT"}, 403),
        ("GET", "/api/state", {"X-Keda-Py-Token": "TOKEN", "Origin": "http://evil.example"}, 403),
        ("GET", "/api/state", {"X-Keda-Py-Token": "TOKEN", "Origin": HERE}, 200),
        ("POST", "/api/override", {"X-Keda-Py-Token": "TOKEN"}, 403),
        ("POST", "/api/override", {"X-Keda-Py-Token": "TOKEN", "Origin": "null"}, 403),
        ("POST", "/api/override", {"Origin": HERE}, 403),
        ("POST", "/api/override", {"X-Keda-Py-Token": "TOKEN", "Origin": HERE}, 400),
        ("OPTIONS", "/api/override", {"Origin": "http://evil.example"}, 403),
    ],
)
async def test_only_the_page_that_has_the_token_may_ask(
    method: str, path: str, headers: dict[str, str], code: int, read_only: tuple[Dashboard, World]
) -> None:
    dashboard, world = read_only
    door = dashboard.door
    given = [
        (
            name.encode(),
            text.replace("TOKEN", door.token).replace("PORT", str(door.port)).encode(errors="surrogateescape"),
        )
        for name, text in headers.items()
    ]
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        answer = await client.request(method, f"http://127.0.0.1:{door.port}{path}", headers=given)
    assert answer.status_code == code
    assert "access-control-allow-origin" not in answer.headers
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert len(world.all(OVERRIDES)) == 1, "only the story's own"


@pytest.mark.parametrize(
    "wrong",
    [
        {"reason": " "},
        {"reason": "x" * 301},
        {"reason": 5},
        {"state": "Hold"},
        {"kind": "Deployment"},
        {"name": "../secrets"},
        {"namespace": ""},
        {"until": ""},
        {"until": 3},
        {"until": "15:00"},
        {"until": "2026-11-20T15:00:00"},
        {"until": "2026-11-20T12:00:00Z"},
        {"until": "2026-12-21T13:00:00Z"},
    ],
)
def test_an_override_needs_a_reason_a_target_and_an_end(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        override_of({**WANTED, **wrong}, NOW)
    assert override_of(WANTED, NOW)["spec"] == {
        "target": {"kind": "ScaledObject", "name": "app"},
        "state": "Awake",
        "until": "2026-11-20T15:00:00Z",
        "reason": "demo",
    }


async def test_the_browser_is_told_the_address_by_a_file_and_not_by_its_command_line(
    world: World, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$@" > {seen}.part && mv {seen}.part {seen}\n')
    script.chmod(0o755)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "keda_py", "dashboard", "--kubeconfig", str(world.kubeconfig),
        env={**os.environ, "BROWSER": f"{script} %s", "PYTHONFAULTHANDLER": "1"}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(240), showing_where_it_hangs(process):
        address = (await process.stdout.readline()).decode().strip()
        await eventually(seen.exists)
        page = Path(seen.read_text().strip().removeprefix("file://"))
        assert address.partition("#")[2] not in seen.read_text()
        assert address in await asyncio.to_thread(read_private, page)
        process.terminate()
        assert await process.wait() == 0
    assert not await asyncio.to_thread(page.exists)


@asynccontextmanager
async def showing_where_it_hangs(process: asyncio.subprocess.Process) -> AsyncIterator[None]:
    """Let a process that has to be given up print what its threads do."""
    try:
        yield
    except asyncio.CancelledError:
        process.send_signal(signal.SIGABRT)
        raise


def read_private(page: Path) -> str:
    """What only this user can read."""
    assert page.parent.stat().st_mode & 0o077 == 0
    return page.read_text()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with open_browser(tmp_path / "chromium") as found:
        yield found


async def test_a_browser_shows_it_live_and_its_button_creates_an_override_with_a_reason(
    dashboard: Dashboard, world: World, browser: Browser
) -> None:
    run, door = asyncio.to_thread, dashboard.door
    await run(browser.pretend, "Europe/Berlin", "light")
    await run(browser.driver.set_window_size, 1240, 1290)
    await run(browser.driver.get, door.address)
    await run(browser.until, "#objects", "tools/wiki")
    await run(browser.until, "#environments", "dev/office")
    assert "4 awake, 3 asleep, 1 broken" in await run(browser.text, "#summary")
    await run(browser.until, "#objects", "next change in 13 h, Sat")  # of shop/reports, which a preview alone knows
    await run(browser.click, "button[data-key='ScaledObject/shop/checkout']")
    past = await run(browser.text, "#objects .details")
    assert "0 → 1 Activated" in past.replace("\t", " ")
    assert "3 CoolingDown" in past.replace("\t", " "), "what the HPA did is not told as if the operator had"
    await run(browser.click, "button[data-key='Environment/dev/office']")
    await shows_the_environment(browser)
    assert "open: Mon-Fri 07:00-19:00 Europe/Berlin" in await run(browser.text, "#objects .details")
    await keep_picture(browser, "dashboard.png")
    await run(browser.pretend, "Europe/Berlin", "dark")
    await keep_picture(browser, "dashboard-dark.png")
    paper = "return getComputedStyle(document.body).backgroundColor"
    assert await run(browser.driver.execute_script, paper) == "rgb(15, 19, 25)"
    await run(browser.click, "button[data-key='ScaledObject/tools/build-farm']")
    await run(browser.until, "#objects", FORGED)

    await keep_awake_by_keys(world, browser)
    broken = {"conditions": [{"type": "Ready", "status": "False", "message": "no such trigger"}]}
    await world.client.patch(SCALED_OBJECTS.named("tools", "build-farm", "status"), {"status": broken})
    await run(browser.until, "#objects", "no such trigger")
    await run(browser.press, "/", *[Keys.BACKSPACE] * 4)
    await run(browser.until, "#summary", "8 objects")
    await run(browser.driver.set_window_size, 400, 800)
    wide = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert await run(browser.driver.execute_script, wide)
    await run(browser.pretend, "America/New_York", "light")
    await run(browser.driver.refresh)
    await run(browser.until, "#environments", "Fri 19:00 (13:00 GMT-5)")  # the calendar's zone, then the reader's
    assert "clock of Europe/Berlin" in await run(browser.text, "#summary")
    await run(browser.click, "button[aria-label='Keep awake dev/office']")
    assert (
        await run(browser.driver.execute_script, "return document.querySelector('#until').value") == "2026-11-20T16:00"
    )
    assert await run(browser.text, "#until-here") == "Fri 16:00 (10:00 GMT-5), in 3 h"
    logs = await run(browser.driver.get_log, "browser")
    assert [one["message"] for one in logs] == []


async def shows_the_environment(browser: Browser) -> None:
    """What is wrong with it, its members, and the part of its past that is on record."""
    run = asyncio.to_thread
    assert "PutBackTwice: Deployment/mail: argocd-controller" in await run(browser.text, "#environments .wrong")
    members = await run(browser.text, "#environments .details")
    for told in ("ScaledObject/api", "Deployment/mail", "contested", "CronJob/report"):
        assert told in members
    count = "return document.querySelectorAll('#environments rect.unknown').length"
    assert await run(browser.driver.execute_script, count) == 1


async def keep_awake_by_keys(world: World, browser: Browser) -> None:
    """Find the build farm and create its Override, by the keyboard alone."""
    run = asyncio.to_thread
    await run(browser.press, "/")
    await run(browser.press, *"farm")
    await run(browser.until, "#summary", "1 objects")
    await run(browser.press, Keys.TAB, Keys.TAB)
    assert await run(browser.focused) == "Keep awake tools/build-farm"
    await run(browser.press, Keys.ENTER)
    await run(browser.press, Keys.ENTER)
    assert len(world.all(OVERRIDES)) == 1  # no reason, no Override
    await run(browser.press, *"demo for a customer", Keys.ENTER)
    await run(browser.until, "#overrides", "demo for a customer")
    created = next(one for one in world.all(OVERRIDES) if one["metadata"]["namespace"] == "tools")
    assert created["spec"]["until"] == "2026-11-20T15:00:00Z", "in three hours, to the quarter"
    assert created["spec"]["reason"] == "demo for a customer"
    assert created["spec"]["target"] == {"kind": "ScaledObject", "name": "build-farm"}


async def keep_picture(browser: Browser, name: str) -> None:
    """The README's pictures; KEDA_PY_PICTURES=1 writes them anew."""
    picture = await asyncio.to_thread(browser.driver.get_screenshot_as_png)
    if os.environ.get("KEDA_PY_PICTURES"):
        (PICTURES / name).write_bytes(picture)
    assert picture.startswith(b"\x89PNG")
    assert (PICTURES / name).exists()
