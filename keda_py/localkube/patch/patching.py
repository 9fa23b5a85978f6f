"""Which patch a PATCH is: by its content type, to the one of four algorithms that it names."""

from datetime import datetime
from typing import Any

from keda_py.localkube.bodies.bodies import check_kind, read_apply, read_patch, with_path_name
from keda_py.localkube.model.calls import APPLY, Call, RequestTarget
from keda_py.localkube.patch.patches import json_patch, merge_patch
from keda_py.localkube.patch.server_apply import Writer, note_update, server_side_apply
from keda_py.localkube.patch.strategic_merge import strategic_merge
from keda_py.localkube.store.lifecycle import timestamp
from keda_py.localkube.store.preparation import schema_for
from keda_py.schema.resources import Obj
from keda_py.schema.status import Cause, bad_request, invalid, unsupported_media_type

_JSON, _MERGE = "application/json-patch+json", "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"


def patched(call: Call, target: RequestTarget, old: Obj, now: datetime) -> Obj:
    """The object with the request's patch; StatusError 415 for a kind of patch the resource does not take."""
    if call.content_type == APPLY:
        return applied(call, target, old, now)
    if call.content_type == _STRATEGIC and not target.resource.custom:
        return strategic_merge(old, _object(read_patch(call)), schema_for(target.resource) or {})
    if call.content_type == _MERGE:
        return merge_patch(old, _object(read_patch(call)))
    if call.content_type == _JSON:
        operations = read_patch(call)
        if not isinstance(operations, list):
            raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
        return json_patch(old, operations)
    # Built-in kinds are refused by the router, custom ones by the patch itself: two sets of words.
    raise unsupported_media_type([_JSON, _MERGE, APPLY] if target.resource.custom else [])


def applied(call: Call, target: RequestTarget, live: Obj | None, now: datetime) -> Obj:
    """Server-side apply of the request's object onto `live`, which is None if the object does not exist yet."""
    if not call.query.get("fieldManager"):
        cause = Cause(
            reason="FieldValueRequired", message="Required value: is required for apply patch", field="fieldManager"
        )
        raise invalid("meta.k8s.io", "PatchOptions", "", [cause])
    resource = target.resource
    wanted = read_apply(call)
    check_kind(wanted, resource.api_version, resource.kind)
    schema = schema_for(resource) or {}
    writer = writer_of(call, target, now)
    return server_side_apply(
        live, with_path_name(wanted, target), writer=writer, force=call.flag("force"), schema=schema
    )


def with_managed_fields(call: Call, target: RequestTarget, old: Obj, new: Obj, now: datetime) -> Obj:
    """The changed object with its managedFields brought up to date.

    An apply has done that itself; one that states what is there already, defaults included, changes no time either.
    """
    if call.content_type == APPLY:
        return old if _without_times(old) == _without_times(new) else new
    schema = schema_for(target.resource) or {}
    return note_update(old, new, writer=writer_of(call, target, now), schema=schema)


def writer_of(call: Call, target: RequestTarget, now: datetime) -> Writer:
    """Who writes: the fieldManager, or else the client's name for itself."""
    agent = call.headers.get("user-agent", "").partition("/")[0]
    return Writer(
        manager=call.query.get("fieldManager") or agent or "unknown",
        api_version=target.resource.api_version,
        now=timestamp(now),
        subresource=target.subresource,
    )


def _without_times(obj: Obj) -> Obj:
    entries = [{**entry, "time": ""} for entry in obj["metadata"].get("managedFields") or ()]
    return {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}


def _object(patch: Any) -> Obj:
    if not isinstance(patch, dict):
        raise bad_request("json: cannot unmarshal array into Go value of type map[string]interface {}")
    return patch
