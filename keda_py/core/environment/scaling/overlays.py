"""Overlays of a ScaledObject's spec while it sleeps, is held, or has an exact count: functions spec -> spec.

They go into `SpecSource.over` (`core/spec_source.py`), after the schedules'. Asleep is KEDA's own pause at 0: triggers
are not polled, the HPA goes, and the owner's spec is back when the overlay is taken off. A ScaledObject that its owner
has paused is left as it is: as long as it is paused, its workload is a member of its own.
"""

from dataclasses import replace
from datetime import timedelta
from typing import assert_never

from keda_py.apis.scaled_object import Fallback
from keda_py.core.environment.decision.members import Overlay, OverlayAsleep, OverlayHold, OverlayReplicas
from keda_py.core.environment.overrides import OverrideState, Ruling
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.default_note import DefaultNote
from keda_py.core.values.pause import LARGEST_INT32, PauseSpec

_NO_TIME = timedelta(0)
# A source that cannot be read keeps nothing awake: the decision goes to 0 under a fallback of 0, and as it never
# begins, the trigger never counts as active for it.
TO_ZERO = Fallback(failure_threshold=LARGEST_INT32, replicas=0)


def lay_over(spec: ScalingSpec, overlay: Overlay | None) -> ScalingSpec:
    """Lay the overlay over the spec; None leaves it unchanged."""
    if overlay is None or paused_by_owner(spec):
        return spec
    match overlay:
        case OverlayAsleep(triggers_wake=False):
            return hold_at(spec, 0)
        case OverlayAsleep() if spec.pause.stopped or spec.resource_only:
            # A schedule has closed its triggers, or they are cpu and memory alone, which need a pod to be active.
            return hold_at(spec, 0)
        case OverlayAsleep():
            woken = replace(spec, declared_min=0, idle_replicas=None, force_activation=False, fallback=TO_ZERO)
            return replace(woken, cooldown=_NO_TIME, initial_cooldown=_NO_TIME, after_scale_in=False)
        case OverlayHold():
            return replace(spec, pause=PauseSpec(paused=True))
        case OverlayReplicas():
            return exactly(spec, overlay.replicas)
        case _:
            assert_never(overlay)


def ruled(spec: ScalingSpec, under: ScalingSpec, because: str, active_reason: str = "", until: str = "") -> ScalingSpec:
    """Name in the spec `under` an overlay what rules it, and until when; `spec` itself if nothing was laid over it."""
    if under is spec:
        return spec
    pause = under.pause
    if pause.stopped:
        pause = replace(pause, because=because, active_reason=active_reason)
    return replace(under, ruled_by=because, ruled_until=until, pause=pause)


def within(spec: ScalingSpec, replicas: int) -> tuple[ScalingSpec, int]:
    """Return that count, or the bound of KedaDefaults below it, of which the spec then has a note."""
    most = spec.most_replicas
    if most is None or replicas <= most:
        return spec, replicas
    text = f"replicas {most}: the bound of maxReplicaCount; {replicas} are asked for by what lies over the manifest"
    return replace(spec, defaults=(*spec.defaults, DefaultNote("replicas", text, True, True))), most


def hold_at(spec: ScalingSpec, replicas: int) -> ScalingSpec:
    """Hold the spec at that count, whatever its triggers say, which are not asked."""
    spec, replicas = within(spec, replicas)
    held = replace(spec, declared_min=0, idle_replicas=None, force_activation=False)
    return replace(held, pause=PauseSpec(replicas=str(replicas)))


def exactly(spec: ScalingSpec, replicas: int) -> ScalingSpec:
    """Set the HPA's min and max to that count, so that its tolerance does not matter; at 0 there is no HPA."""
    if replicas == 0:
        return hold_at(spec, 0)
    spec, replicas = within(spec, replicas)
    scaling = replace(spec.pause, paused=False, replicas=None)
    return replace(spec, declared_min=replicas, max_replicas=replicas, idle_replicas=None, pause=scaling)


def paused_by_owner(spec: ScalingSpec) -> bool:
    """Return whether its own annotations stop it, whatever lies over it."""
    return spec.paused_by_owner


def overlay_of(verdict: Ruling) -> Overlay | None:
    """Return the overlay of an Override for a ScaledObject without an Environment; None leaves it as it is written."""
    if verdict.rules is None:
        return None
    match verdict.rules.state:
        case OverrideState.AWAKE:
            return None
        case OverrideState.ASLEEP:
            return OverlayAsleep()
        case OverrideState.HOLD:
            return OverlayHold()
        case OverrideState.EXACTLY:
            return OverlayReplicas(verdict.rules.replicas or 0)
