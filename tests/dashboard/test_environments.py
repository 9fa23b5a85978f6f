"""Environments as the page shows them."""

from typing import Any

import pytest

from keda_py.dashboard.forecast import Forecasts
from keda_py.dashboard.state import policies_of, state_of
from tests.builders import GROUP, environment, obj, override
from tests.dashboard.story import NOW

MESSAGE = (
    "1 still up: Deployment/new: created at 2026-11-20T17:19:20Z, left alone until 2026-11-20T17:34:20Z: grace 15 min"
)


@pytest.mark.parametrize(
    ("transition", "because"), [({}, f"outside of the hours; {MESSAGE}"), ({"to": "Asleep"}, "outside of the hours")]
)
def test_one_that_is_to_be_asleep_says_what_is_up_when_its_waves_are_over(transition: Any, because: str) -> None:
    asleep = {"type": "Asleep", "status": "False", "reason": "MembersStillUp", "message": MESSAGE}
    status = {"phase": "FallingAsleep", "because": "outside of the hours", "ready": "1/2", "up": "1/2"}
    live = environment(namespace="shop") | {"status": status | {"conditions": [asleep], "transition": transition}}
    (shown,) = state_of([], [live], [], Forecasts(), NOW)["environments"]
    assert (shown["phase"], shown["up"], shown["because"]) == ("FallingAsleep", "1/2", because)


def test_a_sleeping_one_says_which_request_wakes_it() -> None:
    status = {"phase": "Asleep", "because": "outside of the hours", "wakeOnRequest": {"services": ["web"], "ready": 1}}
    live = environment(namespace="shop", wakeOnRequest={"for": "2h"}) | {"status": status}
    live["metadata"]["creationTimestamp"] = "2026-11-01T00:00:00Z"
    (shown,) = state_of([], [live], [], Forecasts(), NOW)["environments"]
    assert shown["requests"] == "a request to web wakes it for 2 h"


@pytest.mark.parametrize(
    ("status", "written", "reason"),
    [
        ({"request": "web from 10.1.2.3, Mozilla"}, "request to web from 10.1.2.3, Mozilla", True),
        ({"request": "web from 10.1.2.3, Mozilla"}, "mine", False),
        ({}, "request to web from 10.1.2.3, Mozilla", False),
    ],
)
def test_an_override_by_a_request_says_so_and_a_tenants_words_do_not(
    status: dict[str, str], written: str, reason: bool
) -> None:
    live = override("o", "shop", state="Awake", target={"kind": "Environment", "name": "dev"}, reason=written)
    live["metadata"]["annotations"] = {"keda-py.dev/request": "web from 10.1.2.3, Mozilla"}
    live |= {"status": status | {"requestedBy": "system:serviceaccount:keda:keda-operator"}}
    (shown,) = state_of([], [], [live], Forecasts(), NOW)["overrides"]
    assert shown["reason"] == ("woken by a request to web from 10.1.2.3, Mozilla" if reason else written)


def test_a_policy_has_its_sums_and_what_each_of_its_namespaces_does() -> None:
    live = cluster_environment("office") | {
        "status": {
            "namespaces": {"covered": 3, "asleep": 1, "waking": 1, "contested": 1},
            "needsPerson": [{"namespace": "blog", "reason": "Contested", "message": "argo puts web back"}],
            "conditions": [{"type": "Healthy", "status": "False"}],
        }
    }
    environments = [
        of_policy("shop", "Asleep", "outside of the hours"),
        of_policy("blog", "Asleep", "outside of the hours"),
        environment(namespace="own"),
    ]
    (shown,) = policies_of([live], environments)
    assert (shown["counts"]["covered"], shown["counts"]["asleep"], shown["counts"]["failed"]) == (3, 1, 0)
    assert [tuple(one.values()) for one in shown["namespaces"]] == [
        ("shop", "Asleep", "outside of the hours"),
        ("blog", "Asleep", "argo puts web back"),
    ]


def test_a_policy_that_was_not_looked_at_has_no_sums() -> None:
    (shown,) = policies_of([cluster_environment("office")], [])
    assert shown["counts"]["covered"] is None


def cluster_environment(name: str) -> dict[str, Any]:
    return obj(GROUP, "ClusterEnvironment", name, spec={})


def of_policy(namespace: str, phase: str, because: str) -> dict[str, Any]:
    live = environment("office", namespace) | {"status": {"phase": phase, "because": because}}
    live["metadata"]["labels"] = {"keda-py.dev/cluster-environment": "office"}
    return live
