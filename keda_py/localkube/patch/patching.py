"""Selects the patch algorithm of a PATCH by its content type."""

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


def apply_patch(call: Call, target: RequestTarget, old: Obj, now: datetime) -> Obj:
    """Apply the request's patch. Raises StatusError 415 for a kind of patch that the resource does not support."""
    if call.content_type == APPLY:
        return apply_configuration(call, target, old, now)
    if call.content_type == _STRATEGIC and not target.resource.custom:
        return strategic_merge(old, _object(read_patch(call)), schema_for(target.resource) or {})
    if call.content_type == _MERGE:
        return merge_patch(old, _object(read_patch(call)))
    if call.content_type == _JSON:
        operations = read_patch(call)
        if not isinstance(operations, list):
            raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
        return json_patch(old, operations)
    # In a real server the router refuses for built-in kinds, the patch handler for custom ones: the texts differ.
    raise unsupported_media_type([_JSON, _MERGE, APPLY] if target.resource.custom else [])


def apply_configuration(call: Call, target: RequestTarget, live: Obj | None, now: datetime) -> Obj:
    """Server-side apply of the request's object to `live`, which is None if the object does not exist yet."""
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
    """Update the managedFields of a changed object.

    An apply has done so already; if it states nothing new, defaults included, the old object is kept, times and all.
    """
    if call.content_type == APPLY:
        return old if _without_times(old) == _without_times(new) else new
    schema = schema_for(target.resource) or {}
    return note_update(old, new, writer=writer_of(call, target, now), schema=schema)


def writer_of(call: Call, target: RequestTarget, now: datetime) -> Writer:
    """The writer of a request: the fieldManager, else the client's user agent."""
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
