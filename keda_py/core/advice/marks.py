"""Each step of a history is marked: idle, used, or unknown.

A short gap between idle steps is bridged, one that touches use is use, and a longer one stays unknown, which counts as
use wherever it matters. A job that runs each hour, day and night, is part of the floor.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from keda_py.core.advice.floor import Floor
from keda_py.core.advice.history import History

IDLE, UNKNOWN, USED, ABSENT = range(4)
"""ABSENT: a local time that a day does not have, or that lies outside of the history."""
_BRIDGED = 900
"""Seconds of a gap that may be bridged."""
_LASTING = 900
"""Seconds above the noise that are use, also below what is clearly use."""
_HOURLY, _MOST_HOURLY = 0.9, 1 / 3
"""A minute of the hour that is used in so many of all hours, day and night, is a job's; and at most so many of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """One byte a step. `spikes` of the floor were not taken for use; `hourly` are minutes of the hour of a job."""

    steps: bytearray
    spikes: int
    hourly: tuple[int, ...]


def mark_steps(history: History, floor: Floor) -> Marks:
    """Classify each step as used, idle or unknown, and find the hourly jobs."""
    steps = bytearray(
        UNKNOWN if math.isnan(value) else USED if value > floor.noise else IDLE for value in history.values
    )
    hourly = _hourly(history, steps)
    for at in hourly:
        _take_out(steps, at, 3600 // history.step)
    spikes = _drop_spikes(history, floor, steps) if floor.level > 0 else 0
    _bridge(steps, _BRIDGED // history.step)
    first = history.origin.minute * 60
    minutes = sorted((first + at * history.step) // 60 % 60 for at in hourly)
    return Marks(steps=steps, spikes=spikes, hourly=tuple(minutes))


def join_marks(one: bytearray, other: bytearray) -> bytearray:
    """Used where either is, idle where both are. IDLE < UNKNOWN < USED, so that the larger mark rules."""
    return bytearray(map(max, one, other))


def runs_of(steps: Sequence[int], mark: int) -> Iterator[tuple[int, int]]:
    """[first, last) of each run of one mark."""
    start = None
    for at, each in enumerate(steps):
        if each == mark and start is None:
            start = at
        elif each != mark and start is not None:
            yield start, at
            start = None
    if start is not None:
        yield start, len(steps)


def close_sessions(steps: bytearray, most: int) -> bytearray:
    """The same, with pauses of up to `most` steps within use as use: a few requests an hour are a working day, too."""
    closed = bytearray(steps)
    used = list(runs_of(steps, USED))
    for (_, end), (start, _) in pairwise(used):
        if start - end <= most:
            closed[end:start] = bytes([USED]) * (start - end)
    return closed


def _hourly(history: History, steps: bytearray) -> list[int]:
    """Positions in the hour, from the first step on, that are used in nearly all hours while the others are not."""
    each = 3600 // history.step
    found = []
    for at in range(each):
        column = steps[at::each]
        known = len(column) - column.count(UNKNOWN)
        if known and column.count(USED) >= _HOURLY * known:
            found.append(at)
    return found if len(found) <= each * _MOST_HOURLY else []


def _take_out(steps: bytearray, at: int, each: int) -> None:
    """Replace the minute of an hourly job by what stands on both sides of it."""
    for number in range(at, len(steps), each):
        if steps[number] == USED:
            before = steps[number - 1] if number else IDLE
            after = steps[number + 1] if number + 1 < len(steps) else IDLE
            steps[number] = USED if before == after == USED else IDLE


def _drop_spikes(history: History, floor: Floor, steps: bytearray) -> int:
    """Moments above the noise that are neither clear nor lasting nor beside use are idle; how many there were."""
    lasting, near = max(_LASTING // history.step, 2), _BRIDGED // history.step
    weak = [
        (start, end)
        for start, end in runs_of(steps, USED)
        if end - start < lasting and max(history.values[start:end]) <= floor.clear
    ]
    for start, end in weak:
        steps[start:end] = bytes([IDLE]) * (end - start)
    kept = [
        (start, end) for start, end in weak if USED in steps[max(start - near, 0) : start] + steps[end : end + near]
    ]
    for start, end in kept:
        steps[start:end] = bytes([USED]) * (end - start)
    return len(weak) - len(kept)


def _bridge(steps: bytearray, most: int) -> None:
    for start, end in list(runs_of(steps, UNKNOWN)):
        if end - start > most or not start or end == len(steps):
            continue
        touches = USED in (steps[start - 1], steps[end])
        steps[start:end] = bytes([USED if touches else IDLE]) * (end - start)
