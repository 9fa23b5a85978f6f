"""Trace files of invented workloads, and `keda-py advise` as it is called."""

import json
import math
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keda_py.cli import main
from keda_py.core.advice.history import History


def written(folder: Path, **histories: History) -> str:
    """One file with a column for each; a missing value is an empty cell. `shop__web` is shop/web."""
    path = folder / "trace.csv"
    names = [name.replace("__", "/") for name in histories]
    first = next(iter(histories.values()))
    lines = [",".join(["time", *names])]
    for number in range(len(first.values)):
        at = first.origin + timedelta(seconds=number * first.step)
        values = (one.values[number] for one in histories.values())
        lines.append(",".join([at.isoformat(), *("" if math.isnan(value) else f"{value:.4f}" for value in values)]))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def advised(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The document of one call."""
    assert main(["advise", *arguments, "-o", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def hours_in(workload: dict[str, Any]) -> list[str]:
    """As text."""
    return [f"{each['days']} {each['from']}-{each['to']}" for each in workload["hours"]]
