"""POST, PUT and PATCH: read the body, change the object, prepare it, call the webhooks, store it.

A patch without a resourceVersion is retried if another client wrote between reading and storing, as by a real server;
every other write then answers 409. Deletions are in `deletes.py`.
"""

from collections.abc import Callable
from dataclasses import replace

from keda_py.localkube.access.admission import Admission, Review
from keda_py.localkube.apiserver import scales
from keda_py.localkube.apiserver.views import View, in_version
from keda_py.localkube.bodies.bodies import read_object, with_path_name
from keda_py.localkube.builtin.conversions import to_storage
from keda_py.localkube.model.calls import APPLY, ApiAnswer, Call, RequestTarget
from keda_py.localkube.patch.patching import apply_configuration, apply_patch, with_managed_fields
from keda_py.localkube.store.lifecycle import with_name
from keda_py.localkube.store.namespaces import check_open
from keda_py.localkube.store.preparation import PreparedObject, prepare, prepare_new
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import Cause, StatusError, invalid

PATCH_ATTEMPTS = 5
# Built-in kinds whose PUT must name the version that it replaces, as must those of custom resources.
_CONDITIONAL = frozenset(["Lease", "CustomResourceDefinition", "APIService", "ValidatingWebhookConfiguration"])

Change = Callable[[Obj], Obj]
"""A function from the object in the request's version to the object that the client wants."""


class Writes:
    """Handles requests that create or change objects."""

    def __init__(self, store: Store, admission: Admission) -> None:
        self._store, self._admission = store, admission

    async def create(self, call: Call, target: RequestTarget) -> ApiAnswer:
        return await self._create(call, target, read_object(call, target))

    async def replace(self, call: Call, target: RequestTarget) -> ApiAnswer:
        """Replace an object or a subresource."""
        if target.subresource == "scale":
            scale = read_object(call, target, scales.SCALE)
            return await self._change(call, target, lambda old: scales.with_replicas(target.resource, old, scale))
        new = read_object(call, target)
        self._store.get(target.resource, target.namespace, target.name)
        if not target.subresource and not new["metadata"].get("resourceVersion"):
            _check_unconditional(target)
        return await self._change(call, target, lambda _: new)

    async def patch(self, call: Call, target: RequestTarget) -> ApiAnswer:
        """Patch an object by any of the four kinds of patch; an apply may create it."""
        found = self._store.find(target.resource, target.namespace, target.name)
        if call.content_type == APPLY and found is None and not target.subresource:
            new = apply_configuration(call, target, None, self._store.clock.now())
            return await self._create(call, target, new)
        change = self._patch_of(call, target)
        # Only a conflict with a real write is retried: a webhook may refuse with 409, too, and that stands.
        for _ in range(PATCH_ATTEMPTS - 1):
            try:
                return await self._change(call, target, change)
            except StatusError as error:
                if error.reason != "Conflict" or not _is_newer(self._store, target, found):
                    raise
                found = self._store.get(target.resource, target.namespace, target.name)
        return await self._change(call, target, change)

    def _patch_of(self, call: Call, target: RequestTarget) -> Change:
        now = self._store.clock.now()

        def patch_scale(old: Obj) -> Obj:
            scale = apply_patch(call, target, scales.scale_to_patch(target.resource, old), now)
            return scales.with_replicas(target.resource, old, scale)

        return patch_scale if target.subresource == "scale" else lambda old: apply_patch(call, target, old, now)

    async def _create(self, call: Call, target: RequestTarget, obj: Obj) -> ApiAnswer:
        resource = target.resource
        check_open(self._store, resource, target.namespace, obj["metadata"].get("name", ""))
        ready = prepare_new(call, resource, with_name(obj))
        review = Review(call=call, target=target, operation="CREATE", obj=ready.obj, old=None)
        warnings = await self._admission.check(review)
        stored = self._store.create(resource, to_storage(resource, ready.obj), dry_run=call.dry_run)
        return self._answer(
            call, target, stored, PreparedObject(obj=stored, warnings=(*ready.warnings, *warnings)), 201
        )

    async def _change(self, call: Call, target: RequestTarget, change: Change) -> ApiAnswer:
        resource = target.resource
        old = in_version(resource, self._store.get(resource, target.namespace, target.name))
        if target.subresource == "scale" and resource.scale is None:
            raise scales.no_scale(resource, target.name)
        wanted = _with_protected_part(target, old, with_path_name(change(old), target))
        ready = prepare(call, resource, wanted, old)
        ready = replace(ready, obj=with_managed_fields(call, target, old, ready.obj, self._store.clock.now()))
        review = Review(call=call, target=target, operation="UPDATE", obj=ready.obj, old=old)
        warnings = await self._admission.check(review)
        # The scale is part of the spec, so it is stored as a change of the object.
        part = "" if target.subresource == "scale" else target.subresource
        stored = self._store.update(resource, to_storage(resource, ready.obj), subresource=part, dry_run=call.dry_run)
        return self._answer(
            call, target, stored, PreparedObject(obj=stored, warnings=(*ready.warnings, *warnings)), 200
        )

    def _answer(self, call: Call, target: RequestTarget, stored: Obj, ready: PreparedObject, status: int) -> ApiAnswer:
        headers = {"Warning": ", ".join(f'299 - "{_escaped(text)}"' for text in ready.warnings)}
        body = View.of(call, target.resource, self._store.clock).one(stored)
        if target.subresource == "scale":
            body = scales.scale_of(target.resource, stored)
        return ApiAnswer(status=status, body=body, headers=headers if ready.warnings else {})


def _with_protected_part(target: RequestTarget, old: Obj, wanted: Obj) -> Obj:
    """Restore the part that this write must not touch: all but the status for /status, the status for a plain write."""
    if target.subresource == "status":
        status = {"status": wanted["status"]} if "status" in wanted else {}
        sent = {**wanted["metadata"], "finalizers": old["metadata"].get("finalizers")}
        return {**{k: v for k, v in old.items() if k != "status"}, "metadata": sent, **status}
    if target.subresource == "" and "status" in target.resource.subresources:
        rest = {key: value for key, value in wanted.items() if key != "status"}
        return {**rest, "status": old["status"]} if "status" in old else rest
    return wanted


def _check_unconditional(target: RequestTarget) -> None:
    resource: Resource = target.resource
    if resource.custom or resource.kind in _CONDITIONAL:
        message = "Invalid value: 0: must be specified for an update"
        cause = Cause(reason="FieldValueInvalid", message=message, field="metadata.resourceVersion")
        raise invalid(resource.group, resource.kind, target.name, [cause])


def _is_newer(store: Store, target: RequestTarget, seen: Obj | None) -> bool:
    return store.find(target.resource, target.namespace, target.name) is not seen


def _escaped(words: str) -> str:
    """Escape text for a quoted string in a header, where a line break would start another header."""
    printable = "".join(letter if letter.isprintable() else " " for letter in words)
    return printable.replace("\\", "\\\\").replace('"', '\\"')
