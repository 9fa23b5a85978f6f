"""The timeline as an SVG picture: one lane a workload, bars as high as its replicas, nights shaded. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from zoneinfo import ZoneInfo

from keda_py.demo.timeline import Timeline

WIDTH, TOP, RIGHT, BOTTOM = 1000, 54, 130, 46
UNIT, HEAD, FOOT, LEAST = 16, 14, 16, 48
"""Pixels: one replica, the space above and below a lane's bars, the least height of a lane's bars."""
LETTER, MARGIN = 7.4, 16
"""Pixels: a bold letter of a name (upper bound of the average), and the margin of the paper."""
HOURS = (0, 6, 12, 18)
COLOURS = ("#3b82c4", "#4a9d6e", "#c47f3b")
INK, FAINT, NIGHT, GRID = "#24292f", "#6e7781", "#eef1f5", "#d0d7de"
FONT = 'font-family="system-ui, sans-serif"'


STRIP, ROW = 6, 11
"""Pixels: height of a strip, and of a row of the words above strips, of which there are two."""
SMALL = 5.2
"""Pixels: a letter of these words (upper bound of the average)."""
TITLE = 20
DATE = 70
"""Pixels: a day that is narrower has no date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """A coloured part of the line above the lanes; `text` stands over it, `title` is shown where one points."""

    at: datetime
    until: datetime
    colour: str
    title: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """Geometry of the chart in the picture; `left` is clear of every name."""

    timeline: Timeline
    zone: ZoneInfo
    left: float
    floor: float
    """The lower end of the last lane."""
    replicas: int
    """Replicas of each lane if it were always on."""

    def x(self, at: datetime) -> float:
        """Convert an instant to pixels from the left edge."""
        share = (at - self.timeline.start) / (self.timeline.end - self.timeline.start)
        return self.left + share * (WIDTH - RIGHT - self.left)


def draw(
    timeline: Timeline,
    names: Sequence[str],
    zone: ZoneInfo,
    *,
    title: str,
    replicas: int = 1,
    strips: Sequence[Strip] = (),
) -> str:
    """Draw the picture as SVG text; `replicas` are those of a lane that is always on."""
    tops = [float(TOP)]
    for name in names:
        tops.append(tops[-1] + HEAD + _room(timeline, name) + FOOT)
    words = [word for name in names for word in (name, _up_to(timeline, name))]
    left = MARGIN + LETTER * max(map(len, words)) + 2 * MARGIN
    paper = Paper(timeline=timeline, zone=zone, left=left, floor=tops[-1], replicas=replicas)
    height = paper.floor + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" {FONT} font-size="12">',
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="white"/>',
        f'<text x="{MARGIN}" y="{TITLE}" font-size="16" font-weight="600" fill="{INK}">{escape(title)}</text>',
        *_days(paper),
        *_strips(paper, strips),
    ]
    for index, name in enumerate(names):
        parts += _lane(paper, name, tops[index + 1] - FOOT, COLOURS[index % len(COLOURS)])
    return "\n".join([*parts, "</svg>", ""])


def _tallest(timeline: Timeline, name: str) -> int:
    return max((count for _, _, count in timeline.steps(name)), default=1) or 1


def _up_to(timeline: Timeline, name: str) -> str:
    tallest = _tallest(timeline, name)
    return f"up to {tallest} replica{'s' if tallest > 1 else ''}"


def _room(timeline: Timeline, name: str) -> int:
    return max(_tallest(timeline, name) * UNIT, LEAST)


def _days(paper: Paper) -> Iterator[str]:
    """Draw nights, hours and dates by the zone's clock."""
    timeline = paper.timeline
    day = timeline.start.astimezone(paper.zone).replace(hour=0, minute=0, second=0, microsecond=0)
    while day < timeline.end:
        begin, end = max(day, timeline.start), min(day + timedelta(days=1), timeline.end)
        for start, over in ((day, day.replace(hour=8, minute=30)), (day.replace(hour=19, minute=30), end)):
            yield from _night(paper, max(start, begin), min(over, end))
        for at in (day.replace(hour=hour) for hour in HOURS):
            if begin <= at < end:
                yield from _hour(paper, at)
        if paper.x(end) - paper.x(begin) >= DATE:
            middle, y = paper.x(begin + (end - begin) / 2), paper.floor + 34
            yield f'<text x="{middle:.1f}" y="{y:.1f}" text-anchor="middle" fill="{INK}">{day:%a %d %b}</text>'
        day += timedelta(days=1)
    zone = f"hours in {paper.zone.key}"
    yield f'<text x="{MARGIN}" y="{paper.floor + 16:.1f}" font-size="10" fill="{FAINT}">{escape(zone)}</text>'


def _strips(paper: Paper, strips: Sequence[Strip]) -> Iterator[str]:
    """Draw the strips; words that begin where those before have not ended stand in the other row."""
    ends = [0.0, 0.0]
    for strip in strips:
        x = paper.x(strip.at)
        row = 0 if x >= ends[0] else 1
        if strip.text:
            ends[row] = x + SMALL * len(strip.text)
        yield from _strip(paper, strip, row)


def _strip(paper: Paper, strip: Strip, row: int) -> Iterator[str]:
    x, y = paper.x(strip.at), TOP - STRIP
    width = max(paper.x(strip.until) - x, 1)
    yield (
        f'<rect class="strip" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{STRIP}" fill="{strip.colour}">'
        f"<title>{escape(strip.title)}</title></rect>"
    )
    if strip.text:
        yield f'<text x="{x:.1f}" y="{y - 4 - ROW * row}" font-size="10" fill="{INK}">{escape(strip.text)}</text>'


def _night(paper: Paper, start: datetime, over: datetime) -> Iterator[str]:
    if over > start:
        x, width = paper.x(start), paper.x(over) - paper.x(start)
        tall = paper.floor - TOP
        yield f'<rect x="{x:.1f}" y="{TOP}" width="{width:.1f}" height="{tall:.1f}" fill="{NIGHT}"/>'


def _hour(paper: Paper, at: datetime) -> Iterator[str]:
    x, y = paper.x(at), paper.floor
    weight = 1 if at.hour == 0 else 0.5
    yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{y + 4:.1f}" stroke="{GRID}" stroke-width="{weight}"/>'
    yield f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle" font-size="10" fill="{FAINT}">{at:%H}</text>'


def _lane(paper: Paper, name: str, floor: float, colour: str) -> Iterator[str]:
    """Draw one lane; a replica has the same height in every lane."""
    timeline, tallest = paper.timeline, _tallest(paper.timeline, name)
    yield f'<text x="{MARGIN}" y="{floor - 20:.1f}" fill="{INK}" font-weight="600">{escape(name)}</text>'
    yield f'<text x="{MARGIN}" y="{floor - 4:.1f}" fill="{FAINT}">{_up_to(paper.timeline, name)}</text>'
    for count in range(tallest + 1):
        y, stroke = floor - count * UNIT, GRID if count else FAINT
        end = WIDTH - RIGHT
        yield f'<line x1="{paper.left:.1f}" y1="{y:.1f}" x2="{end}" y2="{y:.1f}" stroke="{stroke}" stroke-width="0.5"/>'
        yield _number(paper.left - 5, y + 3, count)
    for at, until, count in timeline.steps(name):
        if count:
            x, top = paper.x(at), count * UNIT
            width = max(paper.x(until) - x, 1)
            begun, ended = at.astimezone(paper.zone), until.astimezone(paper.zone)
            what = f"{count} x {begun:%a %H:%M} to {ended:%a %H:%M} {begun:%Z}"
            yield (
                f'<rect class="bar" x="{x:.1f}" y="{floor - top:.1f}" width="{width:.1f}" height="{top}" '
                f'fill="{colour}"><title>{escape(what)}</title></rect>'
            )
    used, always = timeline.replica_hours(name), timeline.always_on_hours(paper.replicas)
    x = WIDTH - RIGHT + 12
    yield f'<text x="{x}" y="{floor - 20:.1f}" fill="{INK}" font-weight="600">{used:.0f} replica-hours</text>'
    yield f'<text x="{x}" y="{floor - 4:.1f}" fill="{FAINT}">always on: {always:.0f}</text>'


def _number(x: float, y: float, count: int) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="end" font-size="9" fill="{FAINT}">{count}</text>'
