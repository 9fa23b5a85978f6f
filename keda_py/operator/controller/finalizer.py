"""Our finalizer: added in one write with the labels, removed by one JSON patch that touches no other finalizer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient, PatchKind
from keda_py.kube.resources import Obj, Resource

if TYPE_CHECKING:  # `keda-py release` removes finalizers, and needs nothing else of the operator
    from keda_py.operator.controller.dependencies import Dependencies
    from keda_py.operator.controller.state import Remembered

FINALIZER = "finalizer.keda.sh"
NO_LABELS: Mapping[str, str] = {}


def has_finalizer(live: Obj) -> bool:
    """Whether the object has our finalizer."""
    return FINALIZER in (live["metadata"].get("finalizers") or ())


async def ensure_finalizer(
    client: KubeClient, resource: Resource, live: Obj, labels: Mapping[str, str] = NO_LABELS
) -> Obj | None:
    """Add the finalizer and labels in one write if any is missing; returns the object then, None without a write.

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


async def end_loop(parts: "Dependencies", state: "Remembered") -> bool:
    """Stop the scale loop, close the scalers and end the series of an object; returns whether a loop was running."""
    was_running = state.spec is not None
    state.stop()
    await parts.readings.forget(state.key)
    # Not left to the watch event of the deletion: until that comes, a changed Secret would build its scalers again.
    parts.resolver.forget(state.key)
    parts.instruments.forget(state.key)
    return was_running


async def remove_finalizer(client: KubeClient, resource: Resource, live: Obj) -> bool:
    """Remove our finalizer; returns whether the object had it.

    Raises Invalid when the list has changed since `live` was seen (the next event brings the new one), and other
    KubeErrors.
    """
    if not has_finalizer(live):
        return False
    meta = live["metadata"]
    where = f"/metadata/finalizers/{meta['finalizers'].index(FINALIZER)}"
    # A merge patch would replace the whole list, and drop a finalizer that another client has added meanwhile. `test`
    # makes the API server refuse the removal where the list has moved.
    patch = [{"op": "test", "path": where, "value": FINALIZER}, {"op": "remove", "path": where}]
    try:
        await client.patch(resource.named(meta.get("namespace", ""), meta["name"]), patch, PatchKind.JSON)
    except NotFound:
        return False
    return True
