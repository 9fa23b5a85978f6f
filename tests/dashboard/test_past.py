"""What the page paints of the day before now: only what is on record."""

from typing import Any

import pytest

from keda_py.dashboard.forecast import Forecasts
from keda_py.dashboard.state import state_of
from keda_py.kube.resources import Obj
from tests.builders import cron_job, deployment, environment
from tests.dashboard.story import NOW, at, so

OLD = "2026-11-01T00:00:00Z"


def live_environment(status: Any = None) -> Obj:
    live = environment(namespace="shop")
    live["metadata"]["creationTimestamp"] = OLD
    return live | {"status": status or {}}


def past_of(changes: list[dict[str, Any]], created: str = OLD) -> dict[str, Any]:
    live = so("app", "shop") | {"status": {"kedaPyHistory": changes}}
    live["metadata"]["creationTimestamp"] = created
    (shown,) = state_of([live], [], [], Forecasts(), NOW)["objects"]
    return dict(shown["past"])


def change(time: str, before: int, after: int, reason: str = "Activated") -> dict[str, Any]:
    return {"time": time, "reason": reason, "replicas": {"before": before, "after": after}}


def test_the_time_before_the_first_change_on_record_is_not_known() -> None:
    found = past_of([change(at(20, 19), 2, 0, "Deactivated"), change(at(8), 0, 1)])
    assert found == {"up": [{"from": at(8), "to": at(12)}], "unknown": {"from": at(12, 19), "to": at(20, 19)}}


def test_a_change_of_the_day_before_yesterday_makes_the_whole_day_known() -> None:
    found = past_of([change(at(6, 19), 0, 1), change(at(20, 19), 1, 0, "Deactivated")])
    assert found == {"up": [{"from": at(12, 19), "to": at(20, 19)}], "unknown": None}


def test_without_a_record_nothing_is_known_since_it_was_created() -> None:
    assert past_of([]) == {"up": [], "unknown": {"from": at(12, 19), "to": at(12)}}
    assert past_of([], created=at(9)) == {"up": [], "unknown": {"from": at(9), "to": at(12)}}


def test_runs_of_a_scaled_job_tell_nothing_of_what_was_up() -> None:
    runs = {"time": at(9), "reason": "Active", "jobs": {"running": 1, "created": 1}}
    assert past_of([runs])["unknown"] == {"from": at(12, 19), "to": at(12)}


@pytest.mark.parametrize(
    ("status", "up", "unknown"),
    [
        ({"phase": "Awake", "phaseSince": at(8)}, [{"from": at(8), "to": at(12)}], {"from": at(12, 19), "to": at(8)}),
        ({"phase": "Asleep", "phaseSince": at(8)}, [], {"from": at(12, 19), "to": at(8)}),
        ({"phase": "Awake", "phaseSince": OLD}, [{"from": at(12, 19), "to": at(12)}], None),
        ({}, [], {"from": at(12, 19), "to": at(12)}),
        ({"phase": "Awake", "phaseSince": "soon"}, [], {"from": at(12, 19), "to": at(12)}),
    ],
)
def test_of_an_environment_the_time_since_its_last_phase_is_known(status: Any, up: Any, unknown: Any) -> None:
    live = live_environment(status)
    (shown,) = state_of([], [live], [], Forecasts(), NOW)["environments"]
    assert shown["past"] == {"up": up, "unknown": unknown}


def test_what_is_wrong_with_an_environment_and_its_members_are_shown() -> None:
    conditions = [
        {"type": "Valid", "status": "False", "reason": "CalendarInvalid", "message": "there is no Calendar 'ofice'"},
        {"type": "Contested", "status": "False", "reason": "NotContested", "message": ""},
        {"type": "Conflict", "status": "True", "reason": "OwnedByAnother", "message": "Deployment/web: another has it"},
    ]
    live = live_environment({"phase": "Awake", "conditions": conditions})
    report = cron_job()
    report["metadata"]["namespace"] = "shop"
    elsewhere = deployment("other", 1, namespace="dev")
    workloads = [deployment("web", 2, namespace="shop"), report, elsewhere]
    (shown,) = state_of([], [live], [], Forecasts(), NOW, workloads)["environments"]
    assert shown["wrong"] == [
        "CalendarInvalid: there is no Calendar 'ofice'",
        "OwnedByAnother: Deployment/web: another has it",
    ]
    assert [(one["member"], one["state"], one["replicas"]) for one in shown["members"]] == [
        ("CronJob/report", "runs", ""),
        ("Deployment/web", "not ready", "0/2"),
    ]


def test_very_many_members_are_counted_and_the_first_are_shown() -> None:
    workloads = [deployment(f"w{number:03}", 1, namespace="shop") for number in range(150)]
    (shown,) = state_of([], [live_environment()], [], Forecasts(), NOW, workloads)["environments"]
    assert (len(shown["members"]), shown["moreMembers"]) == (100, 50)


@pytest.mark.parametrize("spec", [None, 5, {"calendar": 5}, {"waves": "x"}])
def test_an_environment_of_another_form_is_shown_as_one_that_cannot_be_read(spec: Any) -> None:
    live = live_environment() | {"spec": spec}
    (shown,) = state_of([], [live], [], Forecasts(), NOW)["environments"]
    assert shown["wrong"] == ["its spec cannot be read; keda-py validate says why"]
