"""Each step of a history is marked: idle, used, or unknown.

A short gap between idle steps is bridged, one that touches use is use, and a longer one stays unknown, which counts as
use wherever it matters. A job that runs each hour, day and night, is part of the floor.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from keda_py.core.advice.floor import Floor, weeks_of
from keda_py.core.advice.history import History

IDLE, UNKNOWN, USED, ABSENT = range(4)
"""ABSENT: a local time that a day does not have, or that lies outside of the history."""
_BRIDGED = 900
"""Seconds of a gap that may be bridged."""
_LASTING = 900
"""Seconds above the noise that are use, also below what is clearly use."""
_HOURLY, _MOST_HOURLY = 0.9, 1 / 2
"""A minute of the hour that is used in so many of all hours, day and night, is a job's; and at most so many of them."""
_ABOVE_JOB, _BESIDE_USE = 2.0, 1.25
"""A value above so many times that of the job alone is use besides; next to other use, less is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """One byte a step. `spikes` of the floor were not taken for use; `hourly` are minutes of the hour of a job."""

    steps: bytearray
    spikes: int
    hourly: tuple[int, ...]


def mark_weeks(history: History, floors: Sequence[Floor]) -> Marks:
    """The marks of a history whose floor is another one in each of its weeks."""
    parts = [mark_steps(week, floor) for week, floor in zip(weeks_of(history), floors, strict=True)]
    return Marks(
        steps=bytearray().join(each.steps for each in parts),
        spikes=sum(each.spikes for each in parts),
        hourly=tuple(sorted({minute for each in parts for minute in each.hourly})),
    )


def mark_steps(history: History, floor: Floor) -> Marks:
    """Classify each step as used, idle or unknown, and find the hourly jobs."""
    steps = bytearray(
        UNKNOWN if math.isnan(value) else USED if value > floor.noise else IDLE for value in history.values
    )
    hourly = _hourly(history, steps)
    _take_out(history, steps, hourly)
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


def _take_out(history: History, steps: bytearray, hourly: Sequence[int]) -> None:
    """Mark hourly jobs as idle, but for those with use besides: twice the job alone, or next to use and a bit more."""
    each = 3600 // history.step
    seen, jobs, raised = bytes(steps), bytearray(len(steps)), bytearray(len(steps))
    for at in hourly:
        alone = _job_alone(history, seen, range(at, len(seen), each))
        for number in range(at, len(seen), each):
            if seen[number] == USED and history.values[number] <= _ABOVE_JOB * alone:
                steps[number], jobs[number] = IDLE, 1
                raised[number] = history.values[number] > _BESIDE_USE * alone
    for start, end in _beside_use(steps, jobs, raised):
        steps[start:end] = bytes([USED]) * (end - start)


def _beside_use(steps: bytearray, jobs: bytearray, raised: bytearray) -> list[tuple[int, int]]:
    """Jobs between use, and raised ones that touch use: at its beginning and its end a job hides a part of it."""
    found = []
    for start, end in runs_of(jobs, 1):
        sides = [USED in steps[max(start - 1, 0) : start], USED in steps[end : end + 1]]
        if all(sides) or (any(sides) and any(raised[start:end])):
            found.append((start, end))
    return found


def _job_alone(history: History, steps: bytes, numbers: range) -> float:
    """Return the median value of the job in the hours in which nothing else is used, or of the lower half of all."""
    used = [number for number in numbers if steps[number] == USED]
    alone = [
        number for number in used if IDLE in (*steps[max(number - 1, 0) : number], *steps[number + 1 : number + 2])
    ]
    values = sorted(history.values[number] for number in alone or used)
    return values[len(values) // (2 if alone else 4)] if values else 0.0


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
