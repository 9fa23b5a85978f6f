"""The lifecycle of namespaces: objects are created only in one that exists and is not being deleted."""

from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import forbidden


def check_open(store: Store, resource: Resource, namespace: str, name: str) -> None:
    """Raise StatusError 404 if the namespace does not exist, 403 if it is being deleted."""
    if not resource.namespaced:
        return
    found = store.get(store.resources.get("v1", "Namespace"), "", namespace)
    if "deletionTimestamp" not in found["metadata"]:
        return
    text = f"unable to create new content in namespace {namespace} because it is being terminated"
    error = forbidden(resource.group, resource.plural, name, text)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    error.details = {**(error.details or {}), "causes": [cause]}
    raise error


def with_defaults(namespace: Obj) -> Obj:
    """Complete a new namespace: the label with its name, its finalizer, phase Active."""
    metadata = namespace["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata.get("name", "")}
    spec = {**(namespace.get("spec") or {}), "finalizers": ["kubernetes"]}
    return {**namespace, "metadata": {**metadata, "labels": labels}, "spec": spec, "status": {"phase": "Active"}}
