"""Our finalizer: put on what needs an orderly end, and taken off by one JSON patch that touches no other finalizer."""

from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient, PatchKind
from keda_py.kube.resources import Obj, Resource

FINALIZER = "finalizer.keda.sh"


async def ensure_finalizer(client: KubeClient, resource: Resource, live: Obj) -> None:
    """Add it where it is missing. Raises Conflict when another client wrote meanwhile, and other KubeErrors."""
    meta = live["metadata"]
    present = meta.get("finalizers") or []
    if FINALIZER in present:
        return
    # A list is replaced whole by a merge patch: the version makes sure that no other finalizer is lost.
    change = {"finalizers": [*present, FINALIZER], "resourceVersion": meta["resourceVersion"]}
    await client.patch(resource.named(meta.get("namespace", ""), meta["name"]), {"metadata": change})


async def remove_finalizer(client: KubeClient, resource: Resource, live: Obj) -> bool:
    """Let the object go; True when it was held by us until now.

    Raises Invalid when the list has changed since `live` was seen (the next event brings the new one), and other
    KubeErrors.
    """
    meta = live["metadata"]
    present = meta.get("finalizers") or []
    if FINALIZER not in present:
        return False
    where = f"/metadata/finalizers/{present.index(FINALIZER)}"
    patch = [{"op": "test", "path": where, "value": FINALIZER}, {"op": "remove", "path": where}]
    try:
        await client.patch(resource.named(meta.get("namespace", ""), meta["name"]), patch, PatchKind.JSON)
    except NotFound:
        return False
    return True
