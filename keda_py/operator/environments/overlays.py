"""What lies over the specs of ScaledObjects now, by Environments: a part of the one source of specs.

`lay` stands in `SpecSource.over` (`operator/assembly.py`). An overlay that changes makes its object due, as a changed
manifest does. After a start the stored statuses say what lay there, so that no first look goes without.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from keda_py.apis.environments.environment import EnvironmentStatus
from keda_py.apis.foreign import map_at
from keda_py.core.environment.decision.members import (
    MemberDecision,
    Overlay,
    OverlayAsleep,
    OverlayHold,
    OverlayReplicas,
)
from keda_py.core.environment.decision.state import MemberState, Stage, read_state
from keda_py.core.environment.scaling.overlays import lay_over
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.resources import SCALED_OBJECTS, Obj

_KIND = SCALED_OBJECTS.kind


@dataclass(frozen=True, slots=True)
class Laid:
    """An overlay, and whose it is: what the Paused condition tells."""

    overlay: Overlay
    because: str


class Overlays:
    """By ScaledObject."""

    def __init__(self) -> None:
        self._laid: dict[ObjectKey, Laid] = {}
        self._notify: Callable[[ObjectKey], None] = lambda _: None

    def clear(self) -> None:
        """Nothing is known any more, as in a new process."""
        self._laid.clear()

    def subscribe(self, notify: Callable[[ObjectKey], None]) -> None:
        """Call `notify` on the loop with each object whose overlay changes."""
        self._notify = notify

    def lay(self, spec: ScalingSpec) -> ScalingSpec:
        """The spec under what lies over it now."""
        laid = self._laid.get(spec.key)
        if laid is None:
            return spec
        under = lay_over(spec, laid.overlay)
        if under is spec or not under.pause.any:
            return under
        return replace(under, pause=replace(under.pause, because=laid.because))

    def put(self, key: ObjectKey, laid: Laid | None) -> None:
        """From now on; None takes it off."""
        if self._laid.get(key) == laid:
            return
        if laid is None:
            del self._laid[key]
        else:
            self._laid[key] = laid
        self._notify(key)

    def restore(self, environments: Iterable[Obj]) -> None:
        """Take over what the stored statuses say; decisions follow."""
        self.clear()
        for live in environments:
            meta = live["metadata"]
            try:
                state = read_state(EnvironmentStatus.model_validate(map_at(live, "status")))
            except (ConfigError, ValueError):
                continue  # told by its controller, which does nothing either
            for name, member in state.members.items():
                kind, _, called = name.partition("/")
                overlay = _stored(member)
                if kind == _KIND and overlay is not None:
                    key = ObjectKey(_KIND, meta["namespace"], called)
                    self._laid[key] = Laid(overlay, because(meta["name"], member))


def because(environment: str, member: MemberState | None) -> str:
    """Which Environment rules a ScaledObject, and how."""
    asleep = member is not None and member.stage in (Stage.FALLING, Stage.DOWN)
    return f"put to sleep by Environment {environment}" if asleep else f"held by Environment {environment}"


def laid_by(environment: str, decision: MemberDecision) -> Laid | None:
    """What lies over a ScaledObject by a decision about its Environment."""
    overlay = _overlay_of(decision)
    return None if overlay is None else Laid(overlay, because(environment, decision.state))


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
