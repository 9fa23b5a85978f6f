"""A timeline cut into local days: hours up a day, and blocks of half an hour to draw. Pure.

A day of summer time has 23 or 25 hours. A block belongs to a time of the wall clock: the hour that comes twice is in
its blocks twice, of the skipped one they are empty.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from keda_py.replay.timeline import Span, Timeline

BLOCKS = 48
_BLOCK = timedelta(minutes=30)
_ONE = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """`shares` are the parts of each block for which it is up, 0 to 1; `spans` those with replicas, cut at midnight."""

    day: date
    up_seconds: float
    replica_seconds: float
    most: int
    shares: tuple[float, ...]
    spans: tuple[Span, ...]


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """Return the instant (UTC) with which the day begins there."""
    return datetime.combine(day, time(), zone).astimezone(UTC)


def days_of(timeline: Timeline, zone: ZoneInfo) -> Iterator[Day]:
    """Cut the timeline into the days that its period touches."""
    day = timeline.begins.astimezone(zone).date()
    spans = list(timeline.spans())
    while midnight(day, zone) < timeline.ends:
        yield _day(day, spans, zone)
        day += _ONE


def _day(day: date, spans: list[Span], zone: ZoneInfo) -> Day:
    begins, ends = midnight(day, zone), midnight(day + _ONE, zone)
    up = [part for span in spans if span.replicas and (part := _cut(span, begins, ends)) is not None]
    return Day(
        day=day,
        up_seconds=sum(span.seconds for span in up),
        replica_seconds=sum(span.seconds * span.replicas for span in up),
        most=max((span.replicas for span in up), default=0),
        shares=_shares(up, begins, ends, zone),
        spans=tuple(up),
    )


def _cut(span: Span, begins: datetime, ends: datetime) -> Span | None:
    start, end = max(span.start, begins), min(span.end, ends)
    return Span(start=start, end=end, replicas=span.replicas) if start < end else None


def _shares(up: list[Span], begins: datetime, ends: datetime, zone: ZoneInfo) -> tuple[float, ...]:
    whole, filled = [0.0] * BLOCKS, [0.0] * BLOCKS
    at = begins
    while at < ends:
        local = at.astimezone(zone)
        block = local.hour * 2 + local.minute // 30
        end = min(at + _BLOCK - timedelta(minutes=local.minute % 30), ends)
        whole[block] += (end - at).total_seconds()
        filled[block] += sum(max((min(span.end, end) - max(span.start, at)).total_seconds(), 0.0) for span in up)
        at = end
    return tuple(part / all_ if all_ else 0.0 for part, all_ in zip(filled, whole, strict=True))
