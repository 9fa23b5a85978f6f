"""Decisions about one member: from the wish, what is remembered and what is seen, to what is done now.

`observe` first brings the stage up to date with what is seen, then `act` begins what is the member's turn. A count of
0 is asleep. What `act` returns as the state is stored before its action is done.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from keda_py.core.environment.decision.observation import Heir, MemberSeen, Role, Writer, writer_of
from keda_py.core.environment.decision.state import MemberState, Stage
from keda_py.core.hpa.conditions import ZeroMark

MOST_PUT_BACKS = 2


class MemberReason(StrEnum):
    """The reason why a member is left or changed; one for each row of `act`."""

    COUNT_UNKNOWN = "CountUnknown"
    OWNED_BY_ANOTHER = "OwnedByAnother"
    HELD = "Held"
    PINNED = "Pinned"
    AWAKE = "Awake"
    NOT_READY = "NotReady"
    WOKEN = "Woken"
    WAITS_TO_WAKE = "WaitsToWake"
    GIVEN_BACK = "GivenBack"
    ASLEEP = "Asleep"
    YOUNG = "Young"
    TOO_MANY = "TooManyMembers"
    WAITS_TO_SLEEP = "WaitsToSleep"
    PUT_TO_SLEEP = "PutToSleep"
    PUT_TO_SLEEP_AGAIN = "PutToSleepAgain"
    WOKEN_BY_TRIGGER = "WokenByTrigger"
    KEPT_UP = "KeptUp"
    CONTESTED = "Contested"


class Wish(StrEnum):
    """The wish for a member, by the goal of its environment or an Override of its own."""

    UP = "Up"
    DOWN = "Down"
    LEAVE = "Leave"
    EXACTLY = "Exactly"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberGoal:
    """The wish, whether it is the member's turn, and for an exact count that count."""

    wish: Wish
    turn: bool = True
    replicas: int = 0
    young_until: datetime | None = None
    """Until then it is too new to be put to sleep."""
    triggers_wake: bool = False
    crowded: bool = False
    """True if there is no room to remember one member more."""
    held: bool = False
    """True if an Override says Hold of this very member: its triggers do not scale it either."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Leave it as it is; of a ScaledObject: no overlay."""


@dataclass(frozen=True, slots=True)
class SetReplicas:
    """Scale the workload to that count, with the resourceVersion that was seen."""

    replicas: int


@dataclass(frozen=True, slots=True)
class Suspend:
    """Set `spec.suspend` of the CronJob."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Clear `spec.suspend` of the CronJob."""


@dataclass(frozen=True, slots=True)
class OverlayAsleep:
    """The ScaledObject is at 0, whatever its min; with `triggers_wake` an active trigger may wake it."""

    triggers_wake: bool = False


@dataclass(frozen=True, slots=True)
class OverlayHold:
    """The ScaledObject does not scale: its workload stays as it is."""


@dataclass(frozen=True, slots=True)
class OverlayReplicas:
    """The ScaledObject has exactly this many."""

    replicas: int


class MarkChange(StrEnum):
    """Change of the mark that an HPA controller sets on its own zero."""

    HOLD = "Hold"
    """Take it off, before the count is set: with the mark, work would wake the member."""
    GIVE_BACK = "GiveBack"


Overlay = OverlayAsleep | OverlayHold | OverlayReplicas
Action = Keep | SetReplicas | Suspend | Resume | Overlay
"""The action now. An overlay holds from decision to decision; it is taken off with the next `Keep`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDecision:
    """The decision about one member; `state` is None if nothing is remembered of it (any more)."""

    key: str
    action: Action
    reason: MemberReason
    because: str = ""
    state: MemberState | None = None
    mark: MarkChange | None = None


def observe(member: MemberSeen, state: MemberState | None, want: MemberGoal, now: datetime) -> MemberState | None:
    """Update the state by what is seen; None: its count is given back, or was never taken."""
    count = member.count
    if state is None or count is None:
        return state
    match state.stage:
        case Stage.FALLING if count == 0:
            return replace(state, stage=Stage.DOWN, start=0, since=now)
        case Stage.FALLING if count != state.start:
            return _react_to_wake(member, state, want, now)
        case Stage.DOWN if count > 0 and want.wish is Wish.DOWN:
            return _react_to_wake(member, state, want, now)
        case Stage.RISING if _is_back(member, state, count):
            return None
        case Stage.KEPT | Stage.CONTESTED if count == 0:
            return replace(state, stage=Stage.DOWN, start=0, since=now, by="")
        case _:
            return state


def _is_back(member: MemberSeen, state: MemberState, count: int) -> bool:
    """Return whether the count is given back, or another client has given it one of its own."""
    if member.role is Role.SCALED_OBJECT:
        return count > 0 or member.ready
    if count not in (0, state.start, state.replicas):
        return True
    return count == state.replicas and member.zero_mark is not ZeroMark.HELD


def _react_to_wake(member: MemberSeen, state: MemberState, want: MemberGoal, now: datetime) -> MemberState:
    """React to a member that is up though we did not scale it: a person or another controller did."""
    count = member.count or 0
    if want.triggers_wake and member.triggers_active:
        return state
    match writer_of(member.manager):
        case Writer.OURS:
            # An HPA that has woken it from its own zero has taken its mark off, too: that zero would be no one's.
            woken = state.replicas == 0 and member.role is Role.WORKLOAD
            again = count if state.stage is Stage.FALLING or woken else state.replicas
            return replace(state, stage=Stage.FALLING, replicas=again, start=count, since=now)
        case Writer.PERSON:
            return replace(state, stage=Stage.KEPT, start=count, since=now, by=member.manager or "a person")
        case Writer.CONTROLLER:
            put_backs = state.put_backs + 1
            stage = Stage.FALLING if put_backs < MOST_PUT_BACKS else Stage.CONTESTED
            back = replace(state, stage=stage, replicas=count, start=count, since=now)
            return replace(back, by=member.manager, put_backs=put_backs)


def act(member: MemberSeen, state: MemberState | None, want: MemberGoal, now: datetime) -> MemberDecision:
    """Decide what is done now, by the first row that fits; `state` is what `observe` gave."""
    decision = _act(member, state, want, now)
    return replace(decision, mark=_change_mark(member, decision.state, want))


def _change_mark(member: MemberSeen, state: MemberState | None, want: MemberGoal) -> MarkChange | None:
    """The mark follows the stage, whatever brought it about: held while the member is to be at zero, else given back.

    A count that is to be given back comes first: until then the mark would let the HPA give it one of its own.
    """
    if member.owned_by or member.count is None or want.wish is Wish.LEAVE:
        return None
    asleep = state is not None and (state.stage in _TO_ZERO or (state.stage is Stage.PINNED and state.to == 0))
    if asleep:
        return MarkChange.HOLD if member.zero_mark is ZeroMark.SET else None
    back = state is None or (state.stage is Stage.RISING and member.count == state.replicas)
    return MarkChange.GIVE_BACK if back and member.zero_mark is ZeroMark.HELD else None


_TO_ZERO = (Stage.FALLING, Stage.DOWN)


def _act(member: MemberSeen, state: MemberState | None, want: MemberGoal, now: datetime) -> MemberDecision:
    if member.owned_by:
        because = f"Environment {member.owned_by} has it"
        return _decide(member, None, MemberReason.OWNED_BY_ANOTHER, because)
    if member.heir is Heir.HAS_IT:
        return _decide(member, None, MemberReason.GIVEN_BACK, "another Environment remembers it")
    if member.count is None:
        because = f"its count could not be read{member.error and ': '}{member.error}"
        return _decide(member, state, MemberReason.COUNT_UNKNOWN, because, want)
    match want.wish:
        case Wish.LEAVE:
            return _decide(member, state, MemberReason.HELD, "", want)
        case Wish.EXACTLY:
            return _pin(member, member.count, state, want, now)
        case Wish.UP:
            return _raise(member, member.count, state, want, now)
        case Wish.DOWN:
            return _lower(member, member.count, state, want, now)


def _raise(
    member: MemberSeen, count: int, state: MemberState | None, want: MemberGoal, now: datetime
) -> MemberDecision:
    if state is None:
        return _decide(member, None, MemberReason.AWAKE if member.ready else MemberReason.NOT_READY)
    if state.stage is Stage.RISING:
        return _decide(member, state, MemberReason.WOKEN, "", want)
    held = member.zero_mark is ZeroMark.HELD
    # A count of 0 was its owner's wish; what is up in its place is another's.
    stays = state.stage is Stage.CONTESTED or (state.replicas == 0 and state.stage is not Stage.PINNED)
    if stays and not held:
        return _decide(member, None, MemberReason.GIVEN_BACK)
    if not want.turn:
        return _decide(member, state, MemberReason.WAITS_TO_WAKE, "", want)
    if stays or (count == state.replicas and state.stage not in _TO_ZERO):
        # Remembered until the mark is seen: an Environment that is being deleted waits for that.
        marked = replace(state, stage=Stage.RISING, replicas=count, start=count, since=now, put_backs=0, by="")
        return _decide(member, marked if held else None, MemberReason.GIVEN_BACK, "", want)
    rising = replace(state, stage=Stage.RISING, start=count, since=now, put_backs=0, by="")
    return _decide(member, rising, MemberReason.WOKEN, "", want)


def _lower(
    member: MemberSeen, count: int, state: MemberState | None, want: MemberGoal, now: datetime
) -> MemberDecision:
    if state is None:
        if want.crowded:
            return _decide(
                member, None, MemberReason.TOO_MANY, "the Environment has too many members to remember its count"
            )
        if want.young_until is not None:
            return _decide(member, None, MemberReason.YOUNG, "it was created a moment ago")
        if not want.turn:
            return _decide(member, None, MemberReason.WAITS_TO_SLEEP)
        stage = Stage.FALLING if count else Stage.DOWN
        begun = MemberState(stage=stage, replicas=count, start=count, since=now, workload=member.workload)
        return _decide(member, begun, MemberReason.PUT_TO_SLEEP if count else MemberReason.ASLEEP, "", want)
    match state.stage:
        case Stage.FALLING:
            reason = MemberReason.PUT_TO_SLEEP_AGAIN if state.put_backs else MemberReason.PUT_TO_SLEEP
            because = f"{state.by} put its count back" if state.put_backs else ""
            return _decide(member, state, reason, because, want)
        case Stage.DOWN:
            reason = MemberReason.WOKEN_BY_TRIGGER if count else MemberReason.ASLEEP
            return _decide(member, state, reason, "", want)
        case Stage.KEPT:
            return _decide(member, state, MemberReason.KEPT_UP, f"{state.by} scaled it up", want)
        case Stage.CONTESTED:
            because = f"{state.by} put its count back {MOST_PUT_BACKS} times; {_REMEDY}"
            return _decide(member, state, MemberReason.CONTESTED, because, want)
        case Stage.RISING | Stage.PINNED:
            changed = state.stage is Stage.RISING and count not in (0, state.start)
            stage = Stage.FALLING if count else Stage.DOWN
            kept = count if changed else state.replicas
            begun = replace(state, stage=stage, replicas=kept, start=count, since=now)
            return _decide(member, begun, MemberReason.PUT_TO_SLEEP, "", want)


_REMEDY = "let it ignore the count (Argo CD: ignoreDifferences on /spec/replicas), or exclude the member"


def _pin(member: MemberSeen, count: int, state: MemberState | None, want: MemberGoal, now: datetime) -> MemberDecision:
    if member.role is Role.SCALED_OBJECT:
        return MemberDecision(key=member.key, action=OverlayReplicas(want.replicas), reason=MemberReason.PINNED)
    wanted = min(want.replicas, 1) if member.role is Role.CRON_JOB else want.replicas
    owned = count if state is None or state.stage is Stage.CONTESTED else state.replicas
    if state is None or state.stage is not Stage.PINNED or state.to != wanted:
        pinned = MemberState(stage=Stage.PINNED, replicas=owned, start=count, to=wanted, since=now)
        return _decide(member, pinned, MemberReason.PINNED, "", want)
    if count not in (state.start, state.to):
        return MemberDecision(key=member.key, action=Keep(), reason=MemberReason.KEPT_UP, state=state)
    return _decide(member, state, MemberReason.PINNED, "", want)


def _decide(
    member: MemberSeen,
    state: MemberState | None,
    reason: MemberReason,
    because: str = "",
    want: MemberGoal | None = None,
) -> MemberDecision:
    action: Action = Keep()
    if member.role is Role.SCALED_OBJECT:
        action = _overlay(state, want)
    elif state is not None and want is not None and want.wish is not Wish.LEAVE and member.count is not None:
        action = _count_action(member, state)
    return MemberDecision(key=member.key, action=action, reason=reason, because=because, state=state)


def _overlay(state: MemberState | None, want: MemberGoal | None) -> Action:
    """Return what a stage means for a ScaledObject; it holds also while the count is not known."""
    if state is None:
        return OverlayHold() if want is not None and want.held else Keep()
    if state.stage in (Stage.FALLING, Stage.DOWN):
        return OverlayAsleep(want is not None and want.triggers_wake)
    return OverlayHold() if state.stage is Stage.KEPT else Keep()


def _count_action(member: MemberSeen, state: MemberState) -> Action:
    targets = {Stage.FALLING: 0, Stage.RISING: state.replicas, Stage.PINNED: state.to}
    wanted = targets.get(state.stage, member.count)
    if wanted is None or wanted == member.count:
        return Keep()
    if member.role is Role.CRON_JOB:
        return Resume() if wanted else Suspend()
    return SetReplicas(wanted)
