"""CustomResourceDefinitions that are deleted take their instances along, whose finalizers are honoured.

`custom_resources.py` serves a definition's resources and writes its status; this controller keeps the definition there
until the last instance is gone.
"""

from collections.abc import Iterable

from keda_py.localkube.controllers.context import ControllerContext
from keda_py.localkube.controllers.loop import Key
from keda_py.localkube.resources import Obj, Resource
from keda_py.localkube.subscriptions import DELETED, Event

DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class Definitions:
    """Keeps the finalizer of each definition."""

    storages = None

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._definitions = context.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")

    def concerned(self, event: Event) -> Iterable[Key]:
        """The definition, or the one whose instance is gone."""
        if event.resource.custom and event.type == DELETED:
            return (("", event.resource.qualified),)
        return (("", event.name),) if event.resource.key == DEFINITIONS and event.type != DELETED else ()

    def sync(self, key: Key) -> None:
        """Hold it, or empty it."""
        definition = self._context.store.find(self._definitions, *key)
        if definition is None:
            return
        if "deletionTimestamp" in definition["metadata"]:
            self._empty(definition)
            return
        finalizers = definition["metadata"].get("finalizers") or []
        if CLEANUP not in finalizers:
            metadata = {**definition["metadata"], "finalizers": [*finalizers, CLEANUP]}
            self._context.store.update(self._definitions, {**definition, "metadata": metadata})

    def _empty(self, definition: Obj) -> None:
        resource = self._served(definition)
        instances = self._context.store.list(resource) if resource is not None else []
        for instance in instances:
            if resource is not None and "deletionTimestamp" not in instance["metadata"]:
                metadata = instance["metadata"]
                self._context.store.delete(resource, metadata.get("namespace", ""), metadata["name"])
        if resource is None or not self._context.store.list(resource):
            finalizers = [name for name in definition["metadata"].get("finalizers") or () if name != CLEANUP]
            metadata = {**definition["metadata"], "finalizers": finalizers}
            self._context.store.update(self._definitions, {**definition, "metadata": metadata})

    def _served(self, definition: Obj) -> Resource | None:
        spec = definition["spec"]
        versions = [version["name"] for version in spec["versions"] if version.get("served")]
        found = (self._context.store.resources.find(spec["group"], v, spec["names"]["plural"]) for v in versions)
        return next((resource for resource in found if resource is not None), None)
