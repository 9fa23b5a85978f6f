"""A ScaledObject is being deleted: give the replicas back if asked to, then let it go.

The finalizer goes by one JSON patch and in every case: when target, HPA or namespace are already gone, too.
Behaviour reference, section 3.4. The HPA follows through its ownerReference.
"""

import logging

from keda_py.core.spec import ScalingSpec
from keda_py.errors import ConfigError, Invalid, KubeError, NotFound
from keda_py.kube.client import PatchKind
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.controller.dependencies import WATCH_STOPPED
from keda_py.operator.controller.state import about
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.reconcile import FINALIZER
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.targets import Count

DELETED = ("ScaledObjectDeleted", "ScaledObject was deleted")

log = logging.getLogger(__name__)


async def finalize(parts: ScaledObjectDependencies, state: ObjectState, live: Obj) -> None:
    """Stop, restore, remove our finalizer. Raises KubeError when the finalizer could not be removed."""
    was_running = state.spec is not None
    state.stop()
    await parts.readings.forget(state.key)
    parts.instruments.forget(state.key)  # now: our watch tells only later that the object is gone
    finalizers = live["metadata"].get("finalizers") or []
    if FINALIZER not in finalizers:
        return
    await _restore(parts, state, live)
    where = f"/metadata/finalizers/{finalizers.index(FINALIZER)}"
    patch = [{"op": "test", "path": where, "value": FINALIZER}, {"op": "remove", "path": where}]
    namespace, name = state.key.namespace, state.key.name
    try:
        await parts.client.patch(SCALED_OBJECTS.named(namespace, name), patch, PatchKind.JSON)
    except NotFound:
        return
    except Invalid:
        # The list changed since the cache saw it; the next event brings the new one.
        log.debug("finalizers changed meanwhile", extra={"namespace": namespace, "scaledobject": name})
        raise
    if await parts.namespaces.is_terminating(namespace):
        parts.events.announce(live, *DELETED)
    else:
        if was_running:
            parts.events.record(live, *WATCH_STOPPED)
        parts.tell(live, "Warning", *DELETED)
    log.info("scaledobject deleted", extra={"namespace": namespace, "scaledobject": name})


async def _restore(parts: ScaledObjectDependencies, state: ObjectState, live: Obj) -> None:
    status = live.get("status") or {}
    resolved, original = status.get("scaleTargetGVKR"), status.get("originalReplicaCount")
    if not resolved or original is None:
        return
    try:
        spec = parts.specs.read(live)
        if spec.restore_original:
            await _put_back(parts, state, spec, ScaleTarget(**resolved), original)
    except (ConfigError, KubeError) as error:
        log.warning("original replicas were not restored", extra=about(state) | {"error": str(error)})


async def _put_back(
    parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec, kind: ScaleTarget, original: int
) -> None:
    count = await parts.targets.read_again(state, spec, kind)
    if count.replicas != original:
        target = Count(replicas=original, resource_version=count.resource_version)
        await parts.targets.write(state, spec, kind, target)
