"""`minReplicaCount: 0` of ScaledObjects whose replicas were up without work, though their own triggers would wake them.

Only the triggers' own history counts: requests that come past the triggers would meet a workload that is not there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

from keda_py.advice.proposals.advise import Advice, Proposal
from keda_py.advice.proposals.manifest_workloads import Body
from keda_py.advice.proposals.workload import LowerMinimum, WorkloadKey
from keda_py.apis.foreign import maps_at, text_at, value_at
from keda_py.core.advice.candidates import Use
from keda_py.core.advice.hours import SHORTEST_SLEEP
from keda_py.core.advice.marks import IDLE, runs_of
from keda_py.core.environment.calendar.days import DAY

_WORTH = 7.0
"""Hours a week for which nothing is patched, as for hours of an Environment."""
_COOLDOWN = 300
"""Seconds, of a ScaledObject that says none."""


def with_lower_minimum(advice: Advice, written: Sequence[Body]) -> Advice:
    """The same advice; with a lower minimum, unless it is 0 already, or only CPU and memory scale the ScaledObject."""
    workload = advice.observed.workload
    body = next((each for each in written if WorkloadKey.of(each) == workload), None)
    if workload.kind != "ScaledObject" or body is None or advice.use is None or not _can_wake(body):
        return advice
    return replace(advice, lower=_lower(advice, advice.use, body))


def _can_wake(body: Body) -> bool:
    """KEDA refuses 0 where only CPU and memory scale, as nothing would wake it."""
    triggers = {text_at(each, "type") for each in maps_at(body, "spec", "triggers")}
    return bool(triggers - {"cpu", "memory", ""})


def _lower(advice: Advice, use: Use, body: Body) -> LowerMinimum | None:
    minimum, cooldown = (value_at(body, "spec", field) for field in ("minReplicaCount", "cooldownPeriod"))
    if not isinstance(minimum, int) or minimum < 1 or value_at(body, "spec", "idleReplicaCount") is not None:
        return None
    cooldown = cooldown if isinstance(cooldown, int) and cooldown >= 0 else _COOLDOWN
    spells = [seconds - cooldown for seconds in _idle_spells(advice, use) if seconds - cooldown >= SHORTEST_SLEEP * 60]
    weeks = len(use.days) / 7
    idle = sum(spells) / 3600 / weeks
    if idle < _WORTH:
        return None
    return LowerMinimum(minimum=minimum, idle_a_week=idle, wakes_a_week=len(spells) / weeks)


def _idle_spells(advice: Advice, use: Use) -> Iterator[int]:
    """Seconds of each time without work while it is awake by the hours that are proposed."""
    step = use.history.step
    marks, stop = bytearray(), b"\xff"
    before: date | None = None
    for day in sorted(use.days):
        if before is not None and day != before + timedelta(days=1):
            marks += stop  # days were taken out: what is idle before them does not go on after them
        row = use.days[day]
        asleep = _asleep(advice, day, len(row))
        marks += bytes(stop[0] if off else mark for mark, off in zip(row, asleep, strict=True))
        before = day
    yield from ((end - start) * step for start, end in runs_of(marks, IDLE))


def _asleep(advice: Advice, day: date, slots: int) -> Sequence[bool]:
    if not isinstance(advice, Proposal):
        return [False] * slots
    asleep = [True] * slots
    minutes = DAY // slots
    for window in advice.candidate.hours:
        for each in window.days:
            first = ((each - day.weekday() + 1) % 7 - 1) * DAY  # -1: the day before, whose window may go on into this
            for minute in range(window.start + first, window.end + first, minutes):
                if 0 <= minute < DAY:
                    asleep[minute // minutes] = False
    return asleep
