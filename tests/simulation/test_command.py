"""`keda-py simulate`, from its command line to what it prints."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.cli import main
from tests.builders import cron, scaled_job
from tests.simulation.worked import on_queue

TRACE = ["time,queue", "2026-11-02T00:00:00Z,0", "2026-11-02T00:10:00Z,12", "2026-11-02T00:30:00Z,0"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.joinpath("app.yaml").write_text(yaml.safe_dump(on_queue()))
    tmp_path.joinpath("trace.csv").write_text("\n".join([*TRACE, ""]))
    return tmp_path


def run(folder: Path, capsys: pytest.CaptureFixture[str], *flags: str, file: str = "app.yaml") -> tuple[int, str, str]:
    code = main(["simulate", str(folder / file), "--processes", "1", *flags])
    said = capsys.readouterr()
    return code, said.out, said.err


def metrics(folder: Path) -> tuple[str, str]:
    return "--metrics", str(folder / "trace.csv")


def test_one_object_is_told_in_full(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(folder, capsys, *metrics(folder), "--price-per-replica-hour", "0.5")
    assert (code, err) == (0, "")
    assert "shop/web: 2026-11-02 00:00:00 to 2026-11-02 00:50:00 UTC" in out
    for label in ("replica-hours", "cost", "under capacity", "longest wait from zero  30 s", "flaps", "Activated"):
        assert label in out


def test_json_has_every_figure_and_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(folder, capsys, *metrics(folder), "-o", "json", "--price-per-replica-hour", "0.5")
    told: dict[str, Any] = json.loads(out)
    (result,) = told["results"]
    assert (result["object"], result["mostReplicas"], result["wakes"]) == ("shop/web", 3, 1)
    assert result["cost"] == pytest.approx(result["replicaHours"] / 2, abs=1e-6)
    assert [change["replicas"] for change in result["changes"] if change["why"] != "PodReady"] == [0, 1, 3, 1, 0]


def test_csv_has_a_line_a_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(folder, capsys, *metrics(folder), "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert rows[0]["time"] == "2026-11-02T00:00:00Z"
    assert {row["object"] for row in rows} == {"shop/web"}


def test_the_page_needs_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(folder, capsys, *metrics(folder), "-o", "html", "--sweep", "cooldownPeriod=60,900")
    assert "<script" not in out
    assert "http" not in out.replace("http-equiv", "")
    charts = [part.split("</svg>")[0] for part in out.split("<svg")[1:]]
    assert len(charts) == 2
    for chart in charts:
        ElementTree.fromstring(f"<svg{chart}</svg>")


def test_two_manifests_stand_side_by_side(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = folder / "other.yaml"
    other.write_text(yaml.safe_dump(on_queue(minReplicaCount=1)))
    _, out, _ = run(folder, capsys, *metrics(folder), "--compare", str(other), "-o", "json")
    before, after = json.loads(out)["results"]
    assert before["secondsAtZero"] > 0 == after["secondsAtZero"]
    assert str(other) in after["variant"]


def test_a_sweep_says_which_value_is_the_cheapest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(folder, capsys, *metrics(folder), "--sweep", "cooldownPeriod=60,600")
    assert "cheapest without being under capacity longer than it must: shop/web cooldownPeriod=60" in out


@pytest.mark.parametrize("profile", ["office-day", "web-shop", "night-batch", "spikes", "steady"])
def test_a_profile_needs_no_trace(profile: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(folder, capsys, "--profile", profile, "--days", "1", "-o", "json")
    (result,) = json.loads(out)["results"]
    assert 0 < result["replicaHours"] < 24 * 14


def test_a_schedule_needs_no_column(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = on_queue(cooldownPeriod=0)
    window = {"timezone": "UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "2"}
    body["spec"]["triggers"] = [{"type": "cron", "metadata": window}]
    folder.joinpath("cron.yaml").write_text(yaml.safe_dump(body))
    _, out, _ = run(folder, capsys, "--profile", "steady", "--days", "1", "-o", "json", file="cron.yaml")
    (result,) = json.loads(out)["results"]
    assert result["secondsAtZero"] == pytest.approx(14 * 3600, abs=400)


def test_a_trigger_with_credentials_is_simulated_without_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = on_queue()
    metadata = {
        "host": "db",
        "port": "5432",
        "userName": "u",
        "dbName": "d",
        "query": "SELECT 1",
        "targetQueryValue": "5",
    }
    reference = {"authenticationRef": {"name": "db"}}
    body["spec"]["triggers"] = [{"type": "postgresql", "metadata": {**metadata, "sslmode": "disable"}, **reference}]
    folder.joinpath("sql.yaml").write_text(yaml.safe_dump(body))
    code, out, err = run(folder, capsys, *metrics(folder), "-o", "json", file="sql.yaml")
    assert (code, err) == (0, "")
    assert json.loads(out)["results"][0]["wakes"] == 1


def test_a_manifest_that_would_be_refused_is_refused_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = folder / "bad.yaml"
    bad.write_text(yaml.safe_dump(on_queue(minReplicaCount="many")))
    code, out, err = run(folder, capsys, "--profile", "steady", file="bad.yaml")
    assert (code, out) == (2, "")
    assert "would be refused" in err
    assert f"{bad}:" in err


def test_a_scaled_job_is_told_that_it_cannot_be_simulated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = scaled_job(cron(), name="import", namespace="shop")
    folder.joinpath("job.yaml").write_text(yaml.safe_dump(job))
    code, out, err = run(folder, capsys, "--profile", "steady", file="job.yaml")
    assert (code, out) == (2, "")
    assert "ScaledJob import cannot be simulated, ScaledObjects alone can" in err
    folder.joinpath("job.yaml").write_text(yaml.safe_dump_all([job, on_queue()]))
    code, out, err = run(folder, capsys, "--profile", "steady", "--days", "0.1", file="job.yaml")
    assert (code, err) == (0, "not simulated: ScaledJob import; ScaledObjects alone are\n")


@pytest.mark.parametrize("field", ["cooldownPeriodd", "advanced.horizontalPodAutoscalerConfig.behaviour.scaleUp.x"])
def test_a_sweep_of_a_field_that_no_scaled_object_has_is_refused(
    field: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(folder, capsys, *metrics(folder), "--sweep", f"{field}=60,90")
    assert (code, out) == (2, "")
    assert f"--sweep: {field}=60 would be refused: " in err
    assert "did you mean" in err


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--profile", "steady", "--metrics", "x"),
        ("--profile", "steady", "--sweep", "a=1,2", "--compare", "b"),
        ("--profile", "steady", "--days", "many"),
        ("--profile", "steady", "--hpa-sync", "0s"),
        ("--profile", "steady", "--from", "2026-11-02T00:00:00"),
    ],
)
def test_wrong_usage_exits_with_2(flags: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(folder, capsys, *flags)
    assert ended.value.code == 2


def test_a_prometheus_needs_a_time_span(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(folder, capsys, "--prometheus", "http://127.0.0.1:9")
    assert code == 2
    assert "--from" in err


def on_memory(zone: str = "Asia/Seoul") -> dict[str, Any]:
    body = on_queue(minReplicaCount=1)
    memory = {"type": "memory", "metricType": "Utilization", "metadata": {"value": "60"}}
    body["spec"]["triggers"] = [memory, cron("0 8 * * 1-5", "0 18 * * 1-5", 1, zone)]
    return body


def test_a_profile_for_memory_asks_for_its_peak_with_units_and_an_example(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "memory.yaml").write_text(yaml.safe_dump(on_memory()))
    code, _, err = run(folder, capsys, "--profile", "office-day", file="memory.yaml")
    assert code == 2
    assert "give --peak, the bytes that all pods use together, such as --peak 4e9 for 4 GB" in err


def test_a_share_of_what_is_requested_asks_for_the_request_with_an_example(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without it the HPA has no metric, and a week at the minimum would look as if that were enough."""
    (folder / "memory.yaml").write_text(yaml.safe_dump(on_memory()))
    code, _, err = run(folder, capsys, "--profile", "office-day", "--peak", "4e9", file="memory.yaml")
    assert code == 2
    assert "spec.triggers[0]: 60 is a percentage of the memory that each pod requests" in err
    assert "give --request, such as --request memory=512Mi" in err


def test_peak_and_request_are_asked_for_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "memory.yaml").write_text(yaml.safe_dump(on_memory()))
    _, _, err = run(folder, capsys, "--profile", "office-day", file="memory.yaml")
    assert "--peak" in err
    assert "--request" in err


@pytest.mark.parametrize(("zone", "begins"), [("Asia/Seoul", 23), ("America/New_York", 13), ("Etc/UTC", 8)])
def test_the_hours_of_a_profile_are_those_of_the_schedules_zone(
    zone: str, begins: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "memory.yaml").write_text(yaml.safe_dump(on_memory(zone)))
    flags = ("--profile", "office-day", "--days", "3", "--from", "2026-11-01T12:00:00Z", "-o", "json")
    _, out, _ = run(folder, capsys, *flags, "--peak", "4e9", "--request", "memory=500Mi", file="memory.yaml")
    (result,) = json.loads(out)["results"]
    first = next(one["at"] for one in result["changes"] if one["replicas"] > 1)
    assert begins <= (12 + first / 3600) % 24 < begins + 1
