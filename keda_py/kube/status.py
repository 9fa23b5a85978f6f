"""Status patches: a JSON merge patch of the fields that differ, and no request if none does.

Writers of different fields do not conflict. The uid in the patch keeps the status of a deleted object off a new object
of the same name. Caches keep a long list in a status packed, as bytes; JSON from the API server never has bytes.
"""

from collections.abc import Mapping
from typing import Any

from keda_py.apis.foreign import list_at
from keda_py.apis.squeezed import pack, unpack
from keda_py.errors import Conflict, Invalid
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import Obj, Resource


def merge_patch(old: Obj, new: Obj) -> Obj:
    """Return the JSON merge patch (RFC 7386) from `old` to `new`, {} if they are equal. Lists are replaced whole."""
    patch: Obj = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := merge_patch(before, value):
                patch[name] = inner
        elif before != value:
            patch[name] = value
    return patch


async def patch_status(
    client: KubeClient, resource: Resource, obj: Obj, status: dict[str, Any], version: str = ""
) -> Obj | None:
    """Make `status` the status of `obj`; return the answer, or None if nothing differs.

    Raises Conflict if the name belongs to another object by now, or if `version` is given and outdated; NotFound if no
    object has the name.
    """
    patch = merge_patch(obj.get("status") or {}, status)
    if not patch:
        return None
    metadata = obj["metadata"]
    path = resource.named(metadata.get("namespace", ""), metadata["name"], "status")
    try:
        exactly = {"resourceVersion": version} if version else {}
        return await client.patch(path, {"metadata": {"uid": metadata["uid"], **exactly}, "status": patch})
    except Invalid as error:
        if "metadata.uid" not in str(error):
            raise
        # A wrong uid is a Conflict for built-in kinds, and "field is immutable" (422) for custom resources.
        raise Conflict(str(error), status=409, reason="Conflict") from error


def packed(obj: Obj, field: str) -> Obj:
    """Return the object for a cache, with one list of its status packed.

    A list that cannot be written as JSON is dropped: it was not written by us.
    """
    status = obj.get("status")
    if not isinstance(status, dict) or not isinstance(listed := status.get(field), list):
        return obj
    others = {name: value for name, value in status.items() if name != field}
    try:
        return {**obj, "status": {**others, field: pack(listed)}}
    except TypeError:
        return {**obj, "status": others}


def list_in(status: Mapping[str, Any], field: str) -> list[Any]:
    """Return a list of a status, packed or not; empty if the field is missing or has another type."""
    found = status.get(field)
    return unpack(found) if isinstance(found, bytes) else list_at(status, field)
