"""A ScaledObject is being deleted: give the replicas back if asked to, or say what stays at 0, then let it go.

The finalizer goes by one JSON patch and in every case: when target, HPA or namespace are already gone, too.
Behaviour reference, section 3.4. The HPA follows through its ownerReference.
"""

import logging

from keda_py.core.meaning.notes import RESTORE
from keda_py.core.spec import ScalingSpec
from keda_py.errors import ConfigError, KubeError
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.controller.dependencies import WATCH_STOPPED
from keda_py.operator.controller.finalizer import end_loop, has_finalizer, remove_finalizer
from keda_py.operator.controller.state import about
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.targets import Count

DELETED = ("ScaledObjectDeleted", "ScaledObject was deleted")

log = logging.getLogger(__name__)


async def finalize(parts: ScaledObjectDependencies, state: ObjectState, live: Obj) -> None:
    """Stop, restore, remove our finalizer. Raises KubeError when the finalizer could not be removed."""
    was_running = await end_loop(parts.shared, state)
    if not has_finalizer(live):
        return
    # Before the finalizer is removed: afterwards nothing would restore the count if this process ended here.
    await _restore(parts, state, live)
    reason, note = DELETED
    left = await _left_asleep(parts, state, live)
    if not await remove_finalizer(parts.shared.client, SCALED_OBJECTS, live):
        return
    if await parts.namespaces.is_terminating(state.key.namespace):
        parts.shared.events.announce(live, *DELETED)
    else:
        if was_running:
            parts.shared.events.record(live, *WATCH_STOPPED)
        parts.shared.events.record(live, "Warning", reason, f"{note}{left}", action=note)
    log.info("scaledobject deleted", extra=about(state))


async def _restore(parts: ScaledObjectDependencies, state: ObjectState, live: Obj) -> None:
    resolved, original = state.status.get("scaleTargetGVKR"), state.status.get("originalReplicaCount")
    if not resolved or original is None:
        return
    try:
        spec = parts.specs.read(live)
        if spec.restore_original:
            await _restore_count(parts, state, spec, ScaleTarget(**resolved), original)
    # Logged, not raised: target or namespace may be gone for good, and the object must not stay in deletion for ever.
    except (ConfigError, KubeError) as error:
        log.warning("original replicas were not restored", extra=about(state) | {"error": str(error)})


async def _left_asleep(parts: ScaledObjectDependencies, state: ObjectState, live: Obj) -> str:
    """What follows KEDA's words in the Event where the workload stays at 0; "" where it does not, or is not known."""
    resolved = state.status.get("scaleTargetGVKR")
    if not resolved:
        return ""
    try:
        spec = parts.specs.read(live)
        if spec.restore_original or (await parts.targets.count(state, spec, ScaleTarget(**resolved))).replicas:
            return ""
    except (ConfigError, KubeError):
        return ""
    workload = f"{spec.target.kind} {spec.target.name}"
    return f"; {workload} stays at 0 replicas and nothing wakes it: scale it by hand, or set {RESTORE}: true beforehand"


async def _restore_count(
    parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec, kind: ScaleTarget, original: int
) -> None:
    count = await parts.targets.read_again(state, spec, kind)
    if count.replicas != original:
        target = Count(replicas=original, resource_version=count.resource_version)
        await parts.targets.write(state, spec, kind, target)
