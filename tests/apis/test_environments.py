"""The kinds of environments: their CRDs, and what these refuse."""

from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

from keda_py.apis.environments.environment import EnvironmentStatus
from keda_py.apis.kinds.environments import ENVIRONMENT_KINDS, GROUP
from keda_py.apis.kinds.table import KINDS
from keda_py.apis.parsing import parse_object
from keda_py.errors import ConfigError
from keda_py.schema.cel import compile_rule
from tests.definitions import DEFINITIONS

MODELS: dict[str, type[BaseModel]] = {kind.name: kind.model for kind in ENVIRONMENT_KINDS}
CRDS = {crd["spec"]["names"]["kind"]: crd for crd in DEFINITIONS if crd["spec"]["names"]["kind"] in MODELS}
WEEK = {"timeZone": "Europe/Prague", "hours": [{"days": "Mon-Fri", "from": "08:30", "to": "19:30"}]}
HOLIDAYS = [
    {"country": "KR"},
    {"ics": {"configMapKeyRef": {"name": "plant", "key": "holidays.ics"}}},
    {"dates": ["2026-12-24", "2026-12-28/2027-01-03"], "name": "Christmas"},
]
GOOD: list[tuple[str, dict[str, Any]]] = [
    ("Calendar", WEEK | {"holidays": HOLIDAYS, "exceptions": [{"dates": ["2026-11-28"], "hours": [{"from": "09:00", "to": "13:00"}]}]}),
    ("ClusterCalendar", WEEK),
    ("Environment", {"calendarRef": {"name": "office"}}),
    ("Environment", {
        "calendar": WEEK, "selector": {"matchLabels": {"tier": "dev"}}, "asleep": {"triggersWake": True},
        "waves": [{"name": "data", "selector": {"matchLabels": {"wave": "data"}}, "timeout": "5m", "pause": "10s"}],
        "maxParallel": 20, "readyBy": True, "maxLead": "30m", "grace": "15m",
        "kinds": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}],
        "wakeOnRequest": {
            "services": {"names": ["web"]}, "for": "2h", "hold": "2m", "page": "Confirm", "requireWaker": True,
            "ignore": {"paths": ["/healthz"], "userAgents": ["kube-probe/*"], "status": 200},
        },
    }),
    ("Override", {"target": {"kind": "Environment", "name": "dev"}, "state": "Awake", "until": "NextChange"}),
    ("Override", {"target": {"kind": "Deployment", "name": "web"}, "replicas": 3, "for": "3h", "reason": "load test"}),
    ("ScalingSchedule", {
        "names": ["web"], "timeZone": "Asia/Seoul", "otherwise": {"triggers": "Closed", "minReplicas": 0},
        "periods": [{"name": "day", "hours": WEEK["hours"], "replicas": 5}, {"name": "weekend", "calendarRef": {"name": "w"}, "minReplicas": 0, "maxReplicas": 2}],
    }),
]  # fmt: skip
BAD = [
    ("Calendar", {"timeZone": "UTC", "hours": []}, "spec.hours: must not be empty", False),
    ("Calendar", {"hours": WEEK["hours"]}, "spec.timeZone: is required; add it", False),
    ("Calendar", WEEK | {"hours": [{"days": "Mon", "from": 8, "to": "18:00"}]}, "spec.hours[0].from: 8 must be text; put the value in quotes", False),
    ("Environment", {"calendarRef": {"name": "c", "kind": "Almanac"}}, 'spec.calendarRef.kind: "Almanac" is unknown; use "", "Calendar" or "ClusterCalendar"', False),
    ("Environment", {"calendar": WEEK, "maxParallel": 0}, "spec.maxParallel: 0 is too low; use 1 or more", False),
    ("Environment", {"calendar": WEEK, "waves": [{"timeout": "5m"}]}, "spec.waves[0].name: is required; add it", False),
    ("Override", {"state": "Sleeping"}, 'spec.state: "Sleeping" is unknown; use "", "Awake", "Asleep" or "Hold"', False),
    ("Override", {"target": {"kind": "Pod", "name": "web"}, "replicas": 1}, 'spec.target.kind: "Pod" is unknown; use "Environment", "ScaledObject", "Deployment" or "StatefulSet"', False),
    ("Override", {"replicas": -1}, "spec.replicas: -1 is too low; use 0 or more", False),
    ("ScalingSchedule", {"periods": [{"name": "day", "triggers": "Open"}]}, 'spec.periods[0].triggers: "Open" is unknown; use "" or "Closed"', False),
    ("ScalingSchedule", {"periods": []}, "spec.periods: must not be empty", False),
    ("Calendar", WEEK | {"hours": WEEK["hours"] * 51}, "spec.hours: has more than 50 entries; split the object", True),
]  # fmt: skip
RULES = [
    ("Environment", {"calendar": WEEK, "calendarRef": {"name": "c"}}, False),
    ("Environment", {}, False),
    ("Environment", {"calendar": WEEK}, True),
    ("Override", {"state": "Awake", "replicas": 1}, False),
    ("Override", {}, False),
    ("Override", {"state": "Awake", "for": "3h"}, True),
]


def body(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": kind,
        "metadata": {"name": "dev", "namespace": "shop"},
        "spec": spec,
    }


def schema_of(kind: str) -> dict[str, Any]:
    (version,) = CRDS[kind]["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


@pytest.mark.parametrize(("kind", "spec"), GOOD)
def test_what_the_model_reads_the_definition_admits(kind: str, spec: dict[str, Any]) -> None:
    parse_object(MODELS[kind], body(kind, spec))
    jsonschema.Draft202012Validator(schema_of(kind)).validate(body(kind, spec))


@pytest.mark.parametrize(("kind", "spec", "text", "admitted"), BAD)
def test_an_error_names_field_value_and_remedy(kind: str, spec: dict[str, Any], text: str, admitted: bool) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_object(MODELS[kind], body(kind, spec))
    assert str(refused.value) == text
    assert text.startswith(refused.value.field)
    assert jsonschema.Draft202012Validator(schema_of(kind)).is_valid(body(kind, spec)) is admitted


@pytest.mark.parametrize(("kind", "spec", "holds"), RULES)
def test_what_excludes_another_field_is_refused_by_a_rule(kind: str, spec: dict[str, Any], holds: bool) -> None:
    rules = schema_of(kind)["properties"]["spec"]["x-kubernetes-validations"]
    assert all(compile_rule(rule["rule"])({"self": spec}) for rule in rules) is holds


def test_names_scope_and_columns_are_those_that_people_type_and_read() -> None:
    told = {
        kind: (spec["names"]["plural"], spec["scope"], [column["name"] for column in spec["versions"][0]["additionalPrinterColumns"]])
        for kind, spec in ((kind, crd["spec"]) for kind, crd in CRDS.items())
    }  # fmt: skip
    assert told == {
        "Calendar": ("calendars", "Namespaced", ["Open", "Next", "At", "Zone", "Valid", "Age"]),
        "ClusterCalendar": ("clustercalendars", "Cluster", ["Open", "Next", "At", "Zone", "Valid", "Age"]),
        "Environment": ("environments", "Namespaced", ["Phase", "Ready", "Up", "Next", "At", "Override", "Valid", "Contested", "Because", "Age"]),
        "ClusterEnvironment": ("clusterenvironments", "Cluster", ["Covered", "Awake", "Asleep", "Waking", "Contested", "Failed", "FallingAsleep", "Own", "Valid", "Age"]),
        "Override": ("overrides", "Namespaced", ["Target", "State", "Replicas", "Phase", "Until", "By", "Reason", "Age"]),
        "ScalingSchedule": ("scalingschedules", "Namespaced", ["Period", "Next", "At", "Valid", "Age"]),
        "KedaDefaults": ("kedadefaults", "Namespaced", ["Interval", "Cooldown", "Min", "Max", "MaxAtMost", "Valid", "Age"]),
        "ClusterKedaDefaults": ("clusterkedadefaults", "Cluster", ["Interval", "Cooldown", "Min", "Max", "MaxAtMost", "Valid", "Age"]),
    }  # fmt: skip


def test_they_stand_in_the_table_and_no_short_name_is_given_twice() -> None:
    assert set(CRDS) <= {kind.name for kind in KINDS}
    shorts = [name for kind in KINDS for name in kind.short_names]
    assert len(shorts) == len(set(shorts))


def test_a_status_is_read_back_as_it_was_written() -> None:
    written = {
        "phase": "Waking",
        "ready": "7/9",
        "members": {"Deployment/web": {"stage": "Rising", "replicas": 3, "from": 0}},
    }
    status = EnvironmentStatus.model_validate(written)
    assert status.members["Deployment/web"].from_ == 0
    assert status.model_dump(by_alias=True, exclude_defaults=True)["members"]["Deployment/web"]["replicas"] == 3
