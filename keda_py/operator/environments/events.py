"""What is told about an Environment, from one decision to the next. Pure."""

from collections.abc import Iterator

from keda_py.core.environment.decision.decision import EnvironmentDecision
from keda_py.core.environment.decision.state import EnvironmentState, Phase, Stage
from keda_py.kube.events import EventType

_PHASES = {
    Phase.ASLEEP: "EnvironmentAsleep",
    Phase.WAKING: "EnvironmentWaking",
    Phase.AWAKE: "EnvironmentAwake",
    Phase.FALLING_ASLEEP: "EnvironmentFallingAsleep",
}


def events_of(before: EnvironmentState, decision: EnvironmentDecision) -> Iterator[tuple[EventType, str, str]]:
    """Type, reason and note of each Event."""
    after = decision.state
    if after.phase is not before.phase and after.phase in _PHASES:
        yield "Normal", _PHASES[after.phase], decision.goal.because
    late = before.transition.timed_out if before.transition is not None else ()
    for wave in after.transition.timed_out if after.transition is not None else ():
        if wave not in late:
            yield "Warning", "WaveTimedOut", f"wave {wave} was not ready in time; the next one begins"
    for member in decision.members:
        known = before.members.get(member.key)
        stage = member.state.stage if member.state is not None else None
        if stage is Stage.CONTESTED and (known is None or known.stage is not Stage.CONTESTED):
            yield "Warning", "EnvironmentContested", f"{member.key}: {member.because}"
        if stage is Stage.KEPT and (known is None or known.stage is not Stage.KEPT):
            yield "Normal", "MemberKeptUp", f"{member.key}: {member.because}; it stays up until the next wake"


def turn_events(before: int, waiting: int) -> Iterator[tuple[EventType, str, str]]:
    """As `events_of`, of members that wait for their turn to wake."""
    if waiting and not before:
        note = f"{waiting} members wait: the operator wakes no more workloads a second (--activations-per-second)"
        yield "Normal", "ActivationsWait", note
