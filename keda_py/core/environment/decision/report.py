"""The status of an Environment: what was decided, in words, and what is to be remembered. A pure function of both."""

from dataclasses import dataclass
from datetime import timedelta

from keda_py.apis.environments.calendar import ChangeStatus
from keda_py.apis.environments.environment import EnvironmentStatus, OverrideInForce, WaveStatus
from keda_py.apis.wire import Condition
from keda_py.core.environment.decision.goal import TOO_MANY, Goal, NextChange, Reason
from keda_py.core.environment.decision.members import MemberDecision
from keda_py.core.environment.decision.seen import EnvironmentSeen, MemberSeen
from keda_py.core.environment.decision.state import (
    EnvironmentState,
    Phase,
    Stage,
    write_members,
    write_transition,
    write_wake,
)
from keda_py.core.environment.overrides import OverrideSpec
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.values.times import write_time

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """All that a status tells of."""

    spec: EnvironmentSpec
    goal: Goal
    next_change: NextChange | None
    lead: timedelta
    crowded: bool
    seen: EnvironmentSeen
    members: tuple[MemberDecision, ...]
    state: EnvironmentState


def status_of(picture: Picture) -> EnvironmentStatus:
    """The whole status; it is written only when it differs from the stored one."""
    state, goal, following = picture.state, picture.goal, picture.next_change
    own = [member for member in picture.seen.members if not member.owned_by and not member.released]
    ready = [member for member in own if _is_ready(member, state)]
    lead = int(picture.lead.total_seconds())
    return EnvironmentStatus(
        phase=state.phase.value,
        phase_since="" if state.since is None else write_time(state.since),
        because=goal.because,
        ready=f"{len(ready)}/{len(own)}",
        members_ready=len(ready),
        members_total=len(own),
        waves=_waves(picture, own, ready),
        next_change=None
        if following is None
        else ChangeStatus(at=write_time(following.at), to=following.to.value, because=following.because),
        override=None if goal.override is None else _override(goal.override),
        last_wake=None if state.last_wake is None else write_wake(state.last_wake),
        wakes=list(state.wakes),
        lead=f"{lead}s" if lead else "",
        transition=None if state.transition is None else write_transition(state.transition),
        members=write_members(state.members),
        conditions=_conditions(picture, own, ready),
    )


def _is_ready(member: MemberSeen, state: EnvironmentState) -> bool:
    """Up as its owner left it, or as an Override or a person wants it, with all pods ready."""
    remembered = state.members.get(member.key)
    if remembered is None or remembered.stage in (Stage.KEPT, Stage.PINNED, Stage.CONTESTED):
        return member.ready and member.count is not None
    return False


def _waves(picture: Picture, own: list[MemberSeen], ready: list[MemberSeen]) -> list[WaveStatus]:
    if not picture.spec.waves:
        return []
    transition = picture.state.transition
    late = () if transition is None else transition.timed_out
    return [
        WaveStatus(
            name=name,
            ready=sum(member.wave == position for member in ready),
            total=sum(member.wave == position for member in own),
            timed_out=name in late,
        )
        for position in range(len(picture.spec.waves) + 1)
        for name in (picture.spec.wave_name(position),)
    ]


def _override(override: OverrideSpec) -> OverrideInForce:
    return OverrideInForce(
        name=override.name,
        state=override.state.value,
        until="" if override.ends is None else write_time(override.ends),
        requested_by=override.requested_by,
        reason=override.reason,
        summary=override.summary,
    )


def _conditions(picture: Picture, own: list[MemberSeen], ready: list[MemberSeen]) -> list[Condition]:
    return [
        _ready(picture, own, ready),
        _condition("Asleep", picture.state.phase is Phase.ASLEEP, picture.goal.reason.value, picture.goal.because),
        _valid(picture),
        _contested(picture),
        _conflict(picture),
    ]


def _ready(picture: Picture, own: list[MemberSeen], ready: list[MemberSeen]) -> Condition:
    """What `kubectl wait --for=condition=Ready` waits for: awake, and every member ready."""
    phase = picture.state.phase
    if phase is not Phase.AWAKE:
        return _condition("Ready", False, phase.value or "Unknown", picture.goal.because)
    known = {member.key for member in ready}
    missing = [member.key for member in own if member.key not in known]
    if missing:
        return _condition("Ready", False, "MembersNotReady", f"not ready: {_names(missing)}")
    return _condition("Ready", True, "AllReady", f"{len(own)} members are ready")


def _valid(picture: Picture) -> Condition:
    error = picture.seen.calendar_error
    if error or picture.goal.reason is Reason.CALENDAR_INVALID:
        return _condition("Valid", False, "CalendarInvalid", error)
    if picture.seen.kinds_error:
        return _condition("Valid", False, "KindUnknown", picture.seen.kinds_error)
    if picture.crowded:
        return _condition("Valid", False, "TooManyMembers", TOO_MANY)
    if empty := _empty_wave(picture):
        return _condition("Valid", False, "WaveSelectsNothing", empty)
    return _condition("Valid", True, "Valid", "")


def _empty_wave(picture: Picture) -> str:
    """The first wave without members, of an environment that has some; it takes no time."""
    filled = {member.wave for member in picture.seen.members if not member.released}
    for position, wave in enumerate(picture.spec.waves):
        if filled and position not in filled:
            return f"spec.waves[{position}].selector: wave {wave.name!r} selects no member; correct it, or take it out"
    return ""


def _contested(picture: Picture) -> Condition:
    found = {key: each for key, each in picture.state.members.items() if each.stage is Stage.CONTESTED}
    told = next((each.because for each in picture.members if each.key in found), "")
    message = f"{_names(sorted(found))}: {told}" if found else ""
    return _condition("Contested", bool(found), "PutBackTwice" if found else "NotContested", message)


def _conflict(picture: Picture) -> Condition:
    taken = {member.key: member.owned_by for member in picture.seen.members if member.owned_by}
    if not taken:
        return _condition("Conflict", False, "NoConflict", "")
    owners = _names(sorted(set(taken.values())))
    return _condition(
        "Conflict", True, "OwnedByAnother", f"{_names(sorted(taken))}: another Environment has them: {owners}"
    )


def _condition(kind: str, holds: bool, reason: str, message: str) -> Condition:
    return Condition(type=kind, status="True" if holds else "False", reason=reason, message=message)


def _names(keys: list[str]) -> str:
    more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
    return ", ".join(keys[:_MOST_NAMED]) + more
