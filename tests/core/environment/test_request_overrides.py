"""The Override that follows from a request."""

from datetime import timedelta
from typing import Any

import pytest

from keda_py.apis.environments.override import Override
from keda_py.core.environment.overrides import OverrideSpec, read_override
from keda_py.core.environment.request_overrides import LongerOverride, NewOverride, override_for
from keda_py.core.values.times import write_time
from keda_py.core.waking.requests import WakeRequest
from tests.core.environment.builders import NIGHT, override

REQUEST = WakeRequest(namespace="shop", service="web", client="10.1.2.3", user_agent="Mozilla/5.0")
HOUR = timedelta(hours=1)
DEV = {
    "apiVersion": "keda-py.dev/v1alpha1",
    "kind": "Environment",
    "metadata": {"namespace": "shop", "name": "dev", "uid": "1"},
}


def asked(rules: OverrideSpec | None = None, later: timedelta = timedelta(0)) -> NewOverride | LongerOverride | None:
    return override_for(REQUEST, DEV, HOUR, rules, NIGHT + later)


def first(status: dict[str, str] | None = None, **spec: Any) -> OverrideSpec:
    """The Override of a first request, as the API server has it; `spec` is what a person has edited."""
    found = asked()
    assert isinstance(found, NewOverride)
    meta = found.body["metadata"] | {"creationTimestamp": write_time(NIGHT)}
    body = {**found.body, "metadata": meta, "spec": found.body["spec"] | spec}
    told = {"request": REQUEST.title} if status is None else status
    return read_override(Override.model_validate({**body, "status": told}), None)


def test_a_request_keeps_it_awake_for_as_long_as_the_environment_says() -> None:
    rules = first()
    assert (rules.target.kind, rules.target.name, rules.state, rules.ends) == (
        "Environment",
        "dev",
        "Awake",
        NIGHT + HOUR,
    )
    assert rules.because == "woken by a request to web from 10.1.2.3, Mozilla, until 2026-11-24T00:00:00Z"


def test_a_later_request_makes_the_stay_longer_but_not_each_of_many() -> None:
    assert asked(first(), timedelta(minutes=5)) is None
    later = asked(first(), timedelta(minutes=6))
    assert isinstance(later, LongerOverride)
    assert (later.name, later.until) == (first().name, NIGHT + HOUR + timedelta(minutes=6))


def test_a_persons_override_awake_is_enough() -> None:
    assert asked(override("o", write_time(NIGHT), state="Awake")) is None


def test_it_rules_over_an_older_override_that_puts_it_to_sleep_or_holds_it() -> None:
    for state in ("Asleep", "Hold"):
        assert isinstance(asked(override("o", write_time(NIGHT), state=state)), NewOverride)


def test_an_annotation_does_not_make_an_override_one_of_a_request() -> None:
    """Whoever may create an Override may annotate it; its status only the operator writes."""
    forged = {
        "metadata": {
            "name": "o",
            "creationTimestamp": write_time(NIGHT),
            "annotations": {"keda-py.dev/request": "web from 10.9.9.9"},
        },
        "spec": {"target": {"kind": "Environment", "name": "dev"}, "state": "Awake", "reason": "mine"},
    }
    assert read_override(Override.model_validate(forged), None).because == "Override o (Awake): mine"


@pytest.mark.parametrize("spec", [{"state": "Asleep"}, {"target": {"kind": "Deployment", "name": "web"}}])
def test_an_edit_that_makes_something_else_of_it_takes_the_words_away(spec: dict[str, Any]) -> None:
    assert first(**spec).because.startswith("Override request-dev-")
