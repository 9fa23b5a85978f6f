"""Namespaces: the objects that each one starts with, and the deletion of its contents.

A new namespace gets the ServiceAccount `default` and the cluster's CA in the ConfigMap `kube-root-ca.crt`. A
terminating one loses every object that it holds; finalizers are honoured, and its conditions name what it waits for.
"""

from collections import Counter
from collections.abc import Iterable

from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.index import ObjectPlace
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.model.conditions import with_condition
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj

NAMESPACES = ("", "namespaces")
ROOT_CA = "kube-root-ca.crt"
_NO_FAILURE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
}


class Namespaces:
    """Creates the initial objects of namespaces, and deletes the contents of terminating ones."""

    storages = None

    def __init__(self, context: ControllerContext, certificate_authority: str) -> None:
        self._context, self._certificate_authority = context, certificate_authority
        self._namespaces = context.resource("v1", "Namespace")
        self._terminating: set[str] = set()

    def keys_of(self, event: Event) -> Iterable[Key]:
        """The namespace, or a terminating one when an object in it changes."""
        # This controller hears every event of the cluster: the set of terminating names keeps that to one lookup.
        if event.resource.key != NAMESPACES:
            return (("", event.namespace),) if event.namespace in self._terminating else ()
        if "deletionTimestamp" in event.object["metadata"]:
            self._terminating.add(event.name)
        if event.type == DELETED:
            self._terminating.discard(event.name)
            return ()
        return (("", event.name),)

    def sync(self, key: Key) -> None:
        """Create its initial objects, or delete its contents."""
        namespace = self._context.store.find(self._namespaces, *key)
        if namespace is None:
            return
        if "deletionTimestamp" in namespace["metadata"]:
            self._delete_contents(namespace)
        else:
            self._create_contents(key[1])

    def _create_contents(self, name: str) -> None:
        self._ensure("ServiceAccount", {"name": "default", "namespace": name}, {})
        metadata = {"name": ROOT_CA, "namespace": name}
        self._ensure("ConfigMap", metadata, {"data": {"ca.crt": self._certificate_authority}})

    def _ensure(self, kind: str, metadata: Obj, body: Obj) -> None:
        resource = self._context.resource("v1", kind)
        if self._context.store.find(resource, metadata["namespace"], metadata["name"]) is None:
            self._context.store.create(resource, {"apiVersion": "v1", "kind": kind, "metadata": metadata, **body})

    def _delete_contents(self, namespace: Obj) -> None:
        name = namespace["metadata"]["name"]
        for place in self._context.index.in_namespace(name):
            held = self._context.at(place)
            if held is not None and "deletionTimestamp" not in held["metadata"]:
                self._context.store.delete(place.resource, place.namespace, place.name)
        left = self._context.index.in_namespace(name)
        if left:
            self._report(namespace, left)
            return
        # Only now, since the last finalizer takes the namespace along: nothing may be left in it.
        spec = {**namespace.get("spec", {}), "finalizers": []}
        self._context.store.update(self._namespaces, {**namespace, "spec": spec}, subresource="finalize")

    def _report(self, namespace: Obj, left: list[ObjectPlace]) -> None:
        """Write the conditions of a namespace whose contents have finalizers."""
        kinds = Counter(place.resource.qualified for place in left)
        finalizers = Counter(f for place in left for f in (self._context.at(place) or {})["metadata"]["finalizers"])
        resources = ", ".join(f"{kind} has {count} resource instances" for kind, count in sorted(kinds.items()))
        waiting = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(finalizers.items()))
        remaining = {
            "NamespaceContentRemaining": ("SomeResourcesRemain", f"Some resources are remaining: {resources}"),
            "NamespaceFinalizersRemaining": (
                "SomeFinalizersRemain",
                f"Some content in the namespace has finalizers remaining: {waiting}",
            ),
        }
        status = namespace.get("status") or {}
        conditions = status.get("conditions")
        for kind, (reason, message) in (_NO_FAILURE | remaining).items():
            value = "True" if kind in remaining else "False"
            condition = {"type": kind, "status": value, "reason": reason, "message": message}
            conditions = with_condition(conditions, condition, self._context.now())
        self._context.set_status(self._namespaces, namespace, {**status, "conditions": conditions})
