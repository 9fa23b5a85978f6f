"""The context of every controller: store, clock, index of relations, recorder of Events."""

from dataclasses import dataclass

from keda_py.clock import Clock
from keda_py.localkube.controllers.shared.index import Index, ObjectPlace
from keda_py.localkube.controllers.shared.loop import ControlLoop
from keda_py.localkube.controllers.shared.recorder import EventRecorder
from keda_py.localkube.store.lifecycle import timestamp
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerContext:
    """The parts that every controller reads and writes through."""

    store: Store
    clock: Clock
    index: Index
    loop: ControlLoop
    events: EventRecorder

    def resource(self, api_version: str, kind: str) -> Resource:
        """A built-in resource. Raises KeyError for one that is not served."""
        return self.store.resources.get(api_version, kind)

    def now(self) -> str:
        """The clock's time in the API's format."""
        return timestamp(self.clock.now())

    def at(self, place: ObjectPlace) -> Obj | None:
        return self.store.find(place.resource, place.namespace, place.name)

    def set_status(self, resource: Resource, obj: Obj, status: Obj) -> Obj:
        """Write the status if it differs from the stored one."""
        if obj.get("status") == status:
            return obj
        return self.store.update(resource, {**obj, "status": status}, subresource="status")
