"""Kubernetes Events about an Environment, derived from two decisions in a row."""

import logging
from collections.abc import Iterable, Iterator

from keda_py.apis.foreign import text_at
from keda_py.apis.wire import Condition
from keda_py.core.environment.decision.decision import EnvironmentDecision
from keda_py.core.environment.decision.members import MemberReason
from keda_py.core.environment.decision.report import STILL_UP
from keda_py.core.environment.decision.state import EnvironmentState, Phase, Stage
from keda_py.core.environment.decision.still_up import still_up_in_words
from keda_py.core.environment.decision.stored import StoredState
from keda_py.kube.events import EventType
from keda_py.operator.controller.state import about
from keda_py.operator.environments.state import EnvironmentMemory

log = logging.getLogger(__name__)

_MOST_NAMED = 5
_WRONG = {("Valid", "False"): "EnvironmentInvalid", ("Conflict", "True"): "EnvironmentConflict"}
_PHASES = {
    Phase.ASLEEP: "EnvironmentAsleep",
    Phase.WAKING: "EnvironmentWaking",
    Phase.AWAKE: "EnvironmentAwake",
    Phase.FALLING_ASLEEP: "EnvironmentFallingAsleep",
}


# A member that is up for one of these reasons needs no StillUp Event: it has one of its own, or is being scaled down.
_NO_NEWS = (MemberReason.KEPT_UP, MemberReason.CONTESTED, MemberReason.PUT_TO_SLEEP, MemberReason.PUT_TO_SLEEP_AGAIN)


def events_of(before: EnvironmentState, decision: EnvironmentDecision) -> Iterator[tuple[EventType, str, str]]:
    """Yield type, reason and note of each Event."""
    after = decision.state
    yield from _phase_events(before, decision)
    late = before.transition.timed_out if before.transition is not None else ()
    for wave in after.transition.timed_out if after.transition is not None else ():
        if wave not in late:
            waited = ", ".join(_not_done(before, decision)) or "a member"
            yield "Warning", "WaveTimedOut", f"wave {wave} was not ready in time: {waited}; the next one begins"
    for member in decision.members:
        known = before.members.get(member.key)
        stage = member.state.stage if member.state is not None else None
        if stage is Stage.CONTESTED and (known is None or known.stage is not Stage.CONTESTED):
            yield "Warning", "EnvironmentContested", f"{member.key}: {member.because}"
        if stage is Stage.KEPT and (known is None or known.stage is not Stage.KEPT):
            yield "Normal", "MemberKeptUp", f"{member.key}: {member.because}; it stays up until the next wake"


def _phase_events(before: EnvironmentState, decision: EnvironmentDecision) -> Iterator[tuple[EventType, str, str]]:
    """Yield an Event for a new phase, and one for members still up after the last wave without being scaled down."""
    after, status = decision.state, decision.status
    came_up = before.phase is Phase.ASLEEP and after.phase is Phase.FALLING_ASLEEP and after.rests
    if after.phase is not before.phase and after.phase in _PHASES and not came_up:
        yield "Normal", _PHASES[after.phase], decision.goal.because
    begins = came_up or (after.rests and not before.rests and after.phase is Phase.FALLING_ASLEEP)
    if begins and any(up.reason not in _NO_NEWS for up in status.still_up):
        yield "Normal", STILL_UP, still_up_in_words(status.members_up, status.still_up)


def _not_done(before: EnvironmentState, decision: EnvironmentDecision) -> list[str]:
    """The first members that have had their turn and are not up, or down, yet."""
    begun = {MemberReason.WOKEN: Stage.RISING, MemberReason.PUT_TO_SLEEP: Stage.FALLING}
    found = []
    for member in decision.members:
        known = before.members.get(member.key)
        under_way = known is not None and begun.get(member.reason) is known.stage
        if under_way or member.reason is MemberReason.NOT_READY:
            found.append(member.key)
    return found[:_MOST_NAMED]


def condition_events(before: Iterable[object], after: Iterable[Condition]) -> Iterator[tuple[EventType, str, str]]:
    """Yield Events for conditions that became wrong since `before`, the conditions as stored."""
    known = {(text_at(one, "type"), text_at(one, "status")): text_at(one, "message") for one in before}
    for one in after:
        reason, stored = _WRONG.get((one.type, one.status)), known.get((one.type, one.status))
        changed = stored is None or (one.type == "Valid" and stored != one.message)
        if reason is not None and changed:
            yield "Warning", reason, one.message


def turn_events(before: int, waiting: int) -> Iterator[tuple[EventType, str, str]]:
    """Yield an Event when the first members have to wait for their turn to wake."""
    if waiting and not before:
        note = f"{waiting} members wait: the operator wakes no more workloads a second (--activations-per-second)"
        yield "Normal", "ActivationsWait", note


def loss_events(state: EnvironmentMemory, stored: StoredState) -> Iterator[tuple[EventType, str, str]]:
    """Report once per problem what the stored status has lost; condition Valid reports entries that stay unreadable."""
    losses = (*stored.lost, *stored.unreadable.values())
    for problem in losses if losses != state.lost else ():
        log.warning("part of the stored status cannot be read", extra=about(state) | {"error": problem})
        if problem in stored.lost:
            yield "Warning", "EnvironmentInvalid", f"{problem}; it is written anew"
    state.lost = losses
