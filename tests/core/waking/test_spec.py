"""What users write below `wakeOnRequest`, and what is refused."""

from datetime import timedelta
from typing import Any

import pytest

from keda_py.apis.environments.waking import WakeOnRequest
from keda_py.core.waking.rules import Page
from keda_py.core.waking.spec import WakeSpec, build_wake_spec
from keda_py.errors import ConfigError


def build(**fields: Any) -> WakeSpec:
    return build_wake_spec(WakeOnRequest.model_validate(fields))


def test_an_empty_one_covers_every_service_for_an_hour() -> None:
    spec = build()
    assert spec == WakeSpec()
    assert (spec.stay, spec.hold, spec.page) == (timedelta(hours=1), timedelta(minutes=2), Page.AUTO)
    assert spec.asks_for("web", {})


def test_services_are_chosen_by_name_or_by_labels() -> None:
    named, labelled = build(services={"names": ["web"]}), build(services={"matchLabels": {"wake": "yes"}})
    assert [named.asks_for(name, {}) for name in ("web", "api")] == [True, False]
    assert [labelled.asks_for("api", labels) for labels in ({"wake": "yes"}, {})] == [True, False]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"services": {}}, "spec.wakeOnRequest.services: give names or labels"),
        ({"services": {"names": ["a"], "matchLabels": {"b": "c"}}}, "give names or labels"),
        ({"for": "10s"}, "spec.wakeOnRequest.for: '10s' is too short; write 1m or more"),
        ({"for": "soon"}, "spec.wakeOnRequest.for: 'soon' is not a duration"),
        ({"hold": "11m"}, "spec.wakeOnRequest.hold: '11m' is not between 1s and 10m"),
        ({"ignore": {"paths": ["healthz"]}}, "ignore.paths[0]: 'healthz' is not a path"),
        ({"ignore": {"paths": ["/a?b=c"]}}, "ignore.paths[0]: '/a?b=c' is not a path"),
        ({"ignore": {"status": 404}}, "ignore.status: 404 is not 200 or 503"),
        ({"ignore": {"userAgents": ["x" * 201]}}, "ignore.userAgents[0]: 'xxx"),
    ],
)
def test_what_cannot_work_is_refused_with_field_value_and_remedy(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build(**fields)
    assert told in str(refused.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        build(**{"for": "10s", "hold": "11m"})
    assert [error.field for error in refused.value.each] == ["spec.wakeOnRequest.for", "spec.wakeOnRequest.hold"]
