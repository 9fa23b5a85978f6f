"""The status of an Environment: what was decided, in words, and what is to be remembered. A pure function of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from keda_py.apis.environments.calendar import ChangeStatus
from keda_py.apis.environments.environment import (
    EnvironmentStatus,
    IdleSignal,
    IdleStatus,
    MemberUp,
    OverrideInForce,
    WaveStatus,
)
from keda_py.apis.wire import Condition
from keda_py.core.environment.decision.goal import TOO_MANY, Goal, GoalReason, NextChange
from keda_py.core.environment.decision.idleness import Signal
from keda_py.core.environment.decision.members import MemberDecision, MemberReason
from keda_py.core.environment.decision.observation import EnvironmentSeen, MemberSeen, Role
from keda_py.core.environment.decision.state import (
    Activity,
    EnvironmentState,
    Phase,
    Stage,
    write_members,
    write_transition,
    write_wake,
)
from keda_py.core.environment.decision.still_up import is_up, own_members, still_up_in_words
from keda_py.core.environment.overrides import OverrideSpec
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.values.times import write_time

RELEASED, COUNT_UNKNOWN, NOT_WRITTEN, STILL_UP = "Released", "CountUnknown", "NotWritten", "MembersStillUp"
"""A condition of an Environment that is being deleted, and the reasons that hold it up."""
_LET_GO = (
    "it is deleted as soon as that works; correct what is in the way, or scale by hand what is named here and take its "
    "finalizer finalizer.keda.sh off"
)
_LONGEST_ERROR = 500
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Everything the status is computed from."""

    spec: EnvironmentSpec
    goal: Goal
    next_change: NextChange | None
    lead: timedelta
    crowded: bool
    seen: EnvironmentSeen
    members: tuple[MemberDecision, ...]
    state: EnvironmentState
    still_up: list[MemberUp]
    signals: Sequence[Signal] = ()


def status_of(picture: Picture) -> EnvironmentStatus:
    """Compute the whole status; it is written only when it differs from the stored one."""
    state, goal, following = picture.state, picture.goal, picture.next_change
    own = own_members(picture.seen.members)
    ready = [member for member in own if _is_ready(member, state)]
    up = sum(is_up(member) for member in own)
    lead = int(picture.lead.total_seconds())
    return EnvironmentStatus(
        phase=state.phase.value,
        phase_since="" if state.since is None else write_time(state.since),
        because=goal.because,
        ready=f"{len(ready)}/{len(own)}",
        up=f"{up}/{len(own)}",
        members_ready=len(ready),
        members_up=up,
        members_total=len(own),
        still_up=picture.still_up,
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
        idle=None if state.activity is None else _idle(state.activity, picture.signals),
        conditions=_conditions(picture, own, ready),
    )


def _idle(activity: Activity, signals: Sequence[Signal]) -> IdleStatus:
    return IdleStatus(
        last_activity=write_time(activity.last),
        in_use=activity.in_use,
        revisions=activity.revisions,
        signals=[IdleSignal(name=one.name, use=one.use.value, because=one.because[:_LONGEST_ERROR]) for one in signals],
    )


def _is_ready(member: MemberSeen, state: EnvironmentState) -> bool:
    """Return whether it is up as its owner left it, or as an Override or a person wants it, with all pods ready."""
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
        reason="" if override.request else override.reason,
        request=override.request,
        summary=override.summary,
    )


def _conditions(picture: Picture, own: list[MemberSeen], ready: list[MemberSeen]) -> list[Condition]:
    return [
        _ready(picture, own, ready),
        _asleep(picture, own),
        _valid(picture),
        _contested(picture),
        _conflict(picture),
        *([_released(picture)] if picture.spec.deleting else []),
    ]


def _ready(picture: Picture, own: list[MemberSeen], ready: list[MemberSeen]) -> Condition:
    """Compute condition Ready, for `kubectl wait`: awake, and every member ready."""
    phase = picture.state.phase
    known = {member.key for member in ready}
    missing = [member for member in own if member.key not in known]
    if phase is not Phase.AWAKE:
        waits = _waits_for(picture, missing)
        return _condition("Ready", False, phase.value or "Unknown", waits + picture.goal.because)
    if missing:
        return _condition("Ready", False, "MembersNotReady", f"not ready: {_names(_keys(missing))}")
    return _condition("Ready", True, "AllReady", f"{len(own)} members are ready" if own else "it has no members")


def _asleep(picture: Picture, own: list[MemberSeen]) -> Condition:
    """Compute condition Asleep, for `kubectl wait`: nothing is up."""
    if picture.state.phase is Phase.FALLING_ASLEEP and picture.still_up:
        count = sum(is_up(member) for member in own)
        return _condition("Asleep", False, STILL_UP, still_up_in_words(count, picture.still_up))
    goal = picture.goal
    return _condition("Asleep", picture.state.phase is Phase.ASLEEP, goal.reason.value, goal.because)


def _waits_for(picture: Picture, missing: list[MemberSeen]) -> str:
    """Name what the wave of a wake waits for: `wave core waits for Deployment/search; `."""
    transition = picture.state.transition
    if picture.state.phase is not Phase.WAKING or transition is None:
        return ""
    late = _keys([member for member in missing if member.wave == transition.wave])
    return f"wave {picture.spec.wave_name(transition.wave)} waits for {_names(late)}; " if late else ""


def _keys(members: list[MemberSeen]) -> list[str]:
    return [member.key for member in members]


def _valid(picture: Picture) -> Condition:
    error = picture.seen.calendar_error
    if error or picture.goal.reason is GoalReason.CALENDAR_INVALID:
        return _condition("Valid", False, "CalendarInvalid", error)
    if picture.seen.status_error:
        return _condition("Valid", False, "StatusUnreadable", picture.seen.status_error)
    if picture.seen.kinds_error:
        return _condition("Valid", False, "KindUnknown", picture.seen.kinds_error)
    if picture.crowded:
        return _condition("Valid", False, "TooManyMembers", TOO_MANY)
    if empty := _empty_wave(picture):
        return _condition("Valid", False, "WaveSelectsNothing", empty)
    return _condition("Valid", True, "Valid", "")


def _empty_wave(picture: Picture) -> str:
    """Find the first wave without members, in an environment that has some; it takes no time."""
    filled = {member.wave for member in picture.seen.members if not member.released}
    for position, wave in enumerate(picture.spec.waves):
        if filled and position not in filled:
            return f"spec.waves[{position}].selector: wave {wave.name!r} selects no member; correct it, or take it out"
    return ""


def _contested(picture: Picture) -> Condition:
    found = {key: each for key, each in picture.state.members.items() if each.stage is Stage.CONTESTED}
    because = next((each.because for each in picture.members if each.key in found), "")
    message = f"{_names(sorted(found))}: {because}" if found else ""
    return _condition("Contested", bool(found), "PutBackTwice" if found else "NotContested", message)


def _conflict(picture: Picture) -> Condition:
    taken = {member.key: member.owned_by for member in picture.seen.members if member.owned_by}
    if not taken:
        return _condition("Conflict", False, "NoConflict", "")
    owners = _names(sorted(set(taken.values())))
    return _condition(
        "Conflict", True, "OwnedByAnother", f"{_names(sorted(taken))}: another Environment has them: {owners}"
    )


def held_up(status: EnvironmentStatus) -> str:
    """Say why an Environment that is being deleted cannot go; "" if nothing is in the way."""
    found = (one for one in status.conditions if one.type == RELEASED and one.reason in (COUNT_UNKNOWN, NOT_WRITTEN))
    return next((one.message for one in found), "")


def _released(picture: Picture) -> Condition:
    """Say what the members of an Environment that is being deleted still wait for, and what may be done about it."""
    waiting = [each for each in picture.members if each.state is not None]
    unknown = [each.key for each in waiting if each.reason is MemberReason.COUNT_UNKNOWN]
    counts = ", ".join(f"{each.key} {each.state.replicas}" for each in waiting[:_MOST_NAMED] if each.state is not None)
    if not waiting:
        return _condition(RELEASED, True, "AllGivenBack", "")
    if unknown:
        message = f"the count of {_names(unknown)} cannot be read; {_LET_GO} ({counts})"
        return _condition(RELEASED, False, COUNT_UNKNOWN, message)
    errors = {one.key: one.error for one in picture.seen.members if one.role is not Role.SCALED_OBJECT}
    if error := next(filter(None, (errors.get(each.key, "") for each in waiting)), ""):
        message = f"a count cannot be given back: {error[:_LONGEST_ERROR]}; {_LET_GO} ({counts})"
        return _condition(RELEASED, False, NOT_WRITTEN, message)
    return _condition(RELEASED, False, "GivingBack", "members get their counts back")


def _condition(kind: str, holds: bool, reason: str, message: str) -> Condition:
    return Condition(type=kind, status="True" if holds else "False", reason=reason, message=message)


def _names(keys: list[str]) -> str:
    more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
    return ", ".join(keys[:_MOST_NAMED]) + more
