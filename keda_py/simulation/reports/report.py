"""Reports: results, what they cost, and their seconds as moments."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from keda_py.simulation.recording import POD_READY, Figures
from keda_py.simulation.runs.run import Result
from keda_py.terminal.foreign import json_of, printable
from keda_py.terminal.table import Column, draw_table

Rows = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`price` is that of a replica-hour, None if it is not known; `best` is what a sweep recommends for each object."""

    origin: datetime
    results: tuple[Result, ...]
    price: float | None = None
    best: tuple[Result, ...] = ()
    load: str = ""

    def moment(self, at: float) -> str:
        """Write a second as a moment, UTC."""
        return f"{self.origin + timedelta(seconds=round(at)):%Y-%m-%d %H:%M:%S}"

    def cost(self, figures: Figures) -> float | None:
        """Return what a result costs, None without a price."""
        return None if self.price is None else figures.replica_hours * self.price

    def rows(self, figures: Figures) -> Rows:
        """List the figures in words."""
        cost = self.cost(figures)
        wait = "never at zero" if figures.longest_wait is None else spell(figures.longest_wait)
        share = figures.seconds_short / figures.seconds if figures.seconds else 0.0
        return (
            ("replica-hours", f"{figures.replica_hours:,.1f}"),
            *((("cost", f"{cost:,.2f}"),) if cost is not None else ()),
            ("under capacity", f"{spell(figures.seconds_short)} ({share:.1%})"),
            ("longest wait from zero", wait),
            ("at zero", spell(figures.seconds_at_zero)),
            ("most replicas", str(figures.peak)),
            ("changes", str(figures.scalings)),
            ("flaps", str(figures.flaps)),
        )


def name_of(result: Result) -> str:
    """Name the object, as in shop/web, with its variant."""
    return f"{result.title} {result.variant}".rstrip()


def spell(seconds: float) -> str:
    """Write seconds as 1 h 05 min, 4 min 10 s, 12 s."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def levels(figures: Figures, buckets: int) -> list[int]:
    """Return the most replicas that were asked for in each of so many equal parts of the time."""
    width = figures.seconds / buckets if buckets else 0.0
    found = [0] * buckets
    following = [change.at for change in figures.changes[1:]] + [figures.seconds]
    for change, until in zip(figures.changes, following, strict=True):
        first = min(int(change.at / width), buckets - 1)
        last = min(int(max(until - 1e-9, change.at) / width), buckets - 1)
        for bucket in range(first, last + 1):
            found[bucket] = max(found[bucket], change.replicas)
    return found


# Reports for a terminal: a line of blocks over time, the figures, the first changes; several results as a table.

_BLOCKS = " ▁▂▃▄▅▆▇█"
_BUCKETS = 72


def write_text(report: Report, width: int, most_changes: int) -> str:
    """Write one result in full, or a table of many."""
    if len(report.results) == 1:
        return printable(_one(report, report.results[0], most_changes))
    return _many(report, width)


def _one(report: Report, result: Result, most_changes: int) -> str:
    figures = result.figures
    head = f"{name_of(result)}: {report.moment(0)} to {report.moment(figures.seconds)} UTC, {report.load}"
    lines = [head, "", f"  {_picture(result)}  (blocks of {figures.seconds / _BUCKETS / 60:.0f} min)", ""]
    lines += [f"  {label:24}{text}" for label, text in report.rows(figures)]
    scalings = [change for change in figures.changes if change.why != POD_READY]
    lines += ["", f"  {'when (UTC)':21}{'replicas':>8}{'ready':>7}  why"]
    lines += [
        f"  {report.moment(change.at):21}{change.replicas:>8}{change.ready:>7}  {change.why}"
        for change in scalings[:most_changes]
    ]
    left = len(scalings) - most_changes
    lines += [f"  ... and {left} more: -o csv has all"] if left > 0 else []
    return "\n".join([*lines, ""])


def _picture(result: Result) -> str:
    top = max(result.figures.peak, 1)
    return "".join(_BLOCKS[-(-level * 8 // top)] for level in levels(result.figures, _BUCKETS))


def _many(report: Report, width: int) -> str:
    headings = [label for label, _ in report.rows(report.results[0].figures)]
    columns = [
        Column(heading="object", cuts=True),
        *(Column(heading=label, goes=len(headings) - at if at > 2 else 0) for at, label in enumerate(headings)),
    ]
    rows = [
        [printable(name_of(result)), *(text for _, text in report.rows(result.figures))] for result in report.results
    ]
    lines = [draw_table(columns, rows, width).plain, ""]
    lines += [
        f"cheapest without being under capacity longer than it must: {printable(name_of(one))}" for one in report.best
    ]
    return "\n".join([*lines, ""]) if report.best else "\n".join(lines)


# Reports for programs: JSON with figures and changes, CSV with changes alone.


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
