"""A namespace in memory over virtual time: members, people, another controller, and a controller that is killed.

The controller does what a decision asks of it: it stores the status, acts, and looks again when told or when something
has changed. It is killed after chosen writes, and goes on from the stored status, which is JSON.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from keda_py.apis.environments.environment import EnvironmentStatus
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.decision.decision import EnvironmentDecision, decide
from keda_py.core.environment.decision.members import (
    OverlayAsleep,
    OverlayHold,
    OverlayReplicas,
    Resume,
    SetReplicas,
    Suspend,
)
from keda_py.core.environment.decision.observation import EnvironmentSeen, MemberSeen, Role, is_ready
from keda_py.core.environment.decision.state import Stage, read_state
from keda_py.core.environment.overrides import Overrides, OverrideSpec, TargetKey
from keda_py.core.environment.spec import EnvironmentSpec

US, PERSON, ARGO = "keda-py", "kubectl-scale", "argocd-controller"


class Killed(Exception):
    """The end of the process, between two writes."""


@dataclass
class Thing:
    """A member in the cluster. `owned` is the count that its owner wants of it, awake."""

    key: str
    role: Role
    wave: int
    owned: int
    created: datetime
    pods_take: timedelta | None
    """Time until its pods are ready; None: they never are."""
    fought_for: bool = False
    """True if another controller puts its count back."""
    count: int = 0
    manager: str = ""
    ready_at: datetime | None = None
    overlay: object = None

    def set(self, count: int, manager: str, now: datetime) -> None:
        if count != self.count:
            self.count, self.manager = count, manager
            self.ready_at = now if count == 0 else None if self.pods_take is None else now + self.pods_take

    def is_ready(self, now: datetime) -> bool:
        return self.ready_at is not None and self.ready_at <= now

    def seen(self, now: datetime, owned_by: str) -> MemberSeen:
        pods = self.count if self.is_ready(now) else 0 if self.count else 1
        minimum = self.owned if self.role is Role.SCALED_OBJECT else 0
        asleep = isinstance(self.overlay, OverlayAsleep)
        kind, _, name = self.key.partition("/")
        return MemberSeen(
            key=self.key,
            role=self.role,
            created=self.created,
            count=self.count,
            ready=self.is_ready(now) and is_ready(self.count, pods, minimum=minimum, asleep=asleep),
            wave=self.wave,
            manager=self.manager,
            owned_by=owned_by,
            targets=(TargetKey(kind, name),),
        )


@dataclass
class NamespaceModel:
    """`kills` are numbers of writes after which the controller ends."""

    spec: EnvironmentSpec
    calendar: Calendar
    things: list[Thing]
    overrides: Sequence[OverrideSpec] = ()
    kills: frozenset[int] = frozenset()
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    stored: str = "{}"
    writes: int = 0
    died: int = 0
    calendar_lost: bool = False
    log: list[tuple[datetime, str, int]] = field(default_factory=list)
    """Every count that we set."""

    def status(self) -> EnvironmentStatus:
        return EnvironmentStatus.model_validate(json.loads(self.stored))

    def decide(self, spec: EnvironmentSpec | None = None, owned_by: str = "") -> EnvironmentDecision:
        seen = EnvironmentSeen(
            members=[thing.seen(self.now, owned_by) for thing in self.things],
            calendar_error="it is gone" if self.calendar_lost else "",
        )
        calendar = None if self.calendar_lost else self.calendar
        known = [each for each in self.overrides if each.created <= self.now]
        state = read_state(self.status() if spec is None else EnvironmentStatus())
        return decide(spec or self.spec, calendar, Overrides(known), seen, state, self.now)

    def settle(self) -> EnvironmentDecision:
        """Look until nothing is to be done at this instant."""
        for _ in range(60):
            try:
                decision, acted = self._look()
            except Killed:
                self.died += 1
                continue
            if not acted:
                return decision
        raise AssertionError(f"it does not come to rest at {self.now}: {self.stored}")

    def _look(self) -> tuple[EnvironmentDecision, bool]:
        decision, acted = self.decide(), False
        written = json.dumps(decision.status.model_dump(by_alias=True, exclude_defaults=True))
        if written != self.stored:
            self.stored, acted = written, True
            self._wrote()
        for each in decision.members:
            thing = next(one for one in self.things if one.key == each.key)
            match each.action:
                case SetReplicas(count):
                    wanted: int | None = count
                case Suspend():
                    wanted = 0
                case Resume():
                    wanted = 1
                case _:
                    wanted = None
            if thing.role is Role.SCALED_OBJECT:
                acted |= self._lay_over(thing, each.action)
            elif wanted is not None:
                self._set(thing, wanted)
                acted = True
        return decision, acted

    def _lay_over(self, thing: Thing, overlay: object) -> bool:
        """Do what the scale loop of a ScaledObject does under an overlay; its one trigger is not active."""
        thing.overlay = overlay
        match overlay:
            case OverlayAsleep():
                # A person may have scaled it since: the loop leaves that to the Environment.
                wanted = 0 if thing.manager != PERSON or self._stage(thing) != Stage.DOWN else thing.count
            case OverlayReplicas(count):
                wanted = count
            case OverlayHold():
                wanted = thing.count
            case _:
                wanted = max(thing.count, thing.owned) if thing.manager == PERSON else thing.owned
        if wanted == thing.count:
            return False
        self._set(thing, wanted)
        return True

    def _stage(self, thing: Thing) -> str:
        found = self.status().members.get(thing.key)
        return found.stage if found is not None else ""

    def _set(self, thing: Thing, count: int) -> None:
        thing.set(count, US, self.now)
        self.log.append((self.now, thing.key, count))
        self._wrote()

    def _wrote(self) -> None:
        self.writes += 1
        if self.writes in self.kills:
            raise Killed

    def person_scales(self, thing: Thing, count: int) -> None:
        """By day it is what the owner wants from now on; at night it is for that night.

        The count of a ScaledObject is its triggers' affair; where the owner wants none, what a person wants stays.
        """
        remembered = self.status().members.get(thing.key)
        thing.set(count, PERSON, self.now)
        if thing.role is Role.SCALED_OBJECT:
            return
        nothing = remembered is not None and remembered.replicas == 0 and remembered.stage != Stage.PINNED
        rising = remembered is not None and remembered.stage == Stage.RISING
        if remembered is None or nothing or (rising and count > 0):
            thing.owned = count

    def other_controller_acts(self) -> None:
        """It wants the count of Git, whatever the time."""
        for thing in self.things:
            if thing.fought_for and thing.count != thing.owned and self._stage(thing) in (Stage.DOWN, Stage.FALLING):
                thing.set(thing.owned, ARGO, self.now)

    def instants(self, end: datetime, events: Sequence[datetime]) -> Iterator[datetime]:
        """Yield each instant at which something happens, up to `end`: the caller acts, then the controller has settled."""
        ahead = sorted({at for at in events if at > self.now} | {end}, reverse=True)
        while ahead:
            decision = self.settle()
            pods = [thing.ready_at for thing in self.things if thing.ready_at is not None and thing.ready_at > self.now]
            following = min([ahead[-1], *pods, *([decision.look_again_at] if decision.look_again_at else [])])
            assert following > self.now
            self.now = following
            if ahead and ahead[-1] <= self.now:
                ahead.pop()
                yield self.now
