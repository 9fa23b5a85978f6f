"""Forecast of an Override before it is created: what it will do, and when. Pure.

It follows from the Environment's status, which knows the next change of its calendar, and no later one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.apis.environments.environment import Environment, EnvironmentStatus
from keda_py.core.environment.decision.state import Phase
from keda_py.core.environment.overrides import OverrideState
from keda_py.environments.words import calendar_of, change_of, override_in_words, time_of
from keda_py.terminal.times import Times, spoken_duration

_UP = (Phase.AWAKE, Phase.WAKING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Planned Override; `ends` None is the next change of the calendar."""

    state: OverrideState
    target: str
    """Name for sentences: `dev`, `Deployment web`."""
    starts: datetime
    ends: datetime | None


def forecast(plan: Plan, environment: Environment | None, times: Times) -> Iterator[str]:
    """Yield sentences; `environment` is None if the target is another object or may not be read."""
    status = environment.status if environment is not None else EnvironmentStatus()
    ends = _end_of(plan, status)
    yield f"{plan.target} {_what(plan, status, times)}{_until(ends, times)}"
    if environment is None:
        return
    if status.override is not None:
        yield f"before, it was {override_in_words(status.override, times)}; the newer Override goes before"
    elif plan.starts <= times.now:
        yield from _instead(plan, status, ends, times)
    yield f"then {calendar_of(environment)} {'rule' if environment.spec.calendar_ref is None else 'rules'} again"


def _end_of(plan: Plan, status: EnvironmentStatus) -> datetime | None:
    change = change_of(status)
    if plan.ends is not None or change is None or status.override is not None:
        return plan.ends
    return change[1] if change[1] > plan.starts else None


def _until(ends: datetime | None, times: Times) -> str:
    if ends is None:
        return " until the next change of its calendar"
    return f" until {times.spoken(ends)}, for {times.until(ends)} from now"


def _what(plan: Plan, status: EnvironmentStatus, times: Times) -> str:
    if plan.starts > times.now:
        verbs = {OverrideState.AWAKE: "is kept awake", OverrideState.ASLEEP: "is put to sleep"}
        return f"{verbs.get(plan.state, 'is held as it is then')} from {times.spoken(plan.starts)}"
    phase = Phase(status.phase)
    match plan.state:
        case OverrideState.AWAKE:
            return "stays awake" if phase is Phase.AWAKE else f"wakes now{_wake_duration(status)} and stays awake"
        case OverrideState.ASLEEP:
            return "stays asleep" if phase is Phase.ASLEEP else "goes to sleep now and stays asleep"
        case _:
            return "stays as it is, neither up nor down,"


def _wake_duration(status: EnvironmentStatus) -> str:
    last = status.last_wake
    if last is None or not last.seconds:
        return ""
    return f" (the last wake took {spoken_duration(timedelta(seconds=last.seconds))})"


def _instead(plan: Plan, status: EnvironmentStatus, ends: datetime | None, times: Times) -> Iterator[str]:
    """Say what it would do without the Override; if that is the same, say that the Override has no effect."""
    change, phase = change_of(status), Phase(status.phase)
    is_same = phase in _UP if plan.state is OverrideState.AWAKE else phase is Phase.ASLEEP
    is_same = is_same and plan.state is not OverrideState.HOLD
    if change is not None and ends is not None and times.now < change[1] < ends:
        yield f"without this Override it {change[0]} {times.moment(change[1])}, in {times.until(change[1])}"
    elif is_same and time_of(status.phase_since) is not None:
        yield "this changes nothing: its calendar says the same until then"
