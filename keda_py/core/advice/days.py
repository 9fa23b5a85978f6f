"""Marked steps laid onto local days: the wall clock of a zone, so that summer time moves no habit."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from keda_py.core.advice.history import History
from keda_py.core.advice.marks import ABSENT, IDLE


@dataclass(frozen=True, slots=True)
class _Piece:
    """Steps from `first` on that fill `count` slots of a day from `slot` on."""

    first: int
    day: date
    slot: int
    count: int


def lay_on_days(history: History, steps: bytearray, zone: ZoneInfo) -> Mapping[date, bytearray]:
    """A row of slots for each day, in order. An hour that occurs twice is used where either is."""
    slots = 86_400 // history.step
    days: dict[date, bytearray] = {}
    for piece in _pieces(zone, history.origin, history.step, len(steps)):
        row = days.setdefault(piece.day, bytearray([ABSENT]) * slots)
        for number in range(piece.count):
            at, mark = piece.slot + number, steps[piece.first + number]
            row[at] = mark if row[at] in (ABSENT, IDLE) else max(row[at], mark)
    return days


@lru_cache(maxsize=64)
def _pieces(zone: ZoneInfo, origin: datetime, step: int, count: int) -> tuple[_Piece, ...]:
    """Hour by hour, as clocks change at full hours and quarters of them only; joined within a day."""
    pieces: list[_Piece] = []
    at, first = origin, 0
    while first < count:
        length = min((3600 - at.minute * 60) // step, count - first)
        local = at.astimezone(zone)
        for part in _within_a_day(first, local.date(), (local.hour * 60 + local.minute) * 60 // step, length, step):
            last = pieces[-1] if pieces else None
            if last is not None and last.day == part.day and last.slot + last.count == part.slot:
                pieces[-1] = _Piece(last.first, last.day, last.slot, last.count + part.count)
            else:
                pieces.append(part)
        first, at = first + length, at + timedelta(seconds=length * step)
    return tuple(pieces)


def _within_a_day(first: int, day: date, slot: int, count: int, step: int) -> list[_Piece]:
    """An hour of a zone that lies half an hour off reaches over midnight."""
    here = min(count, 86_400 // step - slot)
    parts = [_Piece(first, day, slot, here)]
    if here < count:
        parts.append(_Piece(first + here, day + timedelta(days=1), 0, count - here))
    return parts
