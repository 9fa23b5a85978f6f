"""One HTML page: figures as a table, each result as an SVG of steps. No script, nothing fetched; light and dark."""

from html import escape

from keda_py.simulation.recording import Figures
from keda_py.simulation.reports.report import Report, name_of
from keda_py.simulation.runs.run import Result
from keda_py.terminal.foreign import printable

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 960, 180, 40, 22
_MOST_POINTS = 4000
_TICKS = 6
_ALONE = ' xmlns="http://www.w3.org/2000/svg"'
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>keda-py simulate</title><style>
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--line:#2563eb;--fill:#2563eb22;--ready:#16a34a;--faint:#8888}
@media (prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#14171a;--line:#6ea8fe;--fill:#6ea8fe22;--ready:#4ade80}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:62rem;margin:2rem auto;
padding:0 1rem}table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:.25rem .6rem;
border-bottom:1px solid var(--faint)}th:first-child,td:first-child{text-align:left}svg{width:100%;height:auto}
.asked{fill:var(--fill);stroke:var(--line);stroke-width:1.2}.ready{fill:none;stroke:var(--ready);stroke-width:1}
text{fill:var(--ink);font-size:11px}.grid{stroke:var(--faint);stroke-width:.5}.table{overflow-x:auto}
</style></head><body>
"""


def write_page(report: Report) -> str:
    """Write the page: figures as a table, and a drawing of each result."""
    parts = [_HEAD, "<h1>keda-py simulate</h1>", f"<p>{escape(report.load)}</p>", _table(report)]
    parts += [f"<p><b>Cheapest that will do:</b> {escape(name_of(one))}</p>" for one in report.best]
    parts += [_section(report, result) for result in report.results]
    return printable("\n".join([*parts, "</body></html>", ""]))


def _table(report: Report) -> str:
    heads = "".join(f"<th>{label}</th>" for label, _ in report.rows(report.results[0].figures))
    rows = "".join(
        f"<tr><td>{escape(name_of(result))}</td>"
        + "".join(f"<td>{text}</td>" for _, text in report.rows(result.figures))
        + "</tr>"
        for result in report.results
    )
    return f'<div class="table"><table><tr><th>object</th>{heads}</tr>{rows}</table></div>'


def _section(report: Report, result: Result) -> str:
    return f"<h2>{escape(name_of(result))}</h2>" + draw_result(report, result)


def draw_result(report: Report, result: Result, style: str = "") -> str:
    """Draw the counts over time as an SVG; `style` is CSS for one that stands alone, outside of the page."""
    figures = result.figures
    top = max([figures.peak, 1, *(change.ready for change in figures.changes)])
    body = [
        f'<svg{_ALONE if style else ""} viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="replicas over time">',
        *([f"<style>{style}</style>"] if style else []),
        *_axes(report, figures, top),
        f'<path class="asked" d="{_steps(figures, top, asked=True)}"/>',
        f'<path class="ready" d="{_steps(figures, top, asked=False)}"/>',
        "</svg>",
    ]
    return "".join(body)


def _axes(report: Report, figures: Figures, top: int) -> list[str]:
    found = []
    for level in sorted({0, top // 2, top}):
        y = _y(level, top)
        found.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        found.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{level}</text>')
    for tick in range(_TICKS):
        at = figures.seconds * tick / _TICKS
        found.append(f'<text x="{_x(at, figures):.1f}" y="{_HEIGHT - 6}">{report.moment(at)[5:16]}</text>')
    return found


def _steps(figures: Figures, top: int, *, asked: bool) -> str:
    """Draw a path of steps; a timeline with more changes than a screen has points shows each n-th."""
    changes = figures.changes[:: 1 + len(figures.changes) // _MOST_POINTS]
    points = [(change.at, change.replicas if asked else change.ready) for change in changes]
    path = (
        [f"M{_x(0, figures):.1f} {_y(0, top):.1f}"] if asked else [f"M{_x(0, figures):.1f} {_y(points[0][1], top):.1f}"]
    )
    for at, level in points:
        path.append(f"H{_x(at, figures):.1f}V{_y(level, top):.1f}")
    path.append(f"H{_WIDTH}" + (f"V{_y(0, top):.1f}Z" if asked else ""))
    return "".join(path)


def _x(at: float, figures: Figures) -> float:
    return _LEFT + (_WIDTH - _LEFT) * at / figures.seconds


def _y(level: int, top: int) -> float:
    return 8 + (_HEIGHT - _BOTTOM - 8) * (1 - level / top)
