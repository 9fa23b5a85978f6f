"""An orderly end: our finalizer, put on what needs one, and taken off by one JSON patch that touches no other."""

from collections.abc import Mapping

from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient, PatchKind
from keda_py.kube.resources import Obj, Resource
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.state import Remembered

FINALIZER = "finalizer.keda.sh"
NO_LABELS: Mapping[str, str] = {}


def has_finalizer(live: Obj) -> bool:
    """Is the object held by us?"""
    return FINALIZER in (live["metadata"].get("finalizers") or ())


async def ensure_finalizer(
    client: KubeClient, resource: Resource, live: Obj, labels: Mapping[str, str] = NO_LABELS
) -> Obj | None:
    """Add it, and labels, in one write, where they are missing; the object then, None where nothing was.

    Raises Conflict when another client wrote meanwhile, and other KubeErrors.
    """
    meta = live["metadata"]
    change: dict[str, object] = {}
    if not has_finalizer(live):
        change["finalizers"] = [*(meta.get("finalizers") or ()), FINALIZER]
    present = meta.get("labels") or {}
    if any(present.get(name) != text for name, text in labels.items()):
        change["labels"] = labels
    if change:
        # A list is replaced whole by a merge patch: the version makes sure that no other finalizer is lost.
        change["resourceVersion"] = meta["resourceVersion"]
        return await client.patch(resource.named(meta.get("namespace", ""), meta["name"]), {"metadata": change})
    return None


async def end_loop(parts: Dependencies, state: Remembered) -> bool:
    """An object is being deleted: no look, no scaler and no series any more, and nothing is followed for it.

    True when its scale loop was running.
    """
    was_running = state.spec is not None
    state.stop()
    await parts.readings.forget(state.key)
    # Now: our watch tells only later that the object is gone.
    parts.resolver.forget(state.key)
    parts.instruments.forget(state.key)
    return was_running


async def remove_finalizer(client: KubeClient, resource: Resource, live: Obj) -> bool:
    """Let the object go; True when it was held by us until now.

    Raises Invalid when the list has changed since `live` was seen (the next event brings the new one), and other
    KubeErrors.
    """
    if not has_finalizer(live):
        return False
    meta = live["metadata"]
    where = f"/metadata/finalizers/{meta['finalizers'].index(FINALIZER)}"
    patch = [{"op": "test", "path": where, "value": FINALIZER}, {"op": "remove", "path": where}]
    try:
        await client.patch(resource.named(meta.get("namespace", ""), meta["name"]), patch, PatchKind.JSON)
    except NotFound:
        return False
    return True
