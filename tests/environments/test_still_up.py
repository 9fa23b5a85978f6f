"""An Environment that is to be asleep while members are up, as `keda-py env` tells it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from keda_py.clock import FakeClock
from keda_py.core.environment.overrides import OverrideState
from keda_py.environments.forecast import Plan, forecast
from keda_py.environments.overview import line_of, overview
from keda_py.environments.show import look_at_one
from keda_py.environments.words import phase_of, reasons_of, up_in_words
from keda_py.kube.resources import ENVIRONMENTS
from keda_py.terminal.times import Times
from tests.builders import deployment, environment
from tests.environments.builders import NOW, PRAGUE, WAKES, stored
from tests.worlds.world import World, open_world

YOUNG = {
    "member": "Deployment/new",
    "reason": "Young",
    "because": "grace 15 min",
    "since": "2026-11-20T17:19:20Z",
    "until": "2026-11-20T17:34:20Z",
}
EVENING = {
    "member": "Deployment/api",
    "reason": "Override",
    "because": "Override evening by jana (Awake until 2026-11-20T21:00:00Z): load test",
    "until": "2026-11-20T21:00:00Z",
}
FALLING: dict[str, Any] = {
    "phase": "FallingAsleep",
    "because": "outside of the hours",
    "ready": "2/9",
    "up": "2/9",
    "membersUp": 2,
    "membersTotal": 9,
    "nextChange": WAKES,
    "stillUp": [YOUNG, EVENING],
}
UNTIL = "left alone until 18:34:20 CET (17:34:20 UTC): grace 15 min"


def test_it_is_not_said_to_be_asleep_and_its_line_says_what_is_up_and_why() -> None:
    environment = stored(**FALLING)
    line = line_of(environment, PRAGUE)
    assert (line.phase, line.ready, line.up) == ("asleep, 2 still up", "2/9", "2/9")
    assert line.why == (
        f"outside of the hours (Calendar office); Deployment/new is up: created 40 s ago, {UNTIL}, and 1 more"
    )
    head, _, row = overview([line], 120).plain.splitlines()[:3]
    assert [head.split()[:4], row.split()[0]] == [["Name", "Phase", "Ready", "Up"], "dev"]
    assert (line.fields()["membersUp"], len(line.fields()["stillUp"])) == (2, 2)


def test_while_its_waves_fall_asleep_it_says_so() -> None:
    waves = {"to": "Asleep", "started": "2026-11-20T17:20:00Z", "wave": 1, "waveStarted": "2026-11-20T17:20:00Z"}
    assert phase_of(stored(**FALLING, transition=waves).status) == "falling asleep"


def test_an_override_that_keeps_a_member_up_is_told_with_the_users_clock() -> None:
    (up,) = [one for one in stored(**FALLING).status.still_up if one.reason == "Override"]
    assert up_in_words(up, PRAGUE) == ("Override evening by jana (Awake until 22:00 CET (21:00 UTC)): load test")


def test_what_a_person_keeps_up_is_told_once() -> None:
    kept = {"Deployment/web": {"stage": "Kept", "replicas": 2, "by": "kubectl", "since": "2026-11-20T17:00:00Z"}}
    up = {"member": "Deployment/web", "reason": "KeptUp", "because": "kubectl scaled it up"}
    environment = stored(**FALLING | {"stillUp": [up], "members": kept, "membersUp": 1})
    assert list(reasons_of(environment, PRAGUE)) == [
        "outside of the hours (Calendar office)",
        "1 kept up by kubectl until the next wake",
    ]


def test_an_override_that_puts_it_to_sleep_changes_something_while_members_are_up() -> None:
    asked = Plan(state=OverrideState.ASLEEP, target="dev", starts=NOW, ends=None)
    told = list(forecast(asked, stored(**FALLING), PRAGUE))
    assert told[0].startswith("dev goes to sleep now and stays asleep")
    assert not any("changes nothing" in one for one in told)


@pytest.fixture
async def quiet(tmp_path: Path) -> AsyncIterator[World]:
    """No operator runs."""
    async with open_world(tmp_path, clock=FakeClock(NOW)) as quiet:
        yield quiet


async def test_the_page_tells_of_each_member_why_it_is_up(quiet: World) -> None:
    members = {"Deployment/woken": {"stage": "Down", "replicas": 3, "since": "2026-11-20T17:00:00Z"}}
    woken = {"member": "Deployment/woken", "reason": "Asleep", "because": "its last pods are ending"}
    await quiet.create(deployment("new", 1), deployment("api", 2), deployment("woken", 3), environment())
    status = FALLING | {"members": members, "stillUp": [YOUNG, EVENING, woken], "phaseSince": "2026-11-20T17:00:00Z"}
    await quiet.client.patch(ENVIRONMENTS.named("default", "dev", "status"), {"status": status})
    text, body = await look_at_one(
        quiet.client, "default", "dev", Times(now=NOW, reader=ZoneInfo("Europe/Prague")), 200
    )
    assert text.plain.startswith("default/dev: asleep, 2 still up, 2/9 ready, 2/9 up")
    until = "left alone until 17:34:20 UTC (18:34:20 CET): grace 15 min"  # its Calendar's zone, and the reader's
    assert f"up: created 40 s ago, {until}" in text.plain
    told = {one["member"]: (one["state"], one["why"]) for one in body["members"]}
    assert told == {
        "Deployment/new": (
            "not ready", "up: created 40 s ago, left alone until 17:34:20 UTC: grace 15 min",
        ),
        "Deployment/api": ("not ready", "up: Override evening by jana (Awake until 21:00 UTC): load test"),
        "Deployment/woken": ("up", "up: its last pods are ending"),
    }  # fmt: skip
