"""charts/scaled-app, rendered by Helm itself."""

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.apis.environments.calendar import CalendarSpec
from keda_py.apis.environments.environment import Environment
from keda_py.clock import SystemClock
from keda_py.core.cron.windows import CronWindow, is_open, next_change, parse_window
from keda_py.core.cron.words import window_in_words
from keda_py.core.cron.zones import load_zone
from keda_py.core.environment.calendar.reading import read_calendar
from keda_py.core.environment.spec import build_environment
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


AT = "2026-01-01T00:00:00Z"
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
        ({"env": "Prod_1"}, "'/env': 'Prod_1' does not match pattern"),
        (
            {"annotations": {"autoscaling.keda.sh/paused": True}},
            "autoscaling.keda.sh~1paused': got boolean, want string",
        ),
        ({"pollingInterval": 0}, "'/pollingInterval': minimum: got 0, want 1"),
        ({"advanced": {"restore": True}}, "'/advanced': additional properties 'restore' not allowed"),
        ({"fallback": {"failureThreshold": 3}}, "'/fallback': .* 'replicas'"),
        (
            {"schedule": {"enabled": False}, "minReplicaCount": 1, "fallback": {"failureThreshold": 3, "replicas": 2}},
            "fallback: is for triggers that can fail",
        ),
        ({"schedule": {"start": "30 19"}}, "schedule.start and schedule.end: .* two different times"),
        ({"schedule": {"start": "30 8", "end": "30 08"}}, "schedule.start and schedule.end: .* two different times"),
        ({"schedule": {"start": "61 08"}}, 'schedule.start: "61 08" is not a time of day'),
        ({"schedule": {"end": "30 19 * * *"}}, 'schedule.end: "30 19 [*] [*] [*]" is not a time of day'),
        ({"schedule": {"weekdays": "1-7"}}, 'schedule.weekdays: "1-7" is no day'),
        ({"schedule": {"weekdays": "1,5-1"}}, 'schedule.weekdays: "5-1" begins after its end'),
        ({"schedule": {"start": "00 20", "end": "00 06", "weekdays": "1-5"}}, "schedule.weekdays: .* over midnight"),
        ({"schedule": {"desiredReplicas": 11}}, "schedule.desiredReplicas: 11 is above maxReplicaCount 10"),
        ({"minReplicaCount": 11}, "minReplicaCount: 11 is above maxReplicaCount 10"),
        ({"environment": {"hours": []}}, "'/environment/hours': minItems"),
        (
            {"environment": {"hours": [{"from": "8:30", "to": "19:30"}]}},
            "'/environment/hours/0/from': '8:30' does not match",
        ),
        ({"environment": {"country": "Korea"}}, "'/environment/country': 'Korea' does not match"),
        ({"environment": {"subdivision": "BY"}}, 'environment.subdivision: "BY" needs environment.country'),
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


def notes(**values: Any) -> str:
    """What `helm install` prints."""
    with helm().Chart.load(str(SCALED_APP)) as chart:
        return chart.render(values, name="app", namespace="app")["scaled-app/templates/NOTES.txt"]


@pytest.mark.parametrize(("env", "scaled"), [("develop", True), ("production", False)])
def test_the_notes_say_what_is_scaled_and_who_sets_replicas(env: str, scaled: bool) -> None:
    said = notes(env=env)
    assert ("Leave `replicas:` out" in said, "keeps the replicas" in said) == (scaled, not scaled)


def test_the_strict_lint_is_clean() -> None:
    report = helm().lint(str(SCALED_APP), strict=True)
    assert report["errors"] == []


async def test_an_environment_of_any_name_takes_what_a_scaled_object_takes() -> None:
    rendered = render(
        env="eu-1",
        scaledEnvironments=["eu-1"],
        annotations={"autoscaling.keda.sh/paused": "true"},
        pollingInterval=10,
        advanced={"restoreToOriginalReplicaCount": True},
        fallback={"failureThreshold": 3, "replicas": 2, "behavior": "static"},
    )
    body = yaml.safe_load(rendered)
    assert body["metadata"]["name"] == "some-application-eu-1-scaledobject"
    assert body["metadata"]["annotations"] == {"autoscaling.keda.sh/paused": "true"}
    assert body["spec"]["pollingInterval"] == 10
    assert body["spec"]["advanced"] == {"restoreToOriginalReplicaCount": True}
    assert body["spec"]["fallback"] == {"failureThreshold": 3, "replicas": 2, "behavior": "static"}
    report = await validate_texts({"render": rendered})
    assert [problem.code for problem in report.problems] == ["target-elsewhere"]  # a warning: it is rendered alone


def test_an_environment_that_is_not_listed_is_said_not_to_be_scaled() -> None:
    said = notes(env="devlop")
    assert "Nothing is scaled in environment devlop" in said
    assert "Environments that are scaled: develop, release (scaledEnvironments)." in said


WINDOWS = {
    "every day": ("30 08", "30 19", "*"),
    "working days": ("30 8", "30 19", "1-5"),
    "names": ("00 08", "15 20", "mon,wed,FRI-sat"),
    "weekend": ("0 0", "59 23", "0,6"),
    "said twice": ("0 9", "0 17", "1-3,2-4,MON"),
    "Sunday to Saturday": ("05 01", "06 1", "SUN-SAT"),
    "over midnight": ("00 20", "00 06", "*"),
    "until midnight": ("30 12", "0 0", "*"),
    "Sunday": ("0 10", "0 11", "0"),
}


def checked_window(start: str, end: str, weekdays: str, timezone: str) -> CronWindow:
    return parse_window(f"{start} * * {weekdays}", f"{end} * * {weekdays}", timezone)


@pytest.mark.parametrize(("start", "end", "weekdays"), WINDOWS.values(), ids=WINDOWS)
def test_the_notes_tell_the_window_in_the_words_of_validate(start: str, end: str, weekdays: str) -> None:
    said = notes(schedule={"start": start, "end": end, "weekdays": weekdays})
    words = window_in_words(checked_window(start, end, weekdays, "Asia/Seoul"))
    assert f"\nWindow: {words}, with at least 1.\n" in said


def next_in_words(window: CronWindow, now: datetime) -> str:
    change = next_change(window, now)
    assert change is not None
    does = "open now, and closes" if is_open(window, now) else "closed now, and opens"
    return f"The window is {does} {change.astimezone(load_zone(window.timezone)):%a %H:%M}."


@pytest.mark.parametrize("timezone", ["UTC", "Asia/Seoul"])
@pytest.mark.parametrize(("start", "end", "weekdays"), WINDOWS.values(), ids=WINDOWS)
def test_the_notes_tell_what_comes_next(start: str, end: str, weekdays: str, timezone: str) -> None:
    window = checked_window(start, end, weekdays, timezone)
    before = SystemClock().now()
    said = notes(schedule={"start": start, "end": end, "weekdays": weekdays, "timezone": timezone})
    either = {next_in_words(window, now) for now in (before, SystemClock().now())}
    known = timezone == "UTC" or Path("/usr/share/zoneinfo", timezone).exists()  # Helm reads the machine's database
    assert any(sentence in said for sentence in either) == known


def test_what_comes_next_is_not_told_where_helm_does_not_know_the_zone() -> None:
    said = notes(schedule={"timezone": "Asia/Soul"})
    assert "Window: daily 08:30-19:30 Asia/Soul" in said
    assert "The window is" not in said


def test_the_three_lines_of_the_readme_make_a_scaled_object(tmp_path: Path) -> None:
    page = (SCALED_APP / "README.md").read_text().partition("## By itself")[0]
    dependency, values, template = (block.partition("```")[0] for block in page.split("```yaml\n")[1:])
    assert [text.count("\n") for text in (dependency, values, template)] == [1, 1, 1]
    shutil.copytree(SCALED_APP, tmp_path / "scaled-app")
    (tmp_path / "shop/templates").mkdir(parents=True)
    (tmp_path / "shop/Chart.yaml").write_text(f"apiVersion: v2\nname: shop\nversion: 1.0.0\n{dependency}")
    (tmp_path / "shop/values.yaml").write_text(values)
    (tmp_path / "shop/templates/scaled-object.yaml").write_text(template)
    helm().dependency_update(str(tmp_path / "shop"))
    (body,) = filter(None, yaml.safe_load_all(text(tmp_path / "shop", {})))
    assert body["metadata"] == {"name": "shop-develop-scaledobject", "namespace": "shop"}


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


def sleeping(**more: Any) -> list[Any]:
    """ScaledObject, Calendar and Environment, by kind."""
    values = {"schedule": {"enabled": False}, "minReplicaCount": 1, "environment": {"enabled": True, **more}}
    found = sorted(filter(None, yaml.safe_load_all(render(**values))), key=lambda one: one["kind"])
    assert [one["kind"] for one in found] == ["Calendar", "Environment", "ScaledObject"]
    return found


async def test_a_namespace_sleeps_by_values_of_its_own() -> None:
    waves = [{"name": "data", "selector": {"matchLabels": {"wave": "data"}}}]
    calendar, environment, scaled_object = sleeping(
        country="DE", subdivision="BY", timezone="Europe/Berlin", waves=waves, readyBy=True
    )
    assert calendar["spec"] == {
        "timeZone": "Europe/Berlin",
        "hours": [{"days": "Mon-Fri", "from": "08:30", "to": "19:30"}],
        "holidays": [{"country": "DE", "subdivision": "BY"}],
    }
    assert environment["metadata"] == {"name": "develop", "namespace": "some-application"}
    assert "cooldownPeriod" not in scaled_object["spec"], "it would mean nothing above zero"
    assert environment["spec"] == {"calendarRef": {"name": "develop"}, "waves": waves, "readyBy": True}
    assert read_calendar(CalendarSpec.model_validate(calendar["spec"]), [{}]).zone.key == "Europe/Berlin"
    parsed = Environment.model_validate(
        {**environment, "metadata": {**environment["metadata"], "creationTimestamp": AT}}
    )
    assert [wave.name for wave in build_environment(parsed).waves] == ["data"]


def test_every_key_of_an_environment_is_written_as_its_kind_has_it() -> None:
    days = [{"dates": ["2026-12-24"], "name": "Christmas Eve"}]
    late = [{"dates": ["2026-12-31"], "closed": True, "reason": "New Year's Eve"}]
    named = {"matchLabels": {"team": "shop"}}
    calendar, environment, _ = sleeping(
        name="team", hours=[{"from": "22:00", "to": "06:00"}], holidays=days, exceptions=late, selector=named
    )
    assert calendar["metadata"]["name"] == environment["metadata"]["name"] == "team"
    assert calendar["spec"]["timeZone"] == "Asia/Seoul"
    assert calendar["spec"]["hours"] == [{"days": "Mon-Sun", "from": "22:00", "to": "06:00"}]
    assert (calendar["spec"]["holidays"], calendar["spec"]["exceptions"]) == (days, late)
    assert environment["spec"]["selector"] == named


def test_production_gets_no_environment_and_the_notes_tell_of_that_of_others() -> None:
    values: dict[str, Any] = {"environment": {"enabled": True}}
    assert render(env="production", **values) == ""
    said = notes(**values)
    assert (
        "Environment develop: everything in the namespace sleeps outside of\n  Mon-Fri 08:30-19:30 Asia/Seoul\n" in said
    )
