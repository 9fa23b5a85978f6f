"""Idleness of an environment: the signals of use, and since when none was seen. Pure.

Unknown is not idle: a signal that cannot be read counts as use. Sessions that are not known wake nothing that sleeps,
though, since one source serves all namespaces, and its failure must not wake them all. The time of the last use is
stored when use ends, so that an environment in use costs no writes; a process that was not there when it ended counts
from when it notices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import blake2s

from keda_py.core.environment.decision.observation import EnvironmentSeen, MemberSeen, Role, SessionsSeen
from keda_py.core.environment.decision.state import Activity, EnvironmentState, Phase
from keda_py.core.environment.overrides import Overrides, OverrideSpec, OverrideState, TargetKey
from keda_py.core.environment.spec import EnvironmentSpec

ROLLOUTS = "Rollouts"
_TO_SLEEP = (Phase.ASLEEP, Phase.FALLING_ASLEEP)


class Use(StrEnum):
    """Whether a signal shows that an environment is used."""

    QUIET = "Quiet"
    ACTIVE = "Active"
    UNKNOWN = "Unknown"
    NOT_WATCHED = "NotWatched"
    """Nothing in this installation reports it; it neither keeps awake nor proves idleness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One signal; `because` names what is active or unknown, "" for a quiet one.

    `holds`: it is not known, and the environment stays as it is, awake or asleep, until it is.
    """

    name: str
    use: Use
    because: str = ""
    holds: bool = False


def signals_of(
    spec: EnvironmentSpec, overrides: Overrides, seen: EnvironmentSeen, state: EnvironmentState, now: datetime
) -> tuple[Signal, ...]:
    """Return the signals, each by its name in the status."""
    own = [member for member in seen.members if not member.owned_by and not member.released]
    ruling = _ruling(spec, overrides, own, now)
    asked = [one.name for one in ruling if one.request]
    by_people = [one.name for one in ruling if not one.request]
    # A waker sees requests while it sleeps and turns them into Overrides; while it is awake they go to pods alone.
    quiet = Use.QUIET if spec.wake is not None else Use.NOT_WATCHED
    return (
        _triggers(own),
        Signal(name="Overrides", use=Use.ACTIVE if by_people else Use.QUIET, because=next(iter(by_people), "")),
        _rollouts(own, seen, state.activity),
        Signal(name="Requests", use=Use.ACTIVE if asked else quiet, because=next(iter(asked), "")),
        _sessions(seen.sessions, is_awake=state.phase not in _TO_SLEEP),
    )


def note_use(signals: Sequence[Signal], seen: EnvironmentSeen, known: Activity | None, now: datetime) -> Activity:
    """Return what to remember: the time of the last use, which the first look takes for one."""
    revisions = revisions_of(seen.members)
    # A rollout is a moment and not a span: no later look would report its end.
    lasting = [one for one in signals if not one.holds and (one.name, one.use) != (ROLLOUTS, Use.ACTIVE)]
    in_use = any(signal.use in (Use.ACTIVE, Use.UNKNOWN) for signal in lasting)
    if known is None or known.in_use != in_use or known.revisions != revisions:
        return Activity(last=now, in_use=in_use, revisions=revisions)
    # A clock that was ahead when use ended must not keep the environment awake for as long again.
    return Activity(last=min(known.last, now), in_use=in_use, revisions=revisions)


def revisions_of(members: Sequence[MemberSeen]) -> str:
    """Return a digest of what members run: it changes with a rollout, and when a member comes or goes."""
    texts = sorted(f"{one.key}={one.revision}" for one in members if not one.owned_by and not one.released)
    return blake2s("\n".join(texts).encode(), digest_size=8).hexdigest()


def _triggers(members: Sequence[MemberSeen]) -> Signal:
    scaled = [member for member in members if member.role is Role.SCALED_OBJECT]
    active = [member.key for member in scaled if member.triggers_active]
    unknown = [member.key for member in scaled if member.triggers_unknown]
    use = Use.ACTIVE if active else Use.UNKNOWN if unknown else Use.QUIET
    return Signal(name="Triggers", use=use, because=next(iter(active or unknown), ""))


def _ruling(
    spec: EnvironmentSpec, overrides: Overrides, members: Sequence[MemberSeen], now: datetime
) -> list[OverrideSpec]:
    """Return the Overrides in force that keep something up, or as it is."""
    targets = [[TargetKey("Environment", spec.name)], *(member.targets for member in members if member.targets)]
    rules = (overrides.verdict(target, now).rules for target in targets)
    return [one for one in rules if one is not None and one.state is not OverrideState.ASLEEP]


def _rollouts(members: Sequence[MemberSeen], seen: EnvironmentSeen, known: Activity | None) -> Signal:
    unknown = next((member.key for member in members if member.count is None), "")
    if unknown or seen.kinds_error:
        return Signal(name=ROLLOUTS, use=Use.UNKNOWN, because=unknown or seen.kinds_error)
    changed = known is not None and known.revisions != revisions_of(seen.members)
    return Signal(name=ROLLOUTS, use=Use.ACTIVE if changed else Use.QUIET, because="a member changed" * changed)


def _sessions(seen: SessionsSeen | None, *, is_awake: bool) -> Signal:
    """Read sessions of exec, attach and port-forward."""
    name = "ExecAndPortForward"
    if seen is None:
        return Signal(name=name, use=Use.NOT_WATCHED)
    if seen.open is None:
        error = seen.error or "the metric source has not been asked yet"
        return Signal(name=name, use=Use.UNKNOWN, because=error, holds=not seen.error or not is_awake)
    return Signal(name=name, use=Use.ACTIVE if seen.open else Use.QUIET)
