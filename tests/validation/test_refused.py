"""What `keda-py validate` tells of an object beside the fields that the schema refuses."""

import json
from pathlib import Path

import pytest

from keda_py.cli import main

ENVIRONMENT = """\
apiVersion: keda-py.dev/v1alpha1
kind: Environment
metadata: {name: develop, namespace: shop}
spec:
  maxParallel: many
  grace: soon
  maxLead: 15
  waves: [{selector: {}, timeout: later, pause: never}, {name: core, selector: {}, timeout: 5}]
  kinds: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: apps/v1, kind: StatefulSet}]
  calendar:
    timeZone: Mars/Base
    hours: [{days: Mon-Foo, from: 8, to: "25:30"}, {days: Bar, from: "09:00", to: "10:00"}]
    holidays: [{name: none}, {ics: {configMapKeyRef: {name: a, key: b}, secretKeyRef: {name: a, key: b}}}]
"""
OVERRIDE = """\
apiVersion: keda-py.dev/v1alpha1
kind: Override
metadata: {name: tonight, namespace: shop}
spec: {state: Awake, replicas: 20000, from: soon, for: a while, target: {kind: Environment, name: develop}}
"""
SCHEDULE = """\
apiVersion: keda-py.dev/v1alpha1
kind: ScalingSchedule
metadata: {name: nights, namespace: shop}
spec:
  timeZone: Mars/Base
  selector: {matchExpressions: [{key: a, operator: Near}]}
  periods:
  - {name: otherwise, hours: [{days: Foo, from: "08:00", to: "09:00"}], minReplicas: 3, maxReplicas: 2}
  - {name: day, replicas: 2, triggers: Closed}
  otherwise: {minReplicas: 5, maxReplicas: 1}
"""
CRON = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web}
spec:
  minReplicaCount: 5
  maxReplicaCount: 2
  pollingInterval: often
  scaleTargetRef: {name: web}
  triggers:
  - type: cron
    metadata: {timezone: UTC, start: 0 99 * * *, end: 0 20 * * * *, desiredReplicas: "0"}
"""


def _fields(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    (folder / "all.yaml").write_text(text)
    assert main(["validate", "-o", "json", str(folder)]) == 1
    return {one["field"] for one in json.loads(capsys.readouterr().out)["problems"] if one["severity"] == "error"}


def test_an_environment_tells_its_other_mistakes_beside_those_of_the_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong types and a missing name hid all of the durations, kinds, dates and the CEL rule."""
    assert _fields(ENVIRONMENT, tmp_path, capsys) == {
        *("spec.maxParallel", "spec.maxLead", "spec.waves[0].name", "spec.waves[1].timeout"),
        *("spec.grace", "spec.waves[0].timeout", "spec.waves[0].pause", "spec.kinds[0].kind", "spec.kinds[1].kind"),
        *("spec.calendar.timeZone", "spec.calendar.hours[0].days", "spec.calendar.hours[0].from"),
        *("spec.calendar.hours[0].to", "spec.calendar.hours[1].days"),
        *("spec.calendar.holidays[0]", "spec.calendar.holidays[1].ics"),
    }


def test_an_override_tells_its_mistakes_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = _fields(OVERRIDE, tmp_path, capsys)
    assert found == {"spec", "spec.from", "spec.for"}


def test_a_schedule_tells_its_mistakes_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _fields(SCHEDULE, tmp_path, capsys) == {
        *("spec.timeZone", "spec.selector", "spec.otherwise.minReplicas", "spec.periods[0].name"),
        *("spec.periods[0].hours[0].days", "spec.periods[0].minReplicas"),
        *("spec.periods[1]", "spec.periods[1].replicas"),
    }


def test_a_scaler_tells_its_own_mistakes_together_and_cel_rules_come_with_wrong_types(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trigger = "spec.triggers[0].metadata"
    assert _fields(CRON, tmp_path, capsys) == {
        *("spec", "spec.pollingInterval"),
        *(f"{trigger}.start", f"{trigger}.end", f"{trigger}.desiredReplicas"),
    }


@pytest.mark.parametrize(
    ("written", "refused"),
    [
        ("{calendarRef: 5}", {"spec.calendarRef"}),
        ("{calendar: night}", {"spec.calendar"}),
        ("{calendar: {timeZone: UTC, hours: [monday]}}", {"spec.calendar.hours[0]"}),
        ("{calendarRef: {name: office}, selector: {matchLabels: {app.example/name: 5}}}", None),
        ("[]", {"spec"}),
    ],
)
def test_what_is_refused_makes_no_mistake_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str, refused: set[str] | None
) -> None:
    """A calendar that is no map is there: nothing says that one is missing."""
    text = (
        f"apiVersion: keda-py.dev/v1alpha1\nkind: Environment\nmetadata: {{name: a, namespace: b}}\nspec: {written}\n"
    )
    found = _fields(text, tmp_path, capsys)
    assert found == (refused or {"spec.selector.matchLabels.app.example/name"})


@pytest.mark.parametrize("trigger", ["{type: cron, metadata: {a: 5}}", "{type: 5}", "{metadata: []}", "text", "{}"])
def test_a_trigger_that_is_none_beside_a_refused_field_is_told_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], trigger: str
) -> None:
    text = CRON.replace("minReplicaCount: 5", "minReplicaCount: many").replace(
        "  triggers:", f"  triggers:\n  - {trigger}"
    )
    assert "spec.minReplicaCount" in _fields(text, tmp_path, capsys)
