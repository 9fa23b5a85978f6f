"""charts/scaled-app, rendered by Helm itself."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.validation.report import validate_texts
from tests.charts.rendering import SCALED_APP, helm, text

NIGHTLY = """
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: some-application-develop-scaledobject
  namespace: some-application
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: some-application-develop
  cooldownPeriod: 300
  minReplicaCount: 0
  maxReplicaCount: 10
  triggers:
    - type: cron
      metadata:
        timezone: Asia/Seoul
        start: "30 08 * * *"
        end: "30 19 * * *"
        desiredReplicas: "1"
    - type: memory
      metricType: Utilization
      metadata:
        value: "90"
"""


PARENT = """
apiVersion: v2
name: shop
version: 1.0.0
dependencies: [{name: scaled-app, version: 0.1.0}]
"""


def render(**values: Any) -> str:
    return text(SCALED_APP, values)


def test_the_default_is_the_nightly_manifest_line_by_line() -> None:
    assert render() == NIGHTLY.strip()


def test_production_gets_no_scaled_object() -> None:
    assert render(env="production") == ""


def test_working_days_end_up_in_both_cron_fields() -> None:
    cron = yaml.safe_load(render(schedule={"weekdays": "1-5"}))["spec"]["triggers"][0]["metadata"]
    assert (cron["start"], cron["end"]) == ("30 08 * * 1-5", "30 19 * * 1-5")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replicas": 2}, "additional properties 'replicas' not allowed"),
        ({"schedule": {"strt": "30 08"}}, "'/schedule': additional properties 'strt' not allowed"),
        ({"schedule": {"weekdays": 1}}, "'/schedule/weekdays': got number, want string"),
        ({"schedule": {"end": None}}, "missing property 'end'"),
        ({"maxReplicaCount": "10"}, "'/maxReplicaCount': got string, want integer"),
        ({"env": "prod"}, "'/env': value must be one of"),
        ({"schedule": {"start": "30 19"}}, "schedule.start and schedule.end: .* two different times"),
        ({"schedule": {"start": "30 8", "end": "30 08"}}, "schedule.start and schedule.end: .* two different times"),
        ({"schedule": {"start": "61 08"}}, 'schedule.start: "61 08" is not a time of day'),
        ({"schedule": {"end": "30 19 * * *"}}, 'schedule.end: "30 19 [*] [*] [*]" is not a time of day'),
        ({"schedule": {"weekdays": "1-7"}}, 'schedule.weekdays: "1-7" is no day'),
        ({"schedule": {"weekdays": "1,5-1"}}, 'schedule.weekdays: "5-1" begins after its end'),
        ({"schedule": {"start": "00 20", "end": "00 06", "weekdays": "1-5"}}, "schedule.weekdays: .* over midnight"),
        ({"schedule": {"desiredReplicas": 11}}, "schedule.desiredReplicas: 11 is above maxReplicaCount 10"),
        ({"minReplicaCount": 11}, "minReplicaCount: 11 is above maxReplicaCount 10"),
        ({"schedule": {"enabled": False}}, "minReplicaCount: 0 needs a trigger that can wake"),
        ({"schedule": {"enabled": False}, "memory": {"enabled": False}}, "extraTriggers: there is no trigger"),
    ],
)
def test_values_that_cannot_work_fail_when_the_chart_is_rendered(values: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        render(**values)


@pytest.mark.parametrize("weekdays", ["1-5", "MON-FRI", "mon,wed,5-6", "0", "*"])
def test_working_days_may_be_numbers_names_and_ranges(weekdays: str) -> None:
    assert f'"30 08 * * {weekdays}"' in render(schedule={"weekdays": weekdays})


def test_a_window_over_midnight_is_rendered_for_every_day() -> None:
    assert 'end: "00 06 * * *"' in render(schedule={"start": "00 20", "end": "00 06"})


async def test_a_time_zone_that_does_not_exist_is_refused_when_the_render_is_validated() -> None:
    report = await validate_texts({"render": render(schedule={"timezone": "Asia/Soul"})})
    (error,) = [problem for problem in report.problems if problem.severity == "error"]
    assert "timezone: 'Asia/Soul' is not a known time zone" in error.message


@pytest.mark.parametrize(("env", "scaled"), [("develop", True), ("production", False)])
def test_the_notes_say_what_is_scaled_and_who_sets_replicas(env: str, scaled: bool) -> None:
    with helm.Chart.load(str(SCALED_APP)) as chart:
        notes = chart.render({"env": env}, name="app", namespace="app")["scaled-app/templates/NOTES.txt"]
    assert ("Leave `replicas:` out" in notes, "keeps the replicas" in notes) == (scaled, not scaled)


def test_the_strict_lint_is_clean() -> None:
    report = helm.lint(str(SCALED_APP), strict=True)
    assert report["errors"] == []


def environment(name: str) -> str:
    values: dict[str, Any] = yaml.safe_load((SCALED_APP / f"values-{name}.yaml").read_text())
    return render(**values)


def test_every_environment_has_a_schedule_of_its_own_and_production_none() -> None:
    assert environment("develop") == NIGHTLY.strip()
    release = yaml.safe_load(environment("release"))
    assert release["metadata"]["name"] == "some-application-release-scaledobject"
    assert release["spec"]["triggers"][0]["metadata"]["start"] == "00 08 * * 1-5"
    assert environment("production") == ""


def test_a_chart_that_depends_on_it_includes_it_once(tmp_path: Path) -> None:
    shutil.copytree(SCALED_APP, tmp_path / "charts/scaled-app")
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text(PARENT)
    line = '{{ include "scaled-app.scaledObject" (dict "Values" (index .Values "scaled-app")) }}'
    (tmp_path / "templates/scaled.yaml").write_text(line)
    objects = list(
        filter(None, yaml.safe_load_all(text(tmp_path, {"scaled-app": {"name": "till", "standalone": False}})))
    )
    assert [one["metadata"]["name"] for one in objects] == ["till-develop-scaledobject"]
