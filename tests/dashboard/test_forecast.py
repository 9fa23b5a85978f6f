"""What the page shows of the days to come: previews, made anew only where something changed."""

from datetime import timedelta
from typing import Any

import pytest

from keda_py.dashboard.forecast import LASTS, Forecasts, Manifests
from keda_py.dashboard.state import LONGEST_PROBLEM, MOST_PROBLEMS, state_of
from keda_py.kube.resources import Obj
from tests.builders import cron, metrics_api, obj
from tests.dashboard.story import DAY, GROUP, NOW, at, so


def foreseen(*bodies: Obj) -> Forecasts:
    return Forecasts().renewed(by_namespace(*bodies), NOW)


def by_namespace(*bodies: Obj) -> Manifests:
    return {"shop": [kept(body) for body in bodies], "dev": [kept(so("api", "dev", cron()))], "": []}


def kept(body: Obj) -> Obj:
    return {**body, "metadata": {**body["metadata"], "creationTimestamp": "2026-11-01T00:00:00Z"}}


def shown(*bodies: Obj) -> dict[str, Any]:
    first = {**bodies[0], "status": {"kedaPyHistory": DAY}}
    (one,) = state_of([first], [], [], foreseen(*bodies), NOW)["objects"]
    return dict(one)


def test_what_is_planned_ends_when_the_cooldown_is_over() -> None:
    one = shown(so("app", "shop", cron(), cooldownPeriod=600, minReplicaCount=0))
    assert one["planned"][1] == {"from": at(20 + 5 / 60), "to": at(20 + 1 / 6), "replicas": 1}  # the HPA, then we
    assert one["planned"][2]["from"] == at(8, 21)
    assert one["planned"][-1]["to"] == at(12, 23)


def test_the_day_before_is_what_was_recorded() -> None:
    one = shown(so("app", "shop", cron()))
    assert [change["time"] for change in one["changes"]] == [at(20.1, 19), at(8)]
    assert (one["replicas"], one["windows"]) == (1, ["daily 08:00-20:00 UTC, 84 h a week"])


def test_an_override_and_an_environment_are_in_what_is_planned() -> None:
    body = so("app", "shop", cron())
    target = {"kind": "ScaledObject", "name": "app"}
    asleep = obj(GROUP, "Override", "x", "shop", spec={"target": target, "state": "Asleep", "for": "3h", "reason": "y"})
    asleep["metadata"]["creationTimestamp"] = at(11)
    hours = [{"days": "Mon-Fri", "from": "08:00", "to": "13:00"}]
    calendar = {"timeZone": "UTC", "hours": hours}
    office = obj(GROUP, "Environment", "office", "shop", spec={"calendar": calendar, "grace": "0s"})
    found = Forecasts().renewed({"shop": [kept(body), asleep]}, NOW).find(("ScaledObject", "shop", "app"))
    assert found is not None
    assert [(f"{step.at:%d %H:%M}", step.replicas) for step in found.timeline.moves][:1] == [("20 14:00", 2)]
    one = shown(body, office)
    assert one["planned"][0]["to"].startswith("2026-11-20T13:0")
    assert "with environment office: outside of the hours" in one["upcoming"][0]["because"]


def test_a_queue_is_told_as_not_known() -> None:
    one = shown(so("app", "shop", metrics_api("http://jobs/")))
    assert (one["foreseen"], one["planned"], one["assumes"]) == (True, [], ["metrics-api"])


def test_only_what_changed_is_made_anew() -> None:
    app = so("app", "shop", cron())
    first = foreseen(app)
    busy = {**app, "status": {"kedaPy": {"reason": "Active"}}}
    assert first.renewed(by_namespace(busy), NOW + timedelta(minutes=59)) is first
    changed = first.renewed(by_namespace(so("app", "shop", cron("0 9 * * *"))), NOW)
    assert changed is not first
    api, later = ("ScaledObject", "dev", "api"), NOW + LASTS
    assert changed.find(api) is first.find(api)
    assert changed.renewed(by_namespace(app), later).find(api) is not first.find(api)
    assert first.renewed({"dev": []}, NOW).find(api) is None


@pytest.mark.parametrize(
    "spec", [None, [], {"triggers": [None, {"type": "cron"}, {"type": "cron", "metadata": []}]}, {"scaleTargetRef": 5}]
)
def test_what_a_tenant_wrote_of_another_form_is_shown_as_far_as_it_goes(spec: Any) -> None:
    live = {"kind": "ScaledObject", "metadata": {"name": "app", "namespace": "shop"}, "spec": spec}
    environment = {
        "kind": "Environment",
        "metadata": {"name": "x", "namespace": "shop"},
        "status": {"nextChange": "x", "phase": 5},
    }
    override = {"kind": "Override", "metadata": {"name": "y", "namespace": "shop"}, "spec": None}
    forecasts = Forecasts().renewed({"shop": [live, environment, override]}, NOW)
    state = state_of([{**live, "status": {"kedaPyHistory": ["x"]}}], [environment], [override], forecasts, NOW)
    assert (state["objects"][0]["planned"], state["environments"][0]["phase"]) == ([], "")
    assert state["unforeseen"] == list(forecasts.problems)
    assert state["unforeseen"]


def test_of_very_much_that_cannot_be_foreseen_the_first_is_told() -> None:
    crowd = [so(f"app-{number}", "shop", {"type": "cron", "metadata": {"start": "x" * 5000}}) for number in range(20)]
    told = state_of(crowd, [], [], foreseen(*crowd), NOW)["unforeseen"]
    assert (len(told), max(map(len, told)) <= LONGEST_PROBLEM) == (MOST_PROBLEMS, True)
