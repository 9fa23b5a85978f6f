"""`keda-py advise --diff`: whether the hours that are written still fit, on the same weeks."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.cli import main
from tests.advice.traces import written
from tests.core.advice.habits import Habit

UTC = ("--timezone", "UTC")


def environment(begins: str, ends: str, **spec: Any) -> dict[str, Any]:
    hours = [{"days": "Mon-Fri", "from": begins, "to": ends}]
    return {
        "apiVersion": "keda-py.dev/v1alpha1",
        "kind": "Environment",
        "metadata": {"name": "develop", "namespace": "shop"},
        "spec": {"calendar": {"timeZone": "UTC", "hours": hours}, **spec},
    }


def compared(
    folder: Path, capsys: pytest.CaptureFixture[str], *bodies: dict[str, Any], habit: Habit | None = None
) -> tuple[int, str]:
    """The exit code, and what is said."""
    path = written(folder, shop__web=(habit or Habit()).history())
    manifests = folder / "k8s.yaml"
    manifests.write_text(yaml.safe_dump_all(bodies))
    code = main(["advise", str(manifests), "--trace", path, *UTC, "--diff"])
    return code, capsys.readouterr().out


def test_hours_that_are_too_long_are_told_with_what_they_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = compared(tmp_path, capsys, environment("07:30", "19:30"))
    assert code == 1
    assert told == (
        "shop/web: your hours Mon-Fri 07:30-19:30 (Environment develop); used Mon-Fri 09:00-18:00 on 100% of the days; "
        "0.0 times a week use would have met it asleep; "
        "proposed: Mon-Fri 09:00-18:00, 15.0 replica hours a week less\n"
    )


def test_hours_that_deny_use_are_told_with_how_often(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = compared(tmp_path, capsys, environment("10:00", "18:00"))
    assert code == 1
    assert "5.0 times a week use would have met it asleep" in told
    assert "proposed: Mon-Fri 09:00-18:00, 5.0 replica hours a week more" in told


def test_hours_that_fit_are_no_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = compared(tmp_path, capsys, environment("09:00", "18:30"))
    assert code == 0
    assert told.startswith(
        "shop/web: your hours Mon-Fri 09:00-18:30 (Environment develop) fit; used Mon-Fri 09:00-18:00 on "
    )


def test_hours_of_a_calendar_that_is_named_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = environment("09:00", "18:00")
    calendar = {
        **body,
        "kind": "Calendar",
        "spec": body["spec"]["calendar"],
        "metadata": {"name": "c", "namespace": "shop"},
    }
    code, told = compared(tmp_path, capsys, {**body, "spec": {"calendarRef": {"name": "c"}}}, calendar)
    assert (code, "Mon-Fri 09:00-18:00 (Environment develop) fit" in told) == (0, True)


def test_a_calendar_that_is_missing_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = environment("09:00", "18:00")
    code, told = compared(tmp_path, capsys, {**body, "spec": {"calendarRef": {"name": "gone"}}})
    assert code == 0
    assert "its hours cannot be read: " in told
    assert "there is no Calendar 'gone' here" in told


def test_a_workload_that_no_environment_takes_never_sleeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = environment("09:00", "18:00", selector={"matchLabels": {"sleeps": "yes"}})
    code, told = compared(tmp_path, capsys, body)
    assert code == 1
    assert told.startswith("shop/web: it never sleeps; used Mon-Fri 09:00-18:00 on 100% of the days; 0.0 times")
    labelled = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"sleeps": "yes"}},
    }
    assert compared(tmp_path, capsys, body, labelled)[0] == 0


def test_a_document_has_what_stands_beside_what_is_proposed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, shop__web=Habit().history())
    manifests = tmp_path / "k8s.yaml"
    manifests.write_text(yaml.safe_dump(environment("10:00", "18:00")))
    assert main(["advise", str(manifests), "--trace", path, *UTC, "--diff", "-o", "json"]) == 1
    (standing,) = json.loads(capsys.readouterr().out)["standing"]
    assert (standing["environment"], standing["fits"], standing["waitsAWeek"]) == ("develop", False, 5.0)


@pytest.mark.parametrize(
    "spec",
    [
        {"exclude": {"matchLabels": {"sleeps": "never"}}},
        {"selector": {"matchExpressions": [{"key": "sleeps", "operator": "NotIn", "values": ["never"]}]}},
    ],
    ids=["exclude", "matchExpressions"],
)
def test_a_workload_that_an_environment_leaves_out_has_not_its_hours(
    spec: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metadata = {"name": "web", "namespace": "shop", "labels": {"sleeps": "never"}}
    left_out = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    _, told = compared(tmp_path, capsys, environment("09:00", "18:00", **spec), left_out)
    assert told.startswith("shop/web: it never sleeps; ")
