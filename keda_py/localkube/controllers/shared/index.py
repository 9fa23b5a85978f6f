"""The relations between objects: owners, namespaces and labels, updated by every store event.

No controller ever scans the store. The garbage collector reads owners and dependents, the namespace controller what a
namespace holds, and the workload controllers find pods by label or owner. It has to be the first listener of the store:
the controllers' loop comes after it and must see it current. Objects are identified by uid here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj, Resource

PODS = ("", "pods")

K = TypeVar("K")


class ObjectPlace(NamedTuple):
    """Resource, namespace and name of an object."""

    resource: Resource
    namespace: str
    name: str


class Index:
    """Finds objects by uid, owner, namespace or pod label."""

    def __init__(self) -> None:
        self._places: dict[str, ObjectPlace] = {}
        self._links: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._namespaces: dict[str, dict[str, None]] = {}
        self._labelled: dict[tuple[str, str, str], dict[str, None]] = {}

    def on_event(self, event: Event) -> None:
        metadata = event.object["metadata"]
        uid = metadata["uid"]
        # Links are replaced as a whole: an event does not tell which labels or owners it changed.
        self._forget_links(uid)
        if event.type == DELETED:
            place = self._places.pop(uid, None)
            if place is not None:
                _discard(self._namespaces, place.namespace, uid)
            return
        if uid not in self._places:
            self._places[uid] = ObjectPlace(event.resource, event.namespace, event.name)
            self._namespaces.setdefault(event.namespace, {})[uid] = None
        self._link(uid, event.resource, metadata)

    def place(self, uid: str) -> ObjectPlace | None:
        """The place of the object with that uid; None if it is gone."""
        return self._places.get(uid)

    def dependents(self, uid: str) -> list[ObjectPlace]:
        """The objects that have `uid` among their owners, oldest first."""
        return [self._places[dependent] for dependent in self._dependents.get(uid, ())]

    def in_namespace(self, namespace: str) -> list[ObjectPlace]:
        return [self._places[uid] for uid in self._namespaces.get(namespace, ())]

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Iterator[ObjectPlace]:
        """Pods that have all of `labels`, of which there must be at least one."""
        # Starting from the rarest label keeps the intersection as small as its smallest member.
        found = [self._labelled.get((namespace, key, value), {}) for key, value in labels.items()]
        smallest = min(found, key=len)
        return (self._places[uid] for uid in tuple(smallest) if all(uid in others for others in found))

    def _link(self, uid: str, resource: Resource, metadata: Obj) -> None:
        owners = tuple(reference["uid"] for reference in metadata.get("ownerReferences") or ())
        labels: Iterable[tuple[str, str]] = (metadata.get("labels") or {}).items() if resource.key == PODS else ()
        namespace = metadata.get("namespace", "")
        labelled = tuple((namespace, key, value) for key, value in labels)
        if not owners and not labelled:
            return
        self._links[uid] = (owners, labelled)
        for owner in owners:
            self._dependents.setdefault(owner, {})[uid] = None
        for label in labelled:
            self._labelled.setdefault(label, {})[uid] = None

    def _forget_links(self, uid: str) -> None:
        owners, labelled = self._links.pop(uid, ((), ()))
        for owner in owners:
            _discard(self._dependents, owner, uid)
        for label in labelled:
            _discard(self._labelled, label, uid)


def _discard(table: dict[K, dict[str, None]], key: K, uid: str) -> None:
    members = table.get(key)
    if members is not None:
        members.pop(uid, None)
        if not members:
            del table[key]
