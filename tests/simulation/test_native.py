"""Native HPAs with `minReplicas: 0`, simulated: the counts of the real controller, and beside a ScaledObject."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from keda_py.cli import main
from tests import builders
from tests.hpa_zero import PHASES, SCENARIOS, SYNC_SECONDS, metrics_of, recorded, values_of
from tests.simulation.worked import on_queue

Change = tuple[float, int]
AS_RECORDED = (
    "--from",
    "2026-11-02T00:00:00Z",
    "--ready-after",
    "0",
    "--hpa-sync",
    "5s",
    "--hpa-downscale-stabilization",
    "10s",
    "--hpa-scale-to-zero",
)
ALONE = [name for name, scenario in SCENARIOS.items() if not scenario["acts"]]
"""Scenarios in which nothing is done by hand."""


def hpa(scenario: dict[str, Any]) -> dict[str, Any]:
    bounds = {"minReplicas": scenario["min"], "maxReplicas": scenario["max"]}
    behavior = {"behavior": scenario["behavior"]} if "behavior" in scenario else {}
    return builders.hpa("web", "web", "shop", metrics=metrics_of(scenario), **bounds, **behavior)


def trace(scenario: dict[str, Any], late: float) -> str:
    """The values as a table; they come so much later, or earlier, to a sync that is at another moment."""
    values = values_of(scenario)
    lines = [",".join(["time", *values])]
    cells: list[str] = []
    for at in sorted({second for listed in values.values() for second, _ in listed}):
        now = [[value for second, value in listed if second <= at][-1] for listed in values.values()]
        cells = ["error" if value is None else str(value) for value in now]
        lines.append(",".join([str(at + late if at else 0), *cells]))
    end = scenario["seen"][-1][0] + 15
    return "\n".join([*lines, ",".join([str(end), *cells]), ""])


def counts(told: dict[str, Any]) -> list[Change]:
    (result,) = told["results"]
    changes = [(change["at"], change["replicas"]) for change in result["changes"] if change["why"] != "PodReady"]
    return [next(group) for _, group in groupby(changes, key=lambda change: change[1])]


def is_as_recorded(found: list[Change], scenario: dict[str, Any]) -> bool:
    """The same counts, each within one sync of when it was seen."""
    seen = [(at, count) for at, count, *_ in recorded(scenario)]
    wanted = [next(group) for _, group in groupby(seen, key=lambda change: change[1])]
    if [count for _, count in found] != [count for _, count in wanted]:
        return False
    return all(abs(mine[0] - theirs[0]) <= SYNC_SECONDS + 1 for mine, theirs in zip(found, wanted, strict=True))


@pytest.mark.parametrize("name", ALONE)
def test_the_counts_are_those_of_the_real_controller(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = SCENARIOS[name]
    file, table = tmp_path / "hpa.yaml", tmp_path / "trace.csv"
    file.write_text(yaml.safe_dump(hpa(scenario)))
    for late in PHASES:
        table.write_text(trace(scenario, -late))
        flags = ("--metrics", str(table), "--replicas", str(scenario["start"]), "--processes", "1", "-o", "json")
        assert main(["simulate", str(file), *AS_RECORDED, *flags]) == 0
        found = counts(json.loads(capsys.readouterr().out))
        if is_as_recorded(found, scenario):
            return
    raise AssertionError(f"{found} is not {recorded(scenario)}")


def run(folder: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str, str]:
    (folder / "app.yaml").write_text(yaml.safe_dump(on_queue()))
    (folder / "hpa.yaml").write_text(yaml.safe_dump(hpa(SCENARIOS["never-work"])))
    (folder / "trace.csv").write_text("time,queue\n2026-11-02T00:00:00Z,0\n2026-11-02T00:10:00Z,12\n")
    code = main(["simulate", *flags, "--metrics", str(folder / "trace.csv"), "--processes", "1"])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_beside_a_scaled_object_both_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = str(tmp_path / "app.yaml"), "--compare", str(tmp_path / "hpa.yaml")
    code, out, err = run(tmp_path, capsys, *files, "--hpa-scale-to-zero", "-o", "json")
    assert (code, err) == (0, "")
    assert [result["object"] for result in json.loads(out)["results"]] == ["shop/web", "shop/web"]


def test_without_the_flag_such_an_hpa_is_told_to_need_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(tmp_path, capsys, str(tmp_path / "hpa.yaml"))
    assert code == 2
    assert "holds HPAs that go to zero; give --hpa-scale-to-zero for them" in err


def test_a_metric_that_no_load_can_stand_for_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = {
        "type": "Pods",
        "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "4"}},
    }
    body = hpa(SCENARIOS["never-work"])
    body["spec"]["metrics"].append(pods)
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(body))
    code, _, err = run(tmp_path, capsys, str(tmp_path / "other.yaml"), "--hpa-scale-to-zero")
    assert code == 2
    assert "spec.metrics[1].type: Pods hits cannot be simulated, take it out of the file" in err
