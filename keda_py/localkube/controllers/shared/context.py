"""What every controller works with: the store, the clock, the relations between objects, the Events it may write."""

from dataclasses import dataclass

from keda_py.clock import Clock
from keda_py.localkube.controllers.shared.index import Index, Place
from keda_py.localkube.controllers.shared.loop import ControlLoop
from keda_py.localkube.controllers.shared.recorder import EventRecorder
from keda_py.localkube.store.lifecycle import timestamp
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerContext:
    """The world of the controllers."""

    store: Store
    clock: Clock
    index: Index
    loop: ControlLoop
    events: EventRecorder

    def resource(self, api_version: str, kind: str) -> Resource:
        """A built-in resource; KeyError where it is not served."""
        return self.store.resources.get(api_version, kind)

    def now(self) -> str:
        """The time as the API writes it."""
        return timestamp(self.clock.now())

    def at(self, place: Place) -> Obj | None:
        """The object there, or None."""
        return self.store.find(place.resource, place.namespace, place.name)

    def set_status(self, resource: Resource, obj: Obj, status: Obj) -> Obj:
        """Write the status where it differs from what is stored."""
        if obj.get("status") == status:
            return obj
        return self.store.update(resource, {**obj, "status": status}, subresource="status")
