"""What a namespace means to the objects in it: none is created where it is missing or on its way out."""

from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import forbidden


def check_open(store: Store, resource: Resource, namespace: str, name: str) -> None:
    """StatusError 404 when the namespace does not exist, 403 when it is being deleted."""
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


def defaulted(namespace: Obj) -> Obj:
    """A namespace as it is created: labelled with its name, held by a finalizer of its own, Active."""
    metadata = namespace["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata.get("name", "")}
    spec = {**(namespace.get("spec") or {}), "finalizers": ["kubernetes"]}
    return {**namespace, "metadata": {**metadata, "labels": labels}, "spec": spec, "status": {"phase": "Active"}}
