"""The timeline as an SVG picture: one lane a workload, bars as high as its replicas, nights shaded. Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from html import escape
from zoneinfo import ZoneInfo

from keda_py.demo.timeline import Timeline

WIDTH, LANE, LEFT, TOP, RIGHT = 1000, 96, 190, 54, 130
TITLE = "Asleep at night, awake in the morning"
COLOURS = ("#3b82c4", "#4a9d6e", "#c47f3b")
INK, FAINT, NIGHT = "#24292f", "#8b949e", "#eef1f5"
FONT = 'font-family="system-ui, sans-serif"'


def draw(timeline: Timeline, names: Sequence[str], zone: ZoneInfo) -> str:
    """The whole picture as text."""
    height = TOP + LANE * len(names) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {FONT} font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="16" y="24" font-size="16" font-weight="600" fill="{INK}">{TITLE}</text>',
        *_days(timeline, zone, height),
    ]
    for index, name in enumerate(names):
        parts += _lane(timeline, name, TOP + LANE * index, COLOURS[index % len(COLOURS)])
    return "\n".join([*parts, "</svg>", ""])


def _x(timeline: Timeline, at: datetime) -> float:
    share = (at - timeline.start) / (timeline.end - timeline.start)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _days(timeline: Timeline, zone: ZoneInfo, height: int) -> Iterator[str]:
    day = timeline.start.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    while day < timeline.end:
        begin, end = max(day, timeline.start), min(day + timedelta(days=1), timeline.end)
        for start, over in ((day, day.replace(hour=8, minute=30)), (day.replace(hour=19, minute=30), end)):
            left, right = max(start, begin), min(over, end)
            if right > left:
                x, tall = _x(timeline, left), height - TOP - 18
                width = _x(timeline, right) - x
                yield f'<rect x="{x:.1f}" y="{TOP - 8}" width="{width:.1f}" height="{tall}" fill="{NIGHT}"/>'
        middle = _x(timeline, begin + (end - begin) / 2)
        yield f'<text x="{middle:.1f}" y="{height - 10}" text-anchor="middle" fill="{FAINT}">{day:%a %d %b}</text>'
        day += timedelta(days=1)


def _lane(timeline: Timeline, name: str, y: int, colour: str) -> Iterator[str]:
    steps = timeline.steps(name)
    tallest = max((count for _, _, count in steps), default=1) or 1
    room, floor = LANE - 34, y + LANE - 16
    yield f'<text x="16" y="{floor - 26}" fill="{INK}" font-weight="600">{escape(name)}</text>'
    yield f'<text x="16" y="{floor - 10}" fill="{FAINT}">up to {tallest} replica{"s" if tallest > 1 else ""}</text>'
    yield f'<line x1="{LEFT}" y1="{floor}" x2="{WIDTH - RIGHT}" y2="{floor}" stroke="{FAINT}" stroke-width="1"/>'
    for at, until, count in steps:
        if count:
            x, top = _x(timeline, at), count / tallest * room
            width = max(_x(timeline, until) - x, 1)
            what = f"{count} x {at:%a %H:%M} to {until:%a %H:%M} UTC"
            yield (
                f'<rect x="{x:.1f}" y="{floor - top:.1f}" width="{width:.1f}" height="{top:.1f}" fill="{colour}">'
                f"<title>{escape(what)}</title></rect>"
            )
    used, always = timeline.replica_hours(name), timeline.always_on_hours()
    x = WIDTH - RIGHT + 12
    yield f'<text x="{x}" y="{floor - 26}" fill="{INK}" font-weight="600">{used:.0f} replica-hours</text>'
    yield f'<text x="{x}" y="{floor - 10}" fill="{FAINT}">always on: {always:.0f}</text>'
