"""Write the status of an object: a JSON merge patch of what differs, and nothing when nothing does.

Two writers of different fields do not meet; the uid in the patch keeps the status of a deleted object from landing on
its namesake.

A long list in a status that is kept is kept as one text; bytes are never JSON from the API server.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from keda_py.apis.foreign import list_at
from keda_py.apis.squeezed import expand, squeeze
from keda_py.errors import Conflict, Invalid
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import Obj, Resource


def merge_patch(old: Obj, new: Obj) -> Obj:
    """The JSON merge patch (RFC 7386) that makes `new` of `old`; {} when they are equal. Lists are replaced whole."""
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
    """Make `status` the status of `obj` as it was last seen; the answer, or None when there was nothing to write.

    Raises Conflict when another object has the name by now, or it is no longer of that resourceVersion where one is
    given; NotFound when none has the name.
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
        # Custom resources answer "field is immutable" where built-in kinds answer Conflict.
        raise Conflict(str(error), status=409, reason="Conflict") from error


def pack(values: Iterable[Any]) -> bytes:
    """As JSON, the same for the same values in any order of keys; compressed if long.

    Raises TypeError for what is nested too deep to be written.
    """
    return squeeze(orjson.dumps(list(values), option=orjson.OPT_SORT_KEYS))


def unpack(told: bytes) -> list[Any]:
    """What `pack` was given."""
    found: list[Any] = orjson.loads(expand(told))
    return found


def packed(obj: Obj, field: str) -> Obj:
    """The same object to be kept, with that list of its status packed.

    What cannot be written again is none of ours, and is left out.
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
    """A list in a status, packed or as it came; empty where it is none."""
    told = status.get(field)
    return unpack(told) if isinstance(told, bytes) else list_at(status, field)
