"""Reports for a terminal: a line of blocks over time, the figures, the first changes; several results as a table."""

from keda_py.simulation.recording import POD_READY
from keda_py.simulation.reports.report import Report, levels, name_of
from keda_py.simulation.runs.run import Result
from keda_py.terminal.foreign import printable
from keda_py.terminal.table import Column, draw_table

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
    told = [change for change in figures.changes if change.why != POD_READY]
    lines += ["", f"  {'when (UTC)':21}{'replicas':>8}{'ready':>7}  why"]
    lines += [
        f"  {report.moment(change.at):21}{change.replicas:>8}{change.ready:>7}  {change.why}"
        for change in told[:most_changes]
    ]
    left = len(told) - most_changes
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
