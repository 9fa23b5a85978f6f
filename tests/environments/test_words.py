"""What an Environment does, in words: what comes next and when, who keeps it as it is, and what an Override will do."""

from datetime import UTC, datetime
from typing import Any

import pytest

from keda_py.apis.environments.environment import Environment
from keda_py.apis.environments.override import Override
from keda_py.apis.parsing import parse_object
from keda_py.core.environment.overrides import OverrideState
from keda_py.environments.forecast import Plan, forecast
from keda_py.environments.overview import line_of_live, overview
from keda_py.environments.words import (
    advice_in_words,
    next_in_words,
    override_asked,
    reasons_of,
    requests_in_words,
    ruled_by,
)
from keda_py.environments.zones import CalendarZones
from tests.builders import override
from tests.environments.builders import EVENING, NOW, PRAGUE, SLEEPS, WAKES, stored

ASLEEP: dict[str, Any] = {"phase": "Asleep", "because": "outside of the hours", "ready": "0/9", "nextChange": WAKES}
KEPT = {"Deployment/web": {"stage": "Kept", "replicas": 2, "by": "kubectl-edit", "since": "2026-11-20T17:00:00Z"}}
WRONG = [
    {"type": "Ready", "status": "False", "reason": "MembersNotReady", "message": "not told twice"},
    {"type": "Contested", "status": "True", "reason": "PutBackTwice", "message": "Deployment/web: argocd"},
]

ZONES = CalendarZones()


@pytest.mark.parametrize(
    ("status", "following", "why"),
    [
        ({}, "sleeps in 1 h 10 min", "hours Mon-Fri 08:30-19:30 (Calendar office)"),
        (ASLEEP, "wakes in 2 d 14 h", "outside of the hours (Calendar office)"),
        (
            {"override": EVENING, "nextChange": None},
            "",
            "kept awake by jana until 22:00 CET (21:00 UTC): release night",
        ),
        (
            ASLEEP | {"members": KEPT},
            "wakes in 2 d 14 h",
            "outside of the hours (Calendar office); 1 kept up by kubectl-edit until the next wake",
        ),
        (
            {"conditions": WRONG},
            "sleeps in 1 h 10 min",
            "PutBackTwice: Deployment/web: argocd; hours Mon-Fri 08:30-19:30 (Calendar office)",
        ),
        ({"nextChange": {**SLEEPS, "at": "2026-11-20T17:00:00Z"}}, "sleeps now", None),
        ({"nextChange": {**SLEEPS, "at": "soon"}}, "", None),
    ],
)
def test_a_line_tells_what_comes_next_and_who_keeps_it_so(status: Any, following: str, why: str | None) -> None:
    environment = stored(**status)
    assert next_in_words(environment.status, PRAGUE) == following
    assert why in (None, "; ".join(reasons_of(environment, PRAGUE)))


def test_hours_that_do_not_fit_are_told_and_those_that_fit_are_not() -> None:
    message = "shop/web: your hours Mon-Fri 08:30-19:30; used Mon-Fri 09:10-18:05 on 97% of the days"
    unfit = stored(advice={"checkedAt": "2026-11-20T17:00:00Z", "fits": "False", "message": message})
    assert list(advice_in_words(unfit)) == [f"its hours do not fit: {message}"]
    assert list(advice_in_words(stored(advice={"fits": "True", "message": message}))) == []
    assert list(advice_in_words(stored())) == []


WOKEN = {
    "name": "request-dev-1",
    "state": "Awake",
    "until": "2026-11-20T21:00:00Z",
    "requestedBy": "system:serviceaccount:keda:keda-operator",
    "request": "web from 10.1.2.3, Mozilla",
}


def test_a_wake_by_a_request_is_told_by_what_asked_for_it() -> None:
    told = "woken by a request to web from 10.1.2.3, Mozilla, until 22:00 CET (21:00 UTC)"
    assert list(reasons_of(stored(override=WOKEN, nextChange=None), PRAGUE)) == [told]


def test_it_is_told_which_services_wake_it_and_which_do_not() -> None:
    status = {
        "services": ["api", "web"],
        "ready": 2,
        "notWoken": [{"service": "db", "reason": "Headless", "because": "there are no pods"}],
        "lastRequest": {"service": "web", "userAgent": "curl/8.5", "at": "2026-11-20T17:00:00Z"},
    }
    assert list(requests_in_words(waking(wakeOnRequest=status), PRAGUE)) == [
        "requests: a request to api or web wakes it for 2 h",
        "requests: db does not wake it: there are no pods",
        "last request: to web from an unknown client, curl/8.5, 18:00 CET (17:00 UTC)",
    ]
    assert list(requests_in_words(stored(), PRAGUE)) == []


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"services": ["web"], "ready": 1}, "a request to web wakes it for 2 h"),
        (
            {"services": ["a", "b", "c", "d", "e"], "ready": 5},
            "a request to a, b, c or 2 more Services wakes it for 2 h",
        ),
        (
            {
                "services": ["web"],
                "notWoken": [{"service": "web", "reason": "NoWaker", "because": "no waker is ready"}],
            },
            "no request wakes it: no waker is ready",
        ),
    ],
)
def test_a_sleeping_one_says_which_request_wakes_it_and_for_how_long(told: dict[str, Any], words: str) -> None:
    asleep = waking(**ASLEEP, wakeOnRequest=told)
    assert list(reasons_of(asleep, PRAGUE)) == ["outside of the hours (Calendar office)", words]
    assert words not in list(reasons_of(waking(wakeOnRequest=told), PRAGUE)), "it is awake"


@pytest.mark.parametrize(("state", "told"), [("Awake", True), ("Asleep", False)])
def test_an_override_by_a_request_is_described_by_the_request(state: str, told: bool) -> None:
    status = {"ends": "2026-11-20T21:00:00Z", "request": "web from 10.1.2.3, Mozilla", "requestedBy": "operator"}
    target, reason = {"kind": "Environment", "name": "dev"}, "request to web from 10.1.2.3, Mozilla"
    live = override("o", "shop", state=state, target=target, reason=reason) | {"status": status}
    words = override_asked(parse_object(Override, live), PRAGUE)
    assert (words == "dev woken by a request to web from 10.1.2.3, Mozilla, until 22:00 CET (21:00 UTC)") is told


def waking(**status: Any) -> Environment:
    """An Environment that requests wake for two hours."""
    spec = {"calendarRef": {"name": "office"}, "wakeOnRequest": {"for": "2h"}}
    live = stored(**status).model_dump(by_alias=True) | {"spec": spec}
    return Environment.model_validate(live)


def test_what_rules_is_told_in_half_a_sentence() -> None:
    told = "asleep by environment dev until Mon 23 Nov 08:30 CET (07:30 UTC) (Calendar office)"
    assert ruled_by(stored(**ASLEEP), PRAGUE) == told
    assert ruled_by(stored(override=EVENING, nextChange=None), PRAGUE).endswith("dev (Override dev-wake-x7k2p)")


def test_one_that_cannot_be_read_is_told_and_hides_no_other() -> None:
    broken = {"metadata": {"name": "bad", "namespace": "shop"}, "spec": {"waves": "many"}}
    fresh = {"metadata": {"name": "new", "namespace": "shop"}, "spec": {"calendarRef": {"name": "office"}}}
    lines = [
        line_of_live(broken, PRAGUE, ZONES),
        line_of_live(fresh, PRAGUE, ZONES),
        line_of_live(stored().model_dump(by_alias=True), PRAGUE, ZONES),
    ]
    assert [(line.phase, line.ready) for line in lines] == [("broken", ""), ("unknown", ""), ("awake", "7/9")]
    assert "spec.waves" in lines[0].why
    assert "the operator has not looked at it" in lines[1].why
    text = overview(lines, 100).plain
    assert [line.split()[0] for line in text.splitlines() if not line.startswith(" ")][2:] == ["bad", "new", "dev"]
    assert lines[2].fields()["nextChange"]["to"] == "Asleep"


AT_22 = datetime(2026, 11, 20, 21, 0, tzinfo=UTC)
MONDAY = datetime(2026, 11, 22, 23, 0, tzinfo=UTC)
UNTIL_22 = "until 22:00 CET (21:00 UTC), for 3 h 40 min from now"
THEN = "then Calendar office rules again"


def plan(state: OverrideState, ends: datetime | None, starts: datetime = NOW) -> Plan:
    return Plan(state=state, target="dev", starts=starts, ends=ends)


@pytest.mark.parametrize(
    ("asked", "status", "told"),
    [
        (
            plan(OverrideState.AWAKE, AT_22),
            {},
            [
                f"dev stays awake {UNTIL_22}",
                "without this Override it sleeps at 19:30 CET (18:30 UTC), in 1 h 10 min",
                THEN,
            ],
        ),
        (
            plan(OverrideState.AWAKE, AT_22),
            ASLEEP | {"lastWake": {"started": "2026-11-20T07:27:00Z", "ready": "2026-11-20T07:30:00Z", "seconds": 200}},
            [f"dev wakes now (the last wake took 3 min 20 s) and stays awake {UNTIL_22}", THEN],
        ),
        (
            plan(OverrideState.AWAKE, None),
            {},
            [
                "dev stays awake until 19:30 CET (18:30 UTC), for 1 h 10 min from now",
                "this changes nothing: its calendar says the same until then",
                THEN,
            ],
        ),
        (
            plan(OverrideState.ASLEEP, MONDAY),
            {},
            [
                "dev goes to sleep now and stays asleep until Mon 23 Nov 00:00 CET (Sun 23:00 UTC), for 2 d 5 h from now",
                "without this Override it sleeps at 19:30 CET (18:30 UTC), in 1 h 10 min",
                THEN,
            ],
        ),
        (
            plan(OverrideState.HOLD, AT_22),
            {"override": EVENING, "nextChange": None},
            [
                f"dev stays as it is, neither up nor down, {UNTIL_22}",
                "before, it was kept awake by jana until 22:00 CET (21:00 UTC): release night; "
                "the newer Override goes before",
                THEN,
            ],
        ),
        (
            plan(OverrideState.ASLEEP, MONDAY, AT_22),
            {},
            [
                "dev is put to sleep from 22:00 CET (21:00 UTC) until Mon 23 Nov 00:00 CET (Sun 23:00 UTC), "
                "for 2 d 5 h from now",
                THEN,
            ],
        ),
    ],
    ids=["keep awake", "wake", "for nothing", "sleep", "over another", "later"],
)
def test_what_an_override_will_do_is_told_beforehand(asked: Plan, status: Any, told: list[str]) -> None:
    assert list(forecast(asked, stored(**status), PRAGUE)) == told


def test_of_an_object_that_is_no_environment_its_end_is_told() -> None:
    asked = Plan(state=OverrideState.HOLD, target="Deployment web", starts=NOW, ends=AT_22)
    assert list(forecast(asked, None, PRAGUE)) == [f"Deployment web stays as it is, neither up nor down, {UNTIL_22}"]


@pytest.mark.parametrize(
    ("deletion", "text"),
    [
        ({"at": "2026-12-04T08:00:00Z"}, "its namespace is deleted Fri 04 Dec 09:00 CET (08:00 UTC) unless it is used"),
        (
            {"at": "2026-12-04T08:00:00Z", "blocked": "pod web-1 has not ended"},
            "its namespace would be deleted Fri 04 Dec 09:00 CET (08:00 UTC), but pod web-1 has not ended",
        ),
        ({"at": "soon"}, ""),
    ],
)
def test_a_deletion_of_the_namespace_is_said_with_what_is_in_its_way(deletion: dict[str, str], text: str) -> None:
    environment = stored(**ASLEEP, deletion=deletion)
    assert text in "; ".join(reasons_of(environment, PRAGUE))
    assert ("namespace" in "; ".join(reasons_of(environment, PRAGUE))) == bool(text)
