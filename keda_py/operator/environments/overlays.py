"""What lies over the specs of ScaledObjects now: a part of the one source of specs.

`SpecOverlays.over` puts the layers above the manifest. An overlay that changes makes its object due, as a changed
manifest does. After a start the stored statuses say what lay there, so that no first look goes without.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from keda_py.apis.environments.environment import EnvironmentStatus
from keda_py.apis.foreign import map_at, text_at
from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.environment.decision.members import (
    MemberDecision,
    Overlay,
    OverlayAsleep,
    OverlayHold,
    OverlayReplicas,
)
from keda_py.core.environment.decision.state import MemberState, Stage
from keda_py.core.environment.decision.stored import read_stored
from keda_py.core.environment.scaling.overlays import lay_over, ruled
from keda_py.core.environment.scaling.schedules import BoundsSpec, InForce, lay_bounds_over
from keda_py.core.spec import ScalingSpec
from keda_py.core.spec_source import SpecSource
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time
from keda_py.kube.resources import SCALED_OBJECTS, Obj

_KIND = SCALED_OBJECTS.kind


@dataclass(frozen=True, slots=True)
class Laid:
    """An overlay, or the bounds of a schedule, and whose it is: what the Paused condition tells."""

    overlay: Overlay | BoundsSpec
    because: str
    active_reason: str = ""
    """Of condition Active, where it stops all scaling."""

    def over(self, spec: ScalingSpec) -> ScalingSpec:
        """The spec under it."""
        overlay = self.overlay
        covered = lay_bounds_over(spec, overlay) if isinstance(overlay, BoundsSpec) else lay_over(spec, overlay)
        return ruled(spec, covered, self.because, self.active_reason)


@dataclass(frozen=True, slots=True)
class Removal:
    """Nothing lies over the object any more, and what took it off: that is why the object wakes."""

    because: str


class Overlays:
    """One layer: what lies over each ScaledObject, and the uid of the object that laid it.

    `released` is shared by all layers: why what lay over an object was taken off last.
    """

    def __init__(self, released: dict[ObjectKey, str] | None = None) -> None:
        self._released = {} if released is None else released
        self._laid: dict[ObjectKey, Laid] = {}
        self._by: dict[ObjectKey, str] = {}
        self._notify: Callable[[ObjectKey], None] = lambda _: None

    def clear(self) -> None:
        """Nothing is known any more, as in a new process."""
        self._laid.clear()
        self._by.clear()

    def subscribe(self, notify: Callable[[ObjectKey], None]) -> None:
        """Call `notify` on the loop with each object whose overlay changes."""
        self._notify = notify

    def lay(self, spec: ScalingSpec) -> ScalingSpec:
        """The spec under what lies over it now."""
        laid, released = self._laid.get(spec.key), self._released.get(spec.key, "")
        if released != spec.released_by:
            spec = replace(spec, released_by=released)
        return spec if laid is None else laid.over(spec)

    def put(self, key: ObjectKey, laid: Laid | Removal | None, by: str = "") -> None:
        """From now on, by the object of that uid; None: the object is gone. Where another object has laid something,
        only a layer of that one's takes it off."""
        if not isinstance(laid, Laid):
            self._take_off(key, laid, by)
            return
        before = self._laid.get(key)
        self._laid[key], self._by[key] = laid, by
        if before != laid:
            self._notify(key)

    def _take_off(self, key: ObjectKey, released: Removal | None, by: str) -> None:
        if self._by.get(key, by) != by:
            return
        before = self._laid.pop(key, None)
        self._by.pop(key, None)
        if released is None:
            self._released.pop(key, None)
        if before is None:
            return
        if released is not None:
            self._released[key] = released.because
        self._notify(key)

    def names_by(self, environment: str) -> frozenset[str]:
        """KIND/NAME of all over which the Environment of that uid lies."""
        return frozenset(f"{_KIND}/{key.name}" for key, by in self._by.items() if by == environment)

    def restore(self, environments: Iterable[Obj]) -> None:
        """Take over what the stored statuses say; decisions follow."""
        self.clear()
        for live in environments:
            meta = live["metadata"]
            # What cannot be read is told by its controller, which leaves those members alone.
            for name, member in read_stored(map_at(live, "status")).state.members.items():
                kind, _, called = name.partition("/")
                overlay = _stored(member)
                if kind == _KIND and overlay is not None:
                    key = ObjectKey(_KIND, meta["namespace"], called)
                    self._laid[key], self._by[key] = _laid(overlay, ruler_of(live), member), meta["uid"]


class SpecOverlays:
    """The layers above manifests, in this order: ScalingSchedules, py-kube-downscaler's annotations, Overrides outside
    of Environments, Environments."""

    def __init__(self) -> None:
        released: dict[ObjectKey, str] = {}
        self.scheduled, self.annotated = Overlays(released), Overlays(released)
        self.overridden, self.by_environments = Overlays(released), Overlays(released)

    def over(self, specs: SpecSource[ScaledObject, ScalingSpec]) -> SpecSource[ScaledObject, ScalingSpec]:
        """The source of specs with all layers on top."""
        return specs.over(*(layer.lay for layer in self._layers))

    def subscribe(self, notify: Callable[[ObjectKey], None]) -> None:
        """Call `notify` on the loop with each object over which something else lies."""
        for layer in self._layers:
            layer.subscribe(notify)

    @property
    def _layers(self) -> tuple[Overlays, ...]:
        return self.scheduled, self.annotated, self.overridden, self.by_environments


def because(ruler: str, member: MemberState | None) -> str:
    """How a ScaledObject is ruled, by what, and until when."""
    if member is not None and member.stage is Stage.KEPT:
        return f"kept up by {member.by}, held by {ruler}"
    return f"{'asleep' if _sleeps(member) else 'held'} by {ruler}"


def _sleeps(member: MemberState | None) -> bool:
    return member is not None and member.stage in (Stage.FALLING, Stage.DOWN)


def _laid(overlay: Overlay, ruler: str, member: MemberState | None) -> Laid:
    reason = "AsleepByEnvironment" if _sleeps(member) else "HeldByEnvironment"
    return Laid(overlay, because(ruler, member), reason)


def ruler_of(live: Obj) -> str:
    """`environment dev until 2026-11-23T07:30:00Z (Calendar office)`: as the object and its status have it."""
    at, override = text_at(live, "status", "nextChange", "at"), text_at(live, "status", "override", "name")
    return _ruler(live["metadata"]["name"], at, override, map_at(live, "spec", "calendarRef"))


def ruler(name: str, status: EnvironmentStatus, calendar: Mapping[str, object]) -> str:
    """The same of a status that is not stored yet; `calendar` is `spec.calendarRef`, {} for hours of its own."""
    at, override = status.next_change.at if status.next_change else "", status.override.name if status.override else ""
    return _ruler(name, at, override, calendar)


def _ruler(name: str, at: str, override: str, calendar: Mapping[str, object]) -> str:
    until = f" until {at}" if at else ""
    called = f"{calendar.get('kind') or 'Calendar'} {calendar['name']}" if "name" in calendar else "its own hours"
    return f"environment {name}{until} ({f'Override {override}' if override else called})"


def schedule_ruler(schedule: str, holds: InForce) -> str:
    """`ruled by schedule nights until 2026-11-23T07:30:00Z (period closed)`."""
    until = f" until {write_time(holds.changes_at)}" if holds.changes_at is not None else ""
    return f"ruled by schedule {schedule}{until} (period {holds.period})"


def laid_by(ruler: str, decision: MemberDecision, released: str) -> Laid | Removal:
    """What lies over a ScaledObject by a decision about its Environment; `released`: why nothing does any more."""
    overlay = _overlay_of(decision)
    return Removal(released) if overlay is None else _laid(overlay, ruler, decision.state)


def _overlay_of(decision: MemberDecision) -> Overlay | None:
    """What lies over a ScaledObject by a decision.

    One that was seen at 0 is only held: who scales it up then is for the next decision to judge, not undone at once.
    """
    match decision.action:
        case OverlayAsleep(triggers_wake=False) if decision.state is not None and decision.state.stage is Stage.DOWN:
            return OverlayHold()
        case OverlayAsleep() | OverlayHold() | OverlayReplicas() as overlay:
            return overlay
        case _:
            return None


def _stored(member: MemberState) -> Overlay | None:
    """Until the first decision nothing is woken by a trigger."""
    if member.stage is Stage.FALLING:
        return OverlayAsleep()
    return OverlayHold() if member.stage in (Stage.DOWN, Stage.KEPT) else None
