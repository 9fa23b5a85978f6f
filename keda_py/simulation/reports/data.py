"""Reports for programs: JSON with figures and changes, CSV with changes alone."""

import csv
import io
from typing import Any

from keda_py.simulation.reports.report import Report
from keda_py.simulation.runs.run import Result
from keda_py.terminal.foreign import json_of, printable


def write_json(report: Report) -> str:
    """Write results in their order; seconds and hours as numbers, moments in ISO 8601."""
    body = {
        "origin": report.origin,
        "load": report.load,
        "pricePerReplicaHour": report.price,
        "results": [_result(report, result) for result in report.results],
        "cheapest": [{"object": one.title, "variant": one.variant} for one in report.best],
    }
    return json_of(body)


def _result(report: Report, result: Result) -> dict[str, Any]:
    figures = result.figures
    return {
        "object": result.title,
        "variant": result.variant,
        "seconds": figures.seconds,
        "replicaHours": round(figures.replica_hours, 6),
        "cost": report.cost(figures),
        "secondsUnderCapacity": round(figures.seconds_short, 3),
        "longestWaitFromZeroSeconds": figures.longest_wait,
        "secondsAtZero": round(figures.seconds_at_zero, 3),
        "mostReplicas": figures.peak,
        "wakes": figures.wakes,
        "scalings": figures.scalings,
        "flaps": figures.flaps,
        "changes": [
            {"at": round(change.at, 3), "replicas": change.replicas, "ready": change.ready, "why": change.why}
            for change in figures.changes
        ],
    }


def write_csv(report: Report) -> str:
    """Write a line for each change."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(("object", "variant", "time", "seconds", "replicas", "ready", "why"))
    for result in report.results:
        for change in result.figures.changes:
            when = f"{report.moment(change.at).replace(' ', 'T')}Z"
            lines.writerow(
                (result.title, result.variant, when, f"{change.at:g}", change.replicas, change.ready, change.why)
            )
    return printable(out.getvalue())
