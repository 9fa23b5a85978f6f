"""The goal of an environment, awake or asleep: an ordered list of guards, one `GoalReason` a row, and its next change.

The answer is asked for instants ahead as well, which is how the next change is found.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.queries import last_change, moment_of
from keda_py.core.environment.decision.state import EnvironmentState, Phase
from keda_py.core.environment.namespaces.order import NO_WAIT, NamespaceTurn
from keda_py.core.environment.overrides import Overrides, OverrideSpec, OverrideState, TargetKey
from keda_py.core.environment.spec import MOST_MEMBERS, EnvironmentSpec
from keda_py.core.values.durations import in_words
from keda_py.core.values.times import earliest

TOO_MANY = (
    f"there are more than {MOST_MEMBERS} members, which is the most of one Environment, so none is put to sleep; "
    "choose fewer by spec.selector or spec.exclude, and the others in an Environment of their own"
)
# Instants that are asked about for the next change; a bound on what one decision costs.
_MOST_STEPS = 20


class GoalReason(StrEnum):
    """The reason why an environment is to be awake or asleep."""

    RELEASED = "Released"
    OVERRIDE_AWAKE = "OverrideAwake"
    OVERRIDE_ASLEEP = "OverrideAsleep"
    OVERRIDE_HOLD = "OverrideHold"
    CALENDAR_INVALID = "CalendarInvalid"
    OPEN = "Open"
    READY_BY = "ReadyBy"
    CLOSED = "Closed"
    IDLE = "Idle"
    TOO_MANY_MEMBERS = "TooManyMembers"
    WAKERS_PENDING = "WakersPending"
    AWAITS_ORDER = "AwaitsOrder"
    """Environments of other namespaces come first, by the `order` of their ClusterEnvironment."""


class State(StrEnum):
    """The wanted state. HOLD leaves all as it is, and begins nothing."""

    AWAKE = "Awake"
    ASLEEP = "Asleep"
    HOLD = "Hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The goal now; `looks_at` is the next instant at which it may be another."""

    state: State
    reason: GoalReason
    because: str
    override: OverrideSpec | None = None
    looks_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextChange:
    """The next change of the goal, as far as is known now."""

    at: datetime
    to: State
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """All that a goal depends on, besides the time."""

    spec: EnvironmentSpec
    calendar: Calendar | None
    calendar_error: str
    overrides: Overrides
    state: EnvironmentState
    lead: timedelta
    idle_since: datetime | None = None
    """Time of the last use; None while it is used, or without `idleAfter`."""
    crowded: bool = False
    """True if there are more members than a status can remember."""

    def goal_at(self, at: datetime) -> Goal:
        """Find the row that holds then. A crowd is not put to sleep; one that grew in the night is woken as usual."""
        goal = self._wanted_at(at)
        if goal.state is State.ASLEEP and self.crowded and not self.state.rests:
            return replace(goal, state=State.AWAKE, reason=GoalReason.TOO_MANY_MEMBERS, because=TOO_MANY)
        return goal

    def wait_for_wakers(self, goal: Goal, pending: str) -> Goal:
        """Stay as it is until requests reach a waker; once it has begun to fall asleep nothing waits any more."""
        transition = self.state.transition
        falling = transition is not None and transition.to is Phase.ASLEEP
        if not pending or goal.state is not State.ASLEEP or self.state.rests or falling:
            return goal
        because = f"it falls asleep once requests can wake it ({goal.because}): {pending}"
        return replace(goal, state=State.AWAKE, reason=GoalReason.WAKERS_PENDING, because=because)

    def _wanted_at(self, at: datetime) -> Goal:
        if self.spec.deleting:
            return Goal(state=State.AWAKE, reason=GoalReason.RELEASED, because="the Environment is being deleted")
        verdict = self.overrides.verdict([TargetKey("Environment", self.spec.name)], at)
        if (override := verdict.rules) is not None:
            state, reason = _RULED[override.state]
            return Goal(
                state=state, reason=reason, because=verdict.because, override=override, looks_at=verdict.changes_at
            )
        if self.calendar is None:
            # Nothing is put to sleep without a calendar; what was waking goes on.
            awake = self.state.phase in (Phase.AWAKE, Phase.WAKING)
            state = State.AWAKE if awake else State.HOLD
            because = f"there is no valid calendar, so it stays as it is: {self.calendar_error}"
            return Goal(state=state, reason=GoalReason.CALENDAR_INVALID, because=because, looks_at=verdict.changes_at)
        return self._by_calendar(self.calendar, at, verdict.changes_at)

    def _by_calendar(self, calendar: Calendar, at: datetime, override_at: datetime | None) -> Goal:
        moment, looks_at, leads = moment_of(calendar, at), override_at, False
        if (changes_at := moment.changes_at) is not None:
            begins = changes_at - (self.lead if moment.opens else timedelta(0))
            leads = moment.opens and begins <= at
            looks_at = earliest(override_at, begins if begins > at else changes_at)
        if moment.open and self.idle_since is not None and self.spec.idle_after is not None:
            idle_at = self.idle_since + self.spec.idle_after
            if at >= idle_at:
                because = f"not used for {in_words(self.spec.idle_after)}: no active trigger, Override or rollout"
                return Goal(state=State.ASLEEP, reason=GoalReason.IDLE, because=because, looks_at=looks_at)
            looks_at = earliest(looks_at, idle_at)
        if moment.open:
            return Goal(state=State.AWAKE, reason=GoalReason.OPEN, because=moment.why, looks_at=looks_at)
        if leads:
            because = f"to be ready by then, {in_words(self.lead)} before {moment.because}"
            return Goal(state=State.AWAKE, reason=GoalReason.READY_BY, because=because, looks_at=looks_at)
        return Goal(state=State.ASLEEP, reason=GoalReason.CLOSED, because=moment.why, looks_at=looks_at)

    def in_turn(self, goal: Goal, turn: NamespaceTurn, at: datetime) -> Goal:
        """Hold a change of hours back while other namespaces come first; a person's wish waits for nothing."""
        begins: datetime | None = None
        wait, phase = NO_WAIT, self.state.phase
        if goal.reason in (GoalReason.OPEN, GoalReason.READY_BY) and phase in (Phase.ASLEEP, Phase.FALLING_ASLEEP):
            wait = turn.wake
        elif goal.reason is GoalReason.CLOSED and phase in (Phase.AWAKE, Phase.WAKING):
            wait = turn.sleep
        if not wait.awaited or self.calendar is None:
            return goal
        if goal.reason is GoalReason.READY_BY:
            opens = moment_of(self.calendar, at).changes_at
            begins = opens - self.lead if opens is not None else None
        else:
            begins = last_change(self.calendar, at)
        until = begins + wait.longest if begins is not None else at
        if until <= at:
            return goal
        because = f"it waits for {wait.awaited}, until {until:%H:%M} UTC at most; {goal.because}"
        looks_at = earliest(goal.looks_at, until)
        return replace(goal, state=State.HOLD, reason=GoalReason.AWAITS_ORDER, because=because, looks_at=looks_at)

    def change_after(self, goal: Goal) -> NextChange | None:
        """Find the next instant at which another state is wanted; None if none is known."""
        following = goal
        for _ in range(_MOST_STEPS):
            at = following.looks_at
            if at is None:
                return None
            following = self.goal_at(at)
            if following.state is not goal.state:
                return NextChange(at=at, to=following.state, because=following.because)
        return None


_RULED = {
    OverrideState.AWAKE: (State.AWAKE, GoalReason.OVERRIDE_AWAKE),
    OverrideState.ASLEEP: (State.ASLEEP, GoalReason.OVERRIDE_ASLEEP),
    OverrideState.HOLD: (State.HOLD, GoalReason.OVERRIDE_HOLD),
    OverrideState.EXACTLY: (State.HOLD, GoalReason.OVERRIDE_HOLD),
}
