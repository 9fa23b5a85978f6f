"""Manifests beyond hours: one calendar for several namespaces, and ScaledObjects that need no replicas without work."""

import random
from array import array
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.cli import main
from tests.advice.traces import advised, written
from tests.core.advice.habits import Habit, changed

UTC = ("--timezone", "UTC")
LATE = [("Mon-Fri", "12:00", "20:00")]


def scaled_object(**spec: Any) -> dict[str, Any]:
    """A ScaledObject of a queue, with two replicas at least unless `spec` has others."""
    queue = {"type": "redis", "metadata": {"address": "redis:6379", "listName": "jobs", "listLength": "5"}}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "worker", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"name": "worker"}, "minReplicaCount": 2, "triggers": [queue], **spec},
    }


def validated(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "validated.yaml"
    path.write_text(text)
    code = main(["validate", str(path)])
    assert code == 0, capsys.readouterr()
    capsys.readouterr()


def test_environments_of_several_namespaces_with_the_same_hours_share_a_calendar(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(
        tmp_path,
        shop__web=Habit().history(),
        dev__web=Habit(seed=2).history(),
        night__web=Habit(windows=LATE).history(),
    )
    assert main(["advise", "--trace", path, *UTC, "-o", "manifest"]) == 0
    text = capsys.readouterr().out
    bodies = {(one["kind"], one["metadata"].get("namespace", "")): one for one in yaml.safe_load_all(text)}
    calendar = bodies["ClusterCalendar", ""]
    assert calendar["metadata"]["name"] == "hours-utc"
    assert calendar["spec"]["hours"] == [{"days": "Mon-Fri", "from": "09:00", "to": "18:00"}]
    for namespace in ("shop", "dev"):
        spec = bodies["Environment", namespace]["spec"]
        assert spec["calendarRef"] == {"kind": "ClusterCalendar", "name": "hours-utc"}
        assert "calendar" not in spec
    assert bodies["Environment", "night"]["spec"]["calendar"]["hours"][0]["from"] == "12:00"
    assert "# Hours that dev/hours, shop/hours share, found by keda-py advise" in text
    validated(tmp_path, text, capsys)


def test_files_of_a_merge_request_have_the_shared_calendar(tmp_path: Path) -> None:
    path = written(tmp_path, shop__web=Habit().history(), dev__web=Habit(seed=2).history())
    folder = tmp_path / "out"
    assert main(["advise", "--trace", path, *UTC, "--out", str(folder)]) == 0
    assert (folder / "calendar-hours-utc.yaml").exists()


def test_a_minimum_that_was_not_needed_is_lowered_by_a_patch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Work at random moments is no habit, so no hours are proposed; its queue wakes it all the same."""
    path = written(tmp_path, shop__scaledobject__worker=at_random())
    there = tmp_path / "there.yaml"
    there.write_text(yaml.safe_dump(scaled_object()))
    folder = tmp_path / "out"
    assert main(["advise", str(there), "--trace", path, *UTC, "--out", str(folder)]) == 0
    patch = yaml.safe_load((folder / "patches/shop-scaledobject-worker.yaml").read_text())
    assert patch["spec"] == {"minReplicaCount": 0}
    merged = scaled_object()
    merged["spec"] |= patch["spec"]
    validated(tmp_path, yaml.safe_dump(merged), capsys)
    (found,) = advised(capsys, str(there), "--trace", path, *UTC)["workloads"]
    assert found["proposal"] == "nothing"
    lower = found["minReplicas"]
    assert (lower["from"], lower["to"]) == (2, 0)
    assert 150 < lower["idleHoursAWeek"] < 164
    assert lower["wakesAWeek"] > 10
    assert main(["advise", str(there), "--trace", path, *UTC]) == 0
    assert "in which 2 replicas were up: minReplicaCount 0 saves" in " ".join(capsys.readouterr().out.split())


def test_pauses_in_which_it_sleeps_by_its_hours_lower_no_minimum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    busy = Habit(windows=[("Mon-Fri", "08:00", "09:00"), ("Mon-Fri", "11:00", "12:00"), ("Mon-Fri", "20:00", "21:00")])
    path = written(tmp_path, shop__scaledobject__worker=busy.history())
    there = tmp_path / "there.yaml"
    there.write_text(yaml.safe_dump(scaled_object()))
    (found,) = advised(capsys, str(there), "--trace", path, *UTC)["workloads"]
    assert found["proposal"] == "hours"
    assert found["minReplicas"] is None


@pytest.mark.parametrize(
    "spec",
    [
        {"minReplicaCount": 0},
        {"idleReplicaCount": 0},
        {"triggers": [{"type": "cpu", "metricType": "Utilization", "metadata": {"value": "60"}}]},
    ],
    ids=["0 already", "idle at 0", "CPU alone"],
)
def test_nothing_is_lowered_where_nothing_can_be(
    spec: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, shop__scaledobject__worker=at_random())
    there = tmp_path / "there.yaml"
    there.write_text(yaml.safe_dump(scaled_object(**spec)))
    (found,) = advised(capsys, str(there), "--trace", path, *UTC)["workloads"]
    assert found["minReplicas"] is None


def test_requests_of_a_deployment_lower_no_minimum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They come past the triggers and would meet no replica."""
    path = written(tmp_path, shop__worker=at_random())
    there = tmp_path / "there.yaml"
    there.write_text(yaml.safe_dump(scaled_object()))
    (found,) = advised(capsys, str(there), "--trace", path, *UTC)["workloads"]
    assert found["minReplicas"] is None


def at_random() -> Any:
    """Work of ten minutes at moments that no week repeats, three times a day."""
    chance = random.Random(4)

    def work(values: "array[float]") -> None:
        for day in range(len(values) // 288):
            for _ in range(3):
                at = day * 288 + chance.randrange(286)
                values[at] = values[at + 1] = 3.0

    return changed(Habit(windows=()).history(), work)
