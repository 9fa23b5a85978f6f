"""Waves and their turns: they wake in order and fall asleep in reverse; members of no wave come last, and first.

A wave is over when all of its members are as they are wanted, or its time-out has passed. Waves without members take no
time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from keda_py.core.environment.decision.observation import MemberSeen
from keda_py.core.environment.decision.state import MemberState, Phase, Stage, Transition
from keda_py.core.environment.spec import DEFAULT_TIMEOUT, EnvironmentSpec

Observed = Sequence[tuple[MemberSeen, MemberState | None]]


@dataclass(frozen=True, slots=True)
class Progress:
    """The transition as it goes on, None once it is over; `finished` is how it ended."""

    transition: Transition | None
    finished: Transition | None = None


def begin(spec: EnvironmentSpec, to: Phase, observed: Observed, now: datetime) -> Transition:
    """Begin the first wave of a transition to AWAKE or ASLEEP."""
    wave = 0 if to is Phase.AWAKE else len(spec.waves)
    asleep = any(state is not None and state.stage in (Stage.FALLING, Stage.DOWN) for _, state in observed)
    return Transition(to=to, started=now, wave=wave, wave_started=now, woke=asleep and to is Phase.AWAKE)


def advance(
    spec: EnvironmentSpec, transition: Transition, observed: Observed, now: datetime, skip: Callable[[MemberSeen], bool]
) -> Progress:
    """Go past each wave that is over; `skip` says which members are not waited for."""
    current = transition
    while 0 <= current.wave <= len(spec.waves):
        members = [pair for pair in observed if pair[0].wave == current.wave and not skip(pair[0])]
        if members and now < current.wave_started:
            return Progress(current)
        late = bool(members) and now >= ends_at(spec, current)
        if members and not late and not all(is_done(current.to, *pair) for pair in members):
            return Progress(current)
        done = all(is_done(current.to, *pair) for pair in members)
        current = _next_wave(spec, current, now, pause=bool(members), timed_out=not done)
    return Progress(None, current)


def _next_wave(
    spec: EnvironmentSpec, current: Transition, now: datetime, *, pause: bool, timed_out: bool
) -> Transition:
    step = 1 if current.to is Phase.AWAKE else -1
    between = current.wave if step > 0 else current.wave - 1
    started = current.wave_started
    if pause:
        started = now + spec.waves[between].pause if 0 <= between < len(spec.waves) else now
    late = (spec.wave_name(current.wave),) if timed_out else ()
    return replace(current, wave=current.wave + step, wave_started=started, timed_out=(*current.timed_out, *late))


def ends_at(spec: EnvironmentSpec, transition: Transition) -> datetime:
    """Return when the wave times out."""
    timeout = spec.waves[transition.wave].timeout if transition.wave < len(spec.waves) else DEFAULT_TIMEOUT
    return transition.wave_started + timeout


def is_done(to: Phase, member: MemberSeen, state: MemberState | None) -> bool:
    """Return whether the wave need not wait for the member any longer."""
    if state is not None and state.stage in (Stage.KEPT, Stage.CONTESTED):
        return to is not Phase.AWAKE or state.stage is Stage.CONTESTED
    if to is Phase.AWAKE:
        return state is None and member.ready
    return state is not None and state.stage is Stage.DOWN and member.ready


def has_turn(transition: Transition | None, wave: int, now: datetime) -> bool:
    """Return whether members of that wave may begin; without a transition all may."""
    if transition is None:
        return True
    if transition.wave == wave:
        return now >= transition.wave_started
    return wave < transition.wave if transition.to is Phase.AWAKE else wave > transition.wave


def under_way(transition: Transition | None, observed: Observed) -> int:
    """Count members that are waking: given back but not ready yet, in the wave at work, or about to be given back."""
    current = transition.wave if transition is not None and transition.to is Phase.AWAKE else None
    return sum(
        state.stage is Stage.RISING if state is not None else member.wave == current and not member.ready
        for member, state in observed
        if not member.owned_by
    )
