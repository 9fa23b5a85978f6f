"""CustomResourceDefinitions: their status, and a deletion that includes the instances.

`store/custom_resources.py` serves a definition's resources as soon as it is stored, so its names are accepted at once.
Finalizers of instances are honoured: this controller keeps a deleted definition until the last instance is gone.
"""

from collections.abc import Iterable

from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.model.conditions import with_condition
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj, Resource

DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
CONDITIONS = (
    {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"},
    {
        "type": "Established",
        "status": "True",
        "reason": "InitialNamesAccepted",
        "message": "the initial names have been accepted",
    },
)


class Definitions:
    """Maintains finalizer and status of each definition."""

    storages = None

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._definitions = context.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")

    def keys_of(self, event: Event) -> Iterable[Key]:
        """The definition, or the definition of a deleted instance."""
        if event.resource.custom and event.type == DELETED:
            return (("", event.resource.qualified),)
        return (("", event.name),) if event.resource.key == DEFINITIONS and event.type != DELETED else ()

    def sync(self, key: Key) -> None:
        """Add the finalizer and the status, or delete the instances of a deleted definition."""
        definition = self._context.store.find(self._definitions, *key)
        if definition is None:
            return
        if "deletionTimestamp" in definition["metadata"]:
            self._delete_instances(definition)
            return
        finalizers = definition["metadata"].get("finalizers") or []
        # The finalizer comes before Established: clients create instances only after that, so none can be left behind.
        if CLEANUP not in finalizers:
            metadata = {**definition["metadata"], "finalizers": [*finalizers, CLEANUP]}
            definition = self._context.store.update(self._definitions, {**definition, "metadata": metadata})
        self._establish(definition)

    def _establish(self, definition: Obj) -> None:
        before, spec = definition.get("status") or {}, definition["spec"]
        stored = before.get("storedVersions") or []
        storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
        conditions = before.get("conditions")
        for condition in CONDITIONS:
            conditions = with_condition(conditions, condition, self._context.now())
        status = {
            "conditions": conditions,
            "acceptedNames": spec["names"],
            "storedVersions": stored if storage in stored else [*stored, storage],
        }
        self._context.set_status(self._definitions, definition, status)

    def _delete_instances(self, definition: Obj) -> None:
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
