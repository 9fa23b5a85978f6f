"""The memory of an Environment, and its form on the wire. It is written before what it says is done.

So a controller that is killed after any one write goes on right:

    Falling   the count is remembered; the member may be at it still, or at 0 already
    Down      it was seen at 0
    Rising    the count is being given back; the member may be at 0 still, or at it already
    (absent)  it has been given back, and is its owner's

A member's count is remembered from before it goes to 0 until it was seen given back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from keda_py.apis.environments.environment import (
    EnvironmentStatus,
    IdleStatus,
    MemberStatus,
    TransitionStatus,
    WakeStatus,
)
from keda_py.core.values.times import parse_optional_time, parse_time, write_time
from keda_py.errors import ConfigError


class Phase(StrEnum):
    """The phase of an Environment; UNKNOWN before its first decision."""

    UNKNOWN = ""
    ASLEEP = "Asleep"
    WAKING = "Waking"
    AWAKE = "Awake"
    FALLING_ASLEEP = "FallingAsleep"


class Stage(StrEnum):
    """The stage of a member that is not as its owner left it."""

    FALLING = "Falling"
    DOWN = "Down"
    RISING = "Rising"
    KEPT = "Kept"
    """A person scaled it up: left alone until the environment wakes."""
    CONTESTED = "Contested"
    """Another controller put its count back twice: left alone until the environment wakes."""
    PINNED = "Pinned"
    """An Override gives it a count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberState:
    """`replicas` is to be given back (of a CronJob 1, or 0 where its owner had suspended it).

    `start` is the count that was seen when the stage began: while that is seen, our own write is still to come.
    """

    stage: Stage
    replicas: int
    start: int = 0
    to: int = 0
    since: datetime
    by: str = ""
    put_backs: int = 0
    workload: str = ""
    """`MemberSeen.workload` of a ScaledObject, from when its count was remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A wake or a fall; `wave_started` may lie ahead, in a pause between waves."""

    to: Phase
    started: datetime
    wave: int
    wave_started: datetime
    woke: bool = False
    timed_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """A wake that is over; `ready` is None if a wave timed out."""

    started: datetime
    ready: datetime | None
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Last use of an environment with `idleAfter`: when it ended, or began where it lasts (`in_use`).

    `revisions` is a digest of what its members ran then.
    """

    last: datetime
    in_use: bool
    revisions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentState:
    """Everything that must survive a restart."""

    phase: Phase = Phase.UNKNOWN
    since: datetime | None = None
    transition: Transition | None = None
    members: Mapping[str, MemberState] = field(default_factory=dict)
    wakes: tuple[int, ...] = ()
    last_wake: Wake | None = None
    activity: Activity | None = None

    @property
    def rests(self) -> bool:
        """True once its waves have fallen asleep, though members that no wave waits for may be up."""
        return self.phase is Phase.ASLEEP or (self.phase is Phase.FALLING_ASLEEP and self.transition is None)


def read_state(status: EnvironmentStatus) -> EnvironmentState:
    """Read what was stored. Raises ConfigError for times that cannot be read: better to stop than to forget a count."""
    return EnvironmentState(
        phase=Phase(status.phase),
        since=parse_optional_time(status.phase_since, field="status.phaseSince"),
        transition=None if status.transition is None else _read_transition(status.transition),
        members={key: _read_member(member, key) for key, member in status.members.items() if member.stage},
        wakes=tuple(status.wakes[-MOST_WAKES:]),
        last_wake=None if status.last_wake is None else _read_wake(status.last_wake),
        activity=None if status.idle is None else _read_activity(status.idle),
    )


def _read_activity(wire: IdleStatus) -> Activity:
    last = parse_time(wire.last_activity, field="status.idle.lastActivity")
    return Activity(last=last, in_use=wire.in_use, revisions=wire.revisions)


def _read_transition(wire: TransitionStatus) -> Transition:
    started = parse_time(wire.started, field="status.transition.started")
    return Transition(
        to=Phase.AWAKE if wire.to == Phase.AWAKE else Phase.ASLEEP,
        started=started,
        wave=wire.wave - 1,
        wave_started=parse_optional_time(wire.wave_started, field="status.transition.waveStarted") or started,
        woke=wire.woke,
        timed_out=tuple(wire.timed_out),
    )


def _read_member(wire: MemberStatus, key: str) -> MemberState:
    return MemberState(
        stage=Stage(wire.stage),
        replicas=wire.replicas,
        start=wire.from_,
        to=wire.to,
        since=parse_time(wire.since, field=f"status.members[{key}].since"),
        by=wire.by,
        put_backs=wire.put_backs,
        workload=_read_workload(wire.workload, key),
    )


def _read_workload(text: str, key: str) -> str:
    """Read "" or apiVersion/KIND/NAME, where an apiVersion may have a slash itself. Raises ConfigError."""
    if text and (text.count("/") not in (2, 3) or "" in text.split("/")):
        field = f"status.members[{key}].workload"
        raise ConfigError(f"{field}: {text[:_LONGEST]!r} is not apiVersion/KIND/NAME; correct it", field=field)
    return text


_LONGEST = 253


def _read_wake(wire: WakeStatus) -> Wake:
    return Wake(
        started=parse_time(wire.started, field="status.lastWake.started"),
        ready=parse_optional_time(wire.ready, field="status.lastWake.ready"),
        seconds=wire.seconds,
    )


def key_of_workload(workload: str) -> str:
    """Return `Deployment/web` for `apps/v1/Deployment/web`."""
    return "/".join(workload.rsplit("/", 2)[-2:])


def write_members(members: Mapping[str, MemberState]) -> dict[str, MemberStatus]:
    """Write members by their keys, in order, so that equal states are equal texts."""
    return {
        key: MemberStatus(
            stage=member.stage.value,
            replicas=member.replicas,
            from_=member.start,
            to=member.to,
            since=write_time(member.since),
            by=member.by,
            put_backs=member.put_backs,
            workload=member.workload,
        )
        for key, member in sorted(members.items())
    }


def write_transition(transition: Transition) -> TransitionStatus:
    """Write the transition; waves are counted from 1 on the wire."""
    return TransitionStatus(
        to=transition.to.value,
        started=write_time(transition.started),
        wave=transition.wave + 1,
        wave_started=write_time(transition.wave_started),
        woke=transition.woke,
        timed_out=list(transition.timed_out),
    )


def write_wake(wake: Wake) -> WakeStatus:
    """Write a wake as `status.lastWake`."""
    ready = "" if wake.ready is None else write_time(wake.ready)
    return WakeStatus(started=write_time(wake.started), ready=ready, seconds=wake.seconds)


MOST_WAKES = 10


def lead_of(wakes: tuple[int, ...], longest: timedelta) -> timedelta:
    """Compute how much earlier to begin: the 90th percentile of the last wakes (nearest rank), 0 without any."""
    if not wakes:
        return timedelta(0)
    rank = -(-len(wakes) * 9 // 10)
    return min(timedelta(seconds=sorted(wakes)[rank - 1]), longest)
