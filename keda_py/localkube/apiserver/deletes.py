"""DELETE of one object or of a selection."""

from keda_py.apis.foreign import list_at, text_at
from keda_py.localkube.access.admission import Admission, Review
from keda_py.localkube.apiserver.reads import ListSelection
from keda_py.localkube.apiserver.views import View, in_version
from keda_py.localkube.bodies.bodies import read_options
from keda_py.localkube.model.calls import ApiAnswer, Call, RequestTarget
from keda_py.localkube.store.lifecycle import DeleteOptions
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj
from keda_py.schema.status import bad_request, success

_POLICIES = ("", "Background", "Foreground", "Orphan")
# Kinds whose DELETE answers the object even if no finalizer held it.
_RETURNED = frozenset([("", "pods"), ("", "services"), ("", "serviceaccounts"), ("", "persistentvolumeclaims")])


class Deletes:
    """Handles DELETE requests of clients."""

    def __init__(self, store: Store, admission: Admission) -> None:
        self._store, self._admission = store, admission

    async def one(self, call: Call, target: RequestTarget) -> ApiAnswer:
        """Delete an object: answers the object while finalizers hold it, else a Status."""
        resource = target.resource
        options = options_of(call)
        old = self._store.get(resource, target.namespace, target.name)
        options.check(resource, old)
        await self._review(call, target, old)
        obj = self._store.delete(resource, target.namespace, target.name, options)
        if "deletionTimestamp" in obj["metadata"] or resource.key in _RETURNED:
            return ApiAnswer(body=in_version(resource, obj))
        return ApiAnswer(body=success(resource, target.name, obj["metadata"]["uid"]))

    async def many(self, call: Call, target: RequestTarget) -> ApiAnswer:
        """Delete a collection: answers the deleted objects."""
        resource = target.resource
        options = options_of(call)
        selection = ListSelection.of(call, target)
        chosen = self._store.list(resource, target.namespace, labels=selection.labels, fields=selection.fields)
        for obj in chosen:
            namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
            # The webhook call yields to the loop: the object may be gone when it returns.
            await self._review(call, RequestTarget(resource=resource, namespace=namespace, name=name), obj)
            if self._store.find(resource, namespace, name) is not None:
                self._store.delete(resource, namespace, name, options)
        view = View.of(call, resource, self._store.clock)
        return ApiAnswer(body=view.many(chosen, {"resourceVersion": str(self._store.revision)}))

    async def _review(self, call: Call, target: RequestTarget, old: Obj) -> None:
        review = Review(call=call, target=target, operation="DELETE", obj=None, old=in_version(target.resource, old))
        await self._admission.check(review)


def options_of(call: Call) -> DeleteOptions:
    """Read DeleteOptions from body and query. Raises StatusError 400 for an unknown policy."""
    body = read_options(call)
    policy = text_at(body, "propagationPolicy") or call.query.get("propagationPolicy", "")
    orphan = body.get("orphanDependents")
    if not policy and orphan is not None:
        policy = "Orphan" if orphan else "Background"
    if policy not in _POLICIES:
        raise bad_request(f'invalid propagationPolicy: "{policy}": must be one of Background, Foreground, Orphan')
    return DeleteOptions(
        uid=text_at(body, "preconditions", "uid"),
        resource_version=text_at(body, "preconditions", "resourceVersion"),
        propagation=policy,
        dry_run=call.dry_run or "All" in list_at(body, "dryRun"),
    )
