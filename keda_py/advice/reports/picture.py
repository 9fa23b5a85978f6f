"""Advice as one HTML page: for each workload a week as a heat map, and the proposed hours drawn over it.

No script, nothing fetched; light and dark. Hours of which nothing is known are hatched: they are not idle.
"""

from collections.abc import Iterator, Sequence
from html import escape

from keda_py.advice.proposals.advise import Advice, Proposal
from keda_py.advice.reports.evidence import evidence_of
from keda_py.core.advice.hours import AwakeHours
from keda_py.core.advice.usage import week_shares
from keda_py.core.environment.calendar.days import DAY, WEEKDAYS
from keda_py.core.savings.statement import Prices
from keda_py.terminal.foreign import printable

_LEFT, _TOP, _WIDTH, _ROW = 44, 18, 960, 22
_HEIGHT = _TOP + 7 * _ROW + 6
_HOUR = (_WIDTH - _LEFT) / 24
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>keda-py advise</title><style>
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--used:#2563eb;--awake:#16a34a;--faint:#8888}
@media (prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#14171a;--used:#6ea8fe;--awake:#4ade80}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:62rem;margin:2rem auto;
padding:0 1rem}svg{width:100%;height:auto}text{fill:var(--ink);font-size:11px}.used{fill:var(--used)}
.cell{fill:none;stroke:var(--faint);stroke-width:.4}.awake{fill:none;stroke:var(--awake);stroke-width:2.5}
.unknown{fill:url(#unknown)}.hatch{stroke:var(--faint);stroke-width:1.5}li{overflow-wrap:anywhere}
</style></head><body>
<svg width="0" height="0" style="position:absolute"><defs><pattern id="unknown" width="6" height="6"
patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern>
</defs></svg>
"""


def write_page(advices: Sequence[Advice], prices: Prices) -> str:
    """The whole page, proposals first."""
    ordered = sorted(advices, key=lambda each: not isinstance(each, Proposal))
    legend = "Blue: the share of an hour that was used. Green: the hours that are proposed. Hatched: not known."
    parts = [_HEAD, "<h1>keda-py advise</h1>", f"<p>{legend}</p>"]
    parts += [part for each in ordered for part in _section(each, prices)]
    return printable("\n".join([*parts, "</body></html>", ""]))


def _section(advice: Advice, prices: Prices) -> Iterator[str]:
    yield f"<h2>{escape(advice.observed.workload.title)}</h2>"
    if not isinstance(advice, Proposal):
        yield f"<p>Nothing is proposed: {escape(advice.because)}.</p>"
    if advice.use is not None:
        hours = advice.candidate.hours if isinstance(advice, Proposal) else ()
        yield _picture(week_shares(advice.use), hours, advice.observed.workload.title)
    sentences = [f"<li>{escape(each)}</li>" for each in evidence_of(advice, prices)]
    if sentences:
        yield f"<ul>{''.join(sentences)}</ul>"


def _picture(shares: Sequence[Sequence[float | None]], hours: Sequence[AwakeHours], title: str) -> str:
    label = escape(f"use of {title} by weekday and hour", quote=True)
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">', *_names()]
    for day, row in enumerate(shares):
        parts += [_cell(day, hour, share) for hour, share in enumerate(row)]
    parts += [part for each in hours for part in _window(each)]
    return "".join([*parts, "</svg>"])


def _names() -> Iterator[str]:
    for day, name in enumerate(WEEKDAYS):
        yield f'<text x="{_LEFT - 8}" y="{_TOP + day * _ROW + 15}" text-anchor="end">{name}</text>'
    for hour in range(0, 24, 3):
        yield f'<text x="{_LEFT + hour * _HOUR:.1f}" y="12">{hour:02}:00</text>'


def _cell(day: int, hour: int, share: float | None) -> str:
    place = f'x="{_LEFT + hour * _HOUR:.1f}" y="{_TOP + day * _ROW}" width="{_HOUR:.1f}" height="{_ROW}"'
    text = "not known" if share is None else f"used {share:.0%}"
    fill = (
        f'<rect class="unknown" {place}/>'
        if share is None
        else f'<rect class="used" {place} opacity="{share:.2f}"/>'
        if share
        else ""
    )
    return f'{fill}<rect class="cell" {place}><title>{WEEKDAYS[day]} {hour:02}:00, {text}</title></rect>'


def _window(window: AwakeHours) -> Iterator[str]:
    """One that goes on after midnight has a part on the next day."""
    for day in window.days:
        yield _outline(day, window.start, min(window.end, DAY))
        if window.end > DAY:
            yield _outline((day + 1) % 7, 0, window.end - DAY)


def _outline(day: int, start: int, end: int) -> str:
    left, right = (_LEFT + minute / 60 * _HOUR for minute in (start, end))
    top = _TOP + day * _ROW
    return f'<rect class="awake" x="{left:.1f}" y="{top + 1}" width="{right - left:.1f}" height="{_ROW - 2}" rx="3"/>'
