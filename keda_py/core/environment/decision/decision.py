"""The decision about a whole environment. Pure; `members.py` and `goal.py` have the rows and their reasons.

The controller's part, in this order: write `status` if it differs, then do the members' actions, then look again at
`look_again_at` or when something is seen to change. It decides only on caches that show its own last write.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from keda_py.apis.environments.environment import EnvironmentStatus, MemberUp
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.decision.goal import Goal, GoalReason, NextChange, Question, State
from keda_py.core.environment.decision.idleness import note_use, signals_of
from keda_py.core.environment.decision.members import MemberDecision, MemberGoal, MemberReason, Wish, act, observe
from keda_py.core.environment.decision.observation import EnvironmentSeen, MemberSeen
from keda_py.core.environment.decision.report import Picture, status_of
from keda_py.core.environment.decision.state import (
    MOST_WAKES,
    EnvironmentState,
    MemberState,
    Phase,
    Transition,
    Wake,
    key_of_workload,
    lead_of,
)
from keda_py.core.environment.decision.still_up import Reasons, phase_at_rest
from keda_py.core.environment.decision.waves import advance, begin, ends_at, has_turn, under_way
from keda_py.core.environment.overrides import Overrides, OverrideState, Ruling
from keda_py.core.environment.spec import MOST_MEMBERS, EnvironmentSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDecision:
    """`status` is stored before `members` are acted on. Once `released` the finalizer may go."""

    goal: Goal
    members: tuple[MemberDecision, ...]
    state: EnvironmentState
    status: EnvironmentStatus
    next_change: NextChange | None
    look_again_at: datetime | None
    released: bool
    kept_down: Mapping[str, str] = field(default_factory=dict)
    """Members that an Override of their own keeps at 0 whatever the goal is, by key, with the Override in words."""


def decide(
    spec: EnvironmentSpec,
    calendar: Calendar | None,
    overrides: Overrides,
    seen: EnvironmentSeen,
    state: EnvironmentState,
    now: datetime,
) -> EnvironmentDecision:
    """Decide what is to be done now, and why. Without a calendar `seen.calendar_error` says what is wrong with it."""
    lead = lead_of(state.wakes, spec.max_lead)
    signals = signals_of(spec, overrides, seen, state, now) if spec.idle_after else ()
    activity = note_use(signals, seen, state.activity, now) if signals else None
    held = state.phase not in _TO_SLEEP and any(one.holds for one in signals)
    question = Question(
        spec=spec,
        calendar=calendar,
        calendar_error=seen.calendar_error,
        overrides=overrides,
        state=replace(state, activity=activity),
        lead=lead if spec.ready_by else lead * 0,
        idle_since=None if activity is None or activity.in_use or held else activity.last,
        crowded=sum(not member.owned_by for member in seen.members) > MOST_MEMBERS,
    )
    goal = question.in_turn(question.wait_for_wakers(question.goal_at(now), seen.wakers_pending), seen.turn, now)
    run = _Run(question, goal, seen, hand_over(question.state, seen), now)
    members, moved = run.members()
    looks, following = (goal.looks_at, *run.timers(moved.transition)), question.change_after(goal)
    picture = Picture(
        spec=spec,
        goal=goal,
        next_change=following,
        lead=question.lead,
        crowded=question.crowded,
        seen=seen,
        members=members,
        state=moved,
        signals=signals,
        still_up=run.still_up(members, moved) if moved.phase in _TO_SLEEP else [],
    )
    return EnvironmentDecision(
        goal=goal,
        members=members,
        state=moved,
        status=status_of(picture),
        next_change=following,
        look_again_at=min((at for at in looks if at and at > now), default=None),
        released=spec.deleting and not moved.members and not any(one.mark for one in members),
        kept_down=run.kept_down(),
    )


def hand_over(state: EnvironmentState, seen: EnvironmentSeen) -> EnvironmentState:
    """Hand counts of ScaledObjects that are gone, paused, or scale something else by now, to what they scaled."""
    found = {member.key: member for member in seen.members}
    kept = dict(state.members)
    for key, remembered in state.members.items():
        if not remembered.workload or (key in found and found[key].workload in ("", remembered.workload)):
            continue
        heir = key_of_workload(remembered.workload)
        del kept[key]
        if heir in found and heir not in state.members:
            kept[heir] = remembered
    return replace(state, members=kept) if kept.keys() != state.members.keys() else state


class _Run:
    """One decision: the wish for each member, the members whose turn it is, and what follows."""

    def __init__(
        self, question: Question, goal: Goal, seen: EnvironmentSeen, state: EnvironmentState, now: datetime
    ) -> None:
        self._spec, self._goal, self._state, self._now = question.spec, goal, state, now
        # Triggers are polled while it is idle: work is use, and wakes it.
        self._triggers_wake = self._spec.triggers_wake or goal.reason is GoalReason.IDLE
        self._crowded, overrides = question.crowded, question.overrides
        self._seen = sorted(seen.members, key=lambda member: (member.wave, member.key))
        self._verdicts = {
            member.key: overrides.verdict(member.targets, now) if member.targets else Ruling(None)
            for member in self._seen
        }

    def members(self) -> tuple[tuple[MemberDecision, ...], EnvironmentState]:
        """Decide about each member; return the decisions, and the state to store."""
        wants = {member.key: self._want(member) for member in self._seen}
        observed: list[tuple[MemberSeen, MemberState | None]] = [
            (member, observe(member, self._remembered_state(member), wants[member.key], self._now))
            for member in self._seen
        ]
        moved = self._move(observed)
        decisions = []
        waking = under_way(moved.transition, observed)
        for member, remembered in observed:
            want = wants[member.key]
            turn = self._has_turn(member, want, moved.transition, waking)
            decision = act(member, remembered, replace(want, turn=turn), self._now)
            waking += decision.reason is MemberReason.WOKEN and remembered is not decision.state
            decisions.append(decision)
        kept = {each.key: each.state for each in decisions if each.state is not None}
        return tuple(decisions), replace(moved, members=kept)

    def still_up(self, decisions: Sequence[MemberDecision], moved: EnvironmentState) -> list[MemberUp]:
        """List the members that are up though the environment is to be asleep."""
        reasons = Reasons(
            spec=self._spec,
            transition=moved.transition,
            held=self._goal.because if self._goal.state is State.HOLD else "",
        )
        return reasons.list_up(self._seen, decisions, self._verdicts)

    def kept_down(self) -> dict[str, str]:
        """Return the members that an Override of their own keeps at 0, and the Override in words."""
        found = ((member, self._verdicts[member.key]) for member in self._seen)
        return {
            member.key: verdict.rules.because
            for member, verdict in found
            if verdict.rules is not None and verdict.rules.keeps_down(member.count)
        }

    def timers(self, transition: Transition | None) -> Iterator[datetime]:
        """Yield instants at which something is to be done, besides those of the goal."""
        if transition is not None:
            yield transition.wave_started
            yield ends_at(self._spec, transition)
        for member in self._seen:
            yield member.created + self._spec.grace
        for verdict in self._verdicts.values():
            if verdict.changes_at is not None:
                yield verdict.changes_at

    def _is_young(self, member: MemberSeen) -> bool:
        """Return whether it is too new for a calendar to put it to sleep; an Override is a person's wish."""
        return self._goal.override is None and self._now < member.created + self._spec.grace

    def _remembered_state(self, member: MemberSeen) -> MemberState | None:
        return self._state.members.get(member.key) or member.inherited

    def _want(self, member: MemberSeen) -> MemberGoal:
        base = MemberGoal(
            wish=_WISHES[self._goal.state],
            young_until=member.created + self._spec.grace if self._is_young(member) else None,
            triggers_wake=self._triggers_wake,
            crowded=self._crowded,
        )
        if member.heir and not self._spec.deleting:
            return replace(base, wish=Wish.LEAVE)
        if member.released or self._spec.deleting:
            return replace(base, wish=Wish.UP)
        override = self._verdicts[member.key].rules
        match override.state if override is not None else None:
            case OverrideState.AWAKE:
                return replace(base, wish=Wish.UP)
            case OverrideState.ASLEEP:
                return replace(base, wish=Wish.DOWN, young_until=None, triggers_wake=False)
            case OverrideState.HOLD:
                return replace(base, wish=Wish.LEAVE, held=True)
            case OverrideState.EXACTLY if override is not None:
                return replace(base, wish=Wish.EXACTLY, replicas=override.replicas or 0)
            case _:
                return base

    def _has_turn(self, member: MemberSeen, want: MemberGoal, transition: Transition | None, waking: int) -> bool:
        if member.released or self._spec.deleting:
            return True
        if want.wish is Wish.UP and waking >= self._spec.max_parallel:
            return False
        by_itself = self._verdicts[member.key].rules is not None
        return by_itself or has_turn(transition, member.wave, self._now)

    def _move(self, observed: Sequence[tuple[MemberSeen, MemberState | None]]) -> EnvironmentState:
        """Begin, go on with, or end a transition, by what was seen."""
        state, goal, now = self._state, self._goal, self._now
        if goal.state is State.HOLD:
            held = self._final_phase(state) if state.rests else state
            return held if state.phase else replace(state, phase=Phase.AWAKE, since=now)
        transition = state.transition
        to = Phase.AWAKE if goal.state is State.AWAKE else Phase.ASLEEP
        if not state.phase and to is Phase.AWAKE:
            return replace(state, phase=Phase.AWAKE, since=now)
        if to is Phase.ASLEEP and state.rests:
            return self._final_phase(state)
        if transition is None and state.phase is to:
            return state
        if transition is None or transition.to is not to:
            transition = begin(self._spec, to, observed, now)
        progress = advance(self._spec, transition, observed, now, self._skipped)
        if progress.transition is not None:
            phase = Phase.WAKING if to is Phase.AWAKE else Phase.FALLING_ASLEEP
            since = state.since if state.phase is phase else now
            return replace(state, phase=phase, since=since, transition=progress.transition)
        if to is Phase.ASLEEP:
            return self._final_phase(replace(state, transition=None))
        return _learn(replace(state, phase=to, since=now, transition=None), progress.finished, now)

    def _final_phase(self, state: EnvironmentState) -> EnvironmentState:
        """Set the phase once the waves are over: asleep from when nothing is up any more."""
        phase = phase_at_rest(state.phase, self._seen)
        return state if phase is state.phase else replace(state, phase=phase, since=self._now)

    def _skipped(self, member: MemberSeen) -> bool:
        """Return whether a wave does not wait for a member: it has a rule of its own, or is too young to sleep."""
        own = self._verdicts[member.key].rules is not None or bool(member.owned_by) or member.released
        if self._goal.state is not State.ASLEEP:
            return own
        young = self._is_young(member) and member.key not in self._state.members
        return own or young or (self._triggers_wake and member.triggers_active)


def _learn(state: EnvironmentState, finished: Transition | None, now: datetime) -> EnvironmentState:
    """Learn how long the wake took; one in which a wave timed out teaches nothing."""
    if finished is None or not finished.woke:
        return state
    seconds = int((now - finished.started).total_seconds())
    wake = Wake(started=finished.started, ready=None if finished.timed_out else now, seconds=seconds)
    wakes = state.wakes if finished.timed_out else (*state.wakes, seconds)[-MOST_WAKES:]
    return replace(state, last_wake=wake, wakes=wakes)


_TO_SLEEP = (Phase.ASLEEP, Phase.FALLING_ASLEEP)
_WISHES = {State.AWAKE: Wish.UP, State.ASLEEP: Wish.DOWN, State.HOLD: Wish.LEAVE}
