"""The page as a browser shows it, who may ask for it, and what its buttons may create."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from keda_py.apis.kinds.crds import crd_of
from keda_py.apis.kinds.environments import ENVIRONMENT_KINDS
from keda_py.clock import FakeClock
from keda_py.dashboard.overriding import override_of
from keda_py.dashboard.server import ENVIRONMENTS, OVERRIDES, Dashboard
from keda_py.dashboard.state import state_of
from keda_py.errors import ConfigError
from keda_py.kube.resources import SCALED_OBJECTS
from tests.builders import cron, deployment, obj, scaled_object
from tests.places import ROOT
from tests.waiting import eventually
from tests.worlds.world import VirtualWorld, open_cluster

FORGED = "<img src=x onerror=alert(1)>"
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WANTED = {"namespace": "default", "kind": "ScaledObject", "name": "app", "state": "Awake", "hours": 3, "reason": "demo"}
STATUS = {
    "conditions": [{"type": "Ready", "status": "True"}, {"type": "Active", "status": "True", "reason": "ScalerActive"}],
    "kedaPy": {"reason": "Active", "since": "2026-11-20T08:00:00Z", "nextChange": "2026-11-20T20:00:00Z"},
    "kedaPyHistory": [
        {"time": "2026-11-19T20:05:00Z", "reason": "Deactivated", "replicas": {"before": 2, "after": 0}},
        {
            "time": "2026-11-20T08:00:00Z",
            "reason": "Activated",
            "replicas": {"before": 0, "after": 1},
            "triggers": [{"metric": "s0-cron", "active": True, "value": 2}],
        },
    ],
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[VirtualWorld]:
    clock = FakeClock(NOW)
    async with open_cluster(tmp_path, clock) as opened:
        await opened.cluster.apply([crd_of(kind) for kind in ENVIRONMENT_KINDS])
        world = VirtualWorld(client=opened.client, cluster=opened.cluster, kubeconfig=opened.kubeconfig, clock=clock)
        late = cron("30 10 * * 1-5", "0 16 * * 1-5", timezone="Asia/Seoul")
        await world.create(deployment(), scaled_object(cron()), scaled_object(late, name="other"))
        await world.client.patch(SCALED_OBJECTS.named("default", "app", "status"), {"status": STATUS})
        forged = {**STATUS, "kedaPyHistory": [{"time": "2026-11-20T07:00:00Z", "reason": FORGED}]}
        await world.client.patch(SCALED_OBJECTS.named("default", "other", "status"), {"status": forged})
        yield world


@pytest.fixture
async def dashboard(world: VirtualWorld) -> AsyncIterator[Dashboard]:
    dashboard = Dashboard(world.client, "", world.clock)
    async with dashboard.running(0):
        yield dashboard


HERE = "http://127.0.0.1:PORT"


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
    method: str, path: str, headers: dict[str, str], code: int, dashboard: Dashboard
) -> None:
    door = dashboard.door
    given = [
        (
            name.encode(),
            text.replace("TOKEN", door.token).replace("PORT", str(door.port)).encode(errors="surrogateescape"),
        )
        for name, text in headers.items()
    ]
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.request(method, f"http://127.0.0.1:{door.port}{path}", headers=given)
    assert answer.status_code == code
    assert "access-control-allow-origin" not in answer.headers
    assert "default-src 'none'" in answer.headers["content-security-policy"]


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
        {"hours": 0},
        {"hours": 73},
        {"hours": True},
        {"hours": "3"},
    ],
)
def test_an_override_needs_a_reason_a_target_and_an_end(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        override_of({**WANTED, **wrong})
    assert override_of(WANTED)["spec"] == {
        "target": {"kind": "ScaledObject", "name": "app"},
        "state": "Awake",
        "for": "3h",
        "reason": "demo",
    }


def test_the_state_has_the_day_before_and_the_windows_of_three_days() -> None:
    live = {**scaled_object(cron()), "kind": "ScaledObject", "status": STATUS}
    (one,) = state_of([live], [], [], NOW)["objects"]
    assert [change["time"] for change in one["changes"]] == ["2026-11-19T20:05:00Z", "2026-11-20T08:00:00Z"]
    assert one["planned"][:2] == [
        {"from": "2026-11-20T12:00:00Z", "to": "2026-11-20T20:00:00Z"},
        {"from": "2026-11-21T08:00:00Z", "to": "2026-11-21T20:00:00Z"},
    ]
    assert one["planned"][-1]["to"] == "2026-11-23T12:00:00Z"
    assert (one["state"], one["replicas"]) == ("awake", 1)


@pytest.mark.parametrize("spec", [None, [], {"triggers": [None, {"type": "cron"}, {"type": "cron", "metadata": []}]}])
def test_what_a_tenant_wrote_of_another_form_is_shown_as_far_as_it_goes(spec: Any) -> None:
    live = {"metadata": {"name": "app", "namespace": "x"}, "spec": spec, "status": {"kedaPyHistory": ["x"]}}
    environment = {"metadata": {"name": "x"}, "status": {"nextChange": "x", "phase": 5}}
    state = state_of([live], [environment], [{"metadata": {"name": "y"}, "spec": None}], NOW)
    assert (state["objects"][0]["planned"], state["environments"][0]["phase"]) == ([], "")


async def test_the_browser_is_told_the_address_by_a_file_and_not_by_its_command_line(
    world: VirtualWorld, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$@" > {seen}.part && mv {seen}.part {seen}\n')
    script.chmod(0o755)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "keda_py", "dashboard", "--kubeconfig", str(world.kubeconfig),
        env={**os.environ, "BROWSER": f"{script} %s"}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(30):
        address = (await process.stdout.readline()).decode().strip()
        await eventually(seen.exists)
        page = Path(seen.read_text().strip().removeprefix("file://"))
        assert address.partition("#")[2] not in seen.read_text()
        assert address in await asyncio.to_thread(read_private, page)
        process.terminate()
        assert await process.wait() == 0
    assert not await asyncio.to_thread(page.exists)


def read_private(page: Path) -> str:
    """What only this user can read."""
    assert page.parent.stat().st_mode & 0o077 == 0
    return page.read_text()


class Browser:
    """Debian's chromium; its calls block."""

    def __init__(self, folder: Path) -> None:
        webdriver = pytest.importorskip("selenium.webdriver", reason="pip install selenium")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}",
            "--hide-scrollbars",
        ):
            options.add_argument(flag)
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)

    def text(self, selector: str) -> str:
        found: str = self.driver.find_element("css selector", selector).text
        return found

    def until(self, selector: str, words: str) -> None:
        from selenium.webdriver.support.wait import WebDriverWait

        WebDriverWait(self.driver, 20, poll_frequency=0.05).until(lambda _: words in self.text(selector))

    def click(self, selector: str) -> None:
        self.driver.find_element("css selector", selector).click()

    def write(self, selector: str, text: str) -> None:
        self.driver.find_element("css selector", selector).send_keys(text)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("chromium is not installed (apt: chromium chromium-driver)")
    browser = Browser(tmp_path / "chromium")
    yield browser
    browser.driver.quit()


async def test_a_browser_shows_it_live_and_its_button_creates_an_override_with_a_reason(
    dashboard: Dashboard, world: VirtualWorld, browser: Browser
) -> None:
    day = obj("keda-py.dev/v1alpha1", "Environment", "office", "default", spec={"calendarRef": {"name": "days"}})
    await world.client.create(ENVIRONMENTS, day)
    status = {
        "phase": "Awake",
        "because": "office hours",
        "ready": "2/2",
        "nextChange": {"to": "Asleep", "at": "2026-11-20T20:00:00Z"},
    }
    await world.client.patch(ENVIRONMENTS.named("default", "office", "status"), {"status": status})
    run, door = asyncio.to_thread, dashboard.door
    await run(browser.driver.set_window_size, 1100, 700)
    await run(browser.driver.get, door.address)
    await run(browser.until, "#objects", "default/app")
    await run(browser.until, "#environments", "default/office")
    assert "2 awake" in await run(browser.text, "#summary")
    await run(browser.click, "button[data-key='ScaledObject/default/app']")
    assert "0 → 1" in await run(browser.text, "#objects table")
    await show_picture(browser)
    await run(browser.click, "button[data-key='ScaledObject/default/other']")
    await run(browser.until, "#objects", FORGED)

    await run(browser.write, "body", "/")
    await run(browser.write, "#filter", "other")
    await run(browser.until, "#summary", "1 objects")
    await run(browser.click, "#objects button[aria-label='Keep awake default/other']")
    await run(browser.click, "#confirm")
    assert world.all(OVERRIDES) == []  # no reason, no Override
    await run(browser.write, "#reason", "demo for a customer\n")
    await run(browser.until, "#ask:not([open]) #ask-title", "")
    (created,) = world.all(OVERRIDES)
    assert created["spec"]["reason"] == "demo for a customer"
    assert created["spec"]["target"] == {"kind": "ScaledObject", "name": "other"}

    broken = {"conditions": [{"type": "Ready", "status": "False", "message": "no such trigger"}]}
    await world.client.patch(SCALED_OBJECTS.named("default", "other", "status"), {"status": broken})
    await run(browser.until, "#objects", "no such trigger")
    await run(browser.driver.set_window_size, 400, 800)
    wide = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert await run(browser.driver.execute_script, wide)
    logs = await run(browser.driver.get_log, "browser")
    assert [one["message"] for one in logs if "favicon" not in one["message"]] == []


async def show_picture(browser: Browser) -> None:
    """The README's picture; KEDA_PY_PICTURES=1 writes it anew."""
    picture = await asyncio.to_thread(browser.driver.get_screenshot_as_png)
    if os.environ.get("KEDA_PY_PICTURES"):
        (ROOT / "dashboard.png").write_bytes(picture)
    assert picture.startswith(b"\x89PNG")
