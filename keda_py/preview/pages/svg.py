"""A preview as a picture: a lane an object, a column a day, bars as high as there are replicas. Pure.

For a merge request or a README: no script, no font, no address; readable on light and dark pages.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from html import escape
from zoneinfo import ZoneInfo

from keda_py.preview.pages.followers import drawn, followers
from keda_py.replay.days import midnight
from keda_py.replay.previews import Preview, Subject
from keda_py.replay.timeline import Span
from keda_py.terminal.foreign import printable

MOST_LANES = 40
_LEFT, _WIDTH, _LANE, _BAR, _TOP = 250, 1000, 46, 24, 62
_LONGEST, _SMALL = 36, 30
_LETTER = 5
"""Width of a letter of a holiday's name, in points of the picture."""
_INK, _PALE, _GRID = "#24292f", "#6e7781", "#d0d7de"
_BARS = {"Environment": "#8250df", "ScaledObject": "#1a7f37"}
_OTHERS = "#0969da"


def svg_of(preview: Preview, zone: ZoneInfo) -> bytes:
    """Draw the first objects that fit."""
    subjects = drawn(preview.subjects)
    lanes = subjects[:MOST_LANES]
    height = _TOP + _LANE * len(lanes) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        _text(16, 24, _title(preview, zone), 'font-size="15" font-weight="600"'),
        *_grid(preview, zone, height - 30),
    ]
    for number, subject in enumerate(lanes):
        parts += _lane(preview, subject, _TOP + number * _LANE)
        parts += _holidays(preview, subject, zone, _TOP + number * _LANE)
    left = len(subjects) - len(lanes)
    text = f"{left} more objects are not shown. " if left else ""
    parts.append(_text(16, height - 12, f"{text}Other triggers than schedules are taken to have no work.", fill=_PALE))
    return "\n".join([*parts, "</svg>", ""]).encode()


def _title(preview: Preview, zone: ZoneInfo) -> str:
    first, last = (at.astimezone(zone) for at in (preview.begins, preview.ends - timedelta(seconds=1)))
    return f"{first:%a %d %b} to {last:%a %d %b %Y}, {zone.key}"


def _grid(preview: Preview, zone: ZoneInfo, bottom: int) -> Iterator[str]:
    """Draw the days, with weekends shaded, and their names if there is room."""
    day = preview.begins.astimezone(zone).date()
    days = (preview.ends - preview.begins).days or 1
    while (begins := midnight(day, zone)) < preview.ends:
        ends = midnight(day + timedelta(days=1), zone)
        left, right = (_x(preview, min(max(at, preview.begins), preview.ends)) for at in (begins, ends))
        if day.weekday() > 4:
            yield f'<rect x="{left:.1f}" y="44" width="{right - left:.1f}" height="{bottom - 44}" fill="#f6f8fa"/>'
        yield f'<line x1="{left:.1f}" y1="44" x2="{left:.1f}" y2="{bottom}" stroke="{_GRID}" stroke-width="0.7"/>'
        if days <= 14 or day.weekday() == 0:
            yield _text(
                (left + right) / 2,
                54,
                f"{day:%a %d}" if days <= 14 else f"{day:%d %b}",
                'text-anchor="middle"',
                _PALE,
            )
        day += timedelta(days=1)


def _lane(preview: Preview, subject: Subject, top: int) -> Iterator[str]:
    timeline = subject.timeline
    name = subject.title if len(subject.title) <= _LONGEST else f"{subject.title[: _LONGEST - 1]}…"
    members = len(followers(subject, preview.subjects)) if subject.kind == "Environment" else 0
    more = f", with {members} member{'' if members == 1 else 's'}" if members else ""
    hours = f"{subject.kind}, up {timeline.a_week(timeline.up_seconds):.1f} h a week{more}"
    codes = f" [{', '.join(dict.fromkeys(finding.code for finding in subject.findings))}]" if subject.findings else ""
    base = top + 10 + _BAR
    yield f"<g><title>{escape(printable(_tooltip(subject)))}</title>"
    size = ' font-size="10"' if len(name) > _SMALL else ""
    yield _text(16, top + 22, name, f'font-weight="600"{size}')
    yield _text(16, top + 37, f"{hours}{codes}", 'font-size="10"', "#9a6700" if codes else _PALE)
    yield f'<line x1="{_LEFT}" y1="{base}" x2="{_WIDTH - 16}" y2="{base}" stroke="{_GRID}"/>'
    spans = [span for span in timeline.spans() if span.replicas]
    most = max((span.replicas for span in spans), default=1)
    yield from (_bar(preview, span, base, most, _BARS.get(subject.kind, _OTHERS)) for span in spans)
    yield "</g>"


def _holidays(preview: Preview, subject: Subject, zone: ZoneInfo, top: int) -> Iterator[str]:
    """Write names of holidays as far as the day's column has room; the whole name shows under the pointer."""
    for day, because in subject.holidays:
        begins, ends = (midnight(day + timedelta(days=more), zone) for more in (0, 1))
        left, right = (_x(preview, min(max(at, preview.begins), preview.ends)) for at in (begins, ends))
        room = int((right - left) / _LETTER)
        name = because.removeprefix("holiday: ")
        if room > 3:
            shown = name if len(name) <= room else f"{name[: room - 1]}…"
            label = _text((left + right) / 2, top + 30, shown, 'text-anchor="middle" font-size="9"', _PALE)
            yield f"<g><title>{escape(printable(f'{day}: {because}'))}</title>{label}</g>"


def _bar(preview: Preview, span: Span, base: int, most: int, fill: str) -> str:
    left, right = _x(preview, span.start), _x(preview, span.end)
    height = max(_BAR * span.replicas / most, 3)
    place = f'x="{left:.1f}" y="{base - height:.1f}" width="{max(right - left, 0.5):.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{fill}"/>'


def _tooltip(subject: Subject) -> str:
    findings: Sequence[str] = [finding.message for finding in subject.findings]
    return "\n".join((f"{subject.kind} {subject.title}", *subject.notes, *subject.remarks, *findings))


def _x(preview: Preview, at: datetime) -> float:
    whole = (preview.ends - preview.begins).total_seconds()
    return _LEFT + (at - preview.begins).total_seconds() / whole * (_WIDTH - 16 - _LEFT)


def _text(x: float, y: float, text: str, style: str = "", fill: str = _INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" {style}>{escape(printable(text))}</text>'
