"""Overlays on the specs of ScaledObjects: the layers of the one source of specs above the manifest.

`SpecOverlays.over` adds the layers. An overlay that changes makes its object due, as a changed manifest does. After a
start the overlays are restored from stored statuses, so that no first look goes without them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

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
from keda_py.core.spec import ScalingSpec, without_ended_pause
from keda_py.core.spec_source import SpecSource
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time
from keda_py.kube.resources import SCALED_OBJECTS, Obj

_KIND = SCALED_OBJECTS.kind


@dataclass(frozen=True, slots=True)
class SpecLayer:
    """An overlay, or the bounds of a schedule; `because` names who set it, for the Paused condition."""

    overlay: Overlay | BoundsSpec
    because: str
    active_reason: str = ""
    """Reason of condition Active while the overlay stops all scaling."""
    until: str = ""
    """Time of the next change of the overlay, "" if it is not known."""

    def over(self, spec: ScalingSpec) -> ScalingSpec:
        """The spec with the overlay applied."""
        overlay = self.overlay
        covered = lay_bounds_over(spec, overlay) if isinstance(overlay, BoundsSpec) else lay_over(spec, overlay)
        return ruled(spec, covered, self.because, self.active_reason, self.until)


@dataclass(frozen=True, slots=True)
class Removal:
    """The removal of an overlay; `because` says what removed it, which is why the object wakes."""

    because: str


class Overlays:
    """One layer: the overlay of each ScaledObject, and the uid of the object that set it.

    `released` is shared by all layers: the reason why an object's last overlay was removed.
    """

    def __init__(self, released: dict[ObjectKey, str] | None = None) -> None:
        self._released = {} if released is None else released
        self._layer_of: dict[ObjectKey, SpecLayer] = {}
        self._by: dict[ObjectKey, str] = {}
        self._notify: Callable[[ObjectKey], None] = lambda _: None

    def clear(self) -> None:
        """Drop everything, as in a new process."""
        self._layer_of.clear()
        self._by.clear()

    def subscribe(self, notify: Callable[[ObjectKey], None]) -> None:
        """Call `notify` on the loop with each object whose overlay changes."""
        self._notify = notify

    def lay(self, spec: ScalingSpec) -> ScalingSpec:
        """The spec with this layer's overlay applied."""
        laid, released = self._layer_of.get(spec.key), self._released.get(spec.key, "")
        if released != spec.released_by:
            spec = replace(spec, released_by=released)
        return spec if laid is None else laid.over(spec)

    def put(self, key: ObjectKey, laid: SpecLayer | Removal | None, by: str = "") -> None:
        """Set or remove an overlay on behalf of the object of uid `by`; None: the ScaledObject is deleted. Only the
        object that set an overlay can remove it.
        """
        if not isinstance(laid, SpecLayer):
            self._take_off(key, laid, by)
            return
        before = self._layer_of.get(key)
        self._layer_of[key], self._by[key] = laid, by
        if before != laid:
            self._notify(key)

    def _take_off(self, key: ObjectKey, released: Removal | None, by: str) -> None:
        # While an object changes hands two Environments decide about it: the former one must not remove the overlay of
        # the new one.
        if self._by.get(key, by) != by:
            return
        before = self._layer_of.pop(key, None)
        self._by.pop(key, None)
        if released is None:
            self._released.pop(key, None)
        if before is None:
            return
        if released is not None:
            self._released[key] = released.because
        self._notify(key)

    def names_by(self, environment: str) -> frozenset[str]:
        """KIND/NAME of all objects that have an overlay of the Environment of that uid."""
        return frozenset(f"{_KIND}/{key.name}" for key, by in self._by.items() if by == environment)

    def restore(self, environments: Iterable[Obj]) -> None:
        """Restore the overlays from stored statuses, until decisions replace them."""
        self.clear()
        for live in environments:
            meta = live["metadata"]
            # The controller of an Environment reports unreadable entries and leaves those members alone.
            for name, member in read_stored(map_at(live, "status")).state.members.items():
                kind, _, called = name.partition("/")
                overlay = _stored(member)
                if kind == _KIND and overlay is not None:
                    key = ObjectKey(_KIND, meta["namespace"], called)
                    until = text_at(live, "status", "nextChange", "at")
                    self._layer_of[key] = _layer_of(overlay, ruler_of(live), member, until)
                    self._by[key] = meta["uid"]


class SpecOverlays:
    """All layers above manifests, in this order: ScalingSchedules, py-kube-downscaler's annotations, Overrides outside
    of Environments, Environments.
    """

    def __init__(self) -> None:
        released: dict[ObjectKey, str] = {}
        self.scheduled, self.annotated = Overlays(released), Overlays(released)
        self.overridden, self.by_environments = Overlays(released), Overlays(released)

    def over(
        self, specs: SpecSource[ScaledObject, ScalingSpec], now: Callable[[], datetime]
    ) -> SpecSource[ScaledObject, ScalingSpec]:
        """The source of specs with all layers on top; below them, a pause of the owner that is over by `now`."""

        first, *others = self._layers

        def lay_first(spec: ScalingSpec) -> ScalingSpec:
            return first.lay(spec if spec.pause.until is None else without_ended_pause(spec, now()))

        return specs.over(lay_first, *(layer.lay for layer in others))

    def subscribe(self, notify: Callable[[ObjectKey], None]) -> None:
        """Call `notify` on the loop with each object of which any layer changes."""
        for layer in self._layers:
            layer.subscribe(notify)

    @property
    def _layers(self) -> tuple[Overlays, ...]:
        return self.scheduled, self.annotated, self.overridden, self.by_environments


def because(ruler: str, member: MemberState | None) -> str:
    """Say how a ScaledObject is ruled, by what, and until when."""
    if member is not None and member.stage is Stage.KEPT:
        return f"kept up by {member.by}, held by {ruler}"
    return f"{'asleep' if _sleeps(member) else 'held'} by {ruler}"


def _sleeps(member: MemberState | None) -> bool:
    return member is not None and member.stage in (Stage.FALLING, Stage.DOWN)


def _layer_of(overlay: Overlay, ruler: str, member: MemberState | None, until: str) -> SpecLayer:
    reason = "AsleepByEnvironment" if _sleeps(member) else "HeldByEnvironment"
    return SpecLayer(overlay, because(ruler, member), reason, until)


def ruler_of(live: Obj) -> str:
    """Name the Environment and its next change: `environment dev until 2026-11-23T07:30:00Z (Calendar office)`."""
    at, override = text_at(live, "status", "nextChange", "at"), text_at(live, "status", "override", "name")
    return _ruler(live["metadata"]["name"], at, override, map_at(live, "spec", "calendarRef"))


def ruler(name: str, status: EnvironmentStatus, calendar: Mapping[str, object]) -> str:
    """Name an Environment whose status is not stored yet; `calendar` is `spec.calendarRef`, {} for hours of its own."""
    at, override = status.next_change.at if status.next_change else "", status.override.name if status.override else ""
    return _ruler(name, at, override, calendar)


def _ruler(name: str, at: str, override: str, calendar: Mapping[str, object]) -> str:
    until = f" until {at}" if at else ""
    called = f"{calendar.get('kind') or 'Calendar'} {calendar['name']}" if "name" in calendar else "its own hours"
    return f"environment {name}{until} ({f'Override {override}' if override else called})"


def schedule_ruler(schedule: str, holds: InForce) -> str:
    """Name a schedule and its next change: `ruled by schedule nights until 2026-11-23T07:30:00Z (period closed)`."""
    until = f" until {write_time(holds.changes_at)}" if holds.changes_at is not None else ""
    return f"ruled by schedule {schedule}{until} (period {holds.period})"


def laid_by(ruler: str, decision: MemberDecision, released: str, until: str) -> SpecLayer | Removal:
    """Turn a decision about a member into its overlay, or into a removal for the reason `released`."""
    overlay = _overlay_of(decision)
    return Removal(released) if overlay is None else _layer_of(overlay, ruler, decision.state, until)


def _overlay_of(decision: MemberDecision) -> Overlay | None:
    """The overlay that a decision asks for.

    A member seen at 0 is only held: if something scales it up then, the next decision judges that, instead of undoing
    it at once.
    """
    match decision.action:
        case OverlayAsleep(triggers_wake=False) if decision.state is not None and decision.state.stage is Stage.DOWN:
            return OverlayHold()
        case OverlayAsleep() | OverlayHold() | OverlayReplicas() as overlay:
            return overlay
        case _:
            return None


def _stored(member: MemberState) -> Overlay | None:
    """The overlay to restore for a stored member: until the first decision no trigger wakes anything."""
    if member.stage is Stage.FALLING:
        return OverlayAsleep()
    return OverlayHold() if member.stage in (Stage.DOWN, Stage.KEPT) else None
