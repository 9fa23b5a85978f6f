"""Garbage collection: dependents are deleted after their last owner (background), before it (foreground), or kept
(orphan).

The store marks an owner with the finalizer of the policy in its DELETE; this controller carries out the policy and
removes the finalizer. Keys are uids: an owner may be gone while another object has its name.
"""

from collections.abc import Iterable
from typing import Any

from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.index import ObjectPlace
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


class GarbageCollector:
    """Handles owners that are deleted, and dependents whose owner never existed."""

    storages = None

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def keys_of(self, event: Event) -> Iterable[Key]:
        """Deleted owners, the owners of deleted objects, and objects with new owner references."""
        metadata = event.object["metadata"]
        owners = metadata.get("ownerReferences")
        if event.type == DELETED:
            yield ("", metadata["uid"])
            for reference in owners or ():
                yield ("", reference["uid"])
        elif "deletionTimestamp" in metadata or (owners and _owners_changed(event)):
            yield ("", metadata["uid"])

    def sync(self, key: Key) -> None:
        """Carry out the deletion policy of the object, or collect the dependents of a missing one."""
        uid = key[1]
        place = self._context.index.place(uid)
        obj = self._context.at(place) if place is not None else None
        if place is None or obj is None:
            for dependent in self._context.index.dependents(uid):
                self._collect(dependent)
            return
        finalizers = obj["metadata"].get("finalizers") or []
        if "deletionTimestamp" in obj["metadata"] and ORPHAN in finalizers:
            # References go before the finalizer: once the owner is gone, a dependent that still names it is collected.
            self._orphan_dependents(uid)
            self._remove_finalizer(place, obj, ORPHAN)
        elif "deletionTimestamp" in obj["metadata"] and FOREGROUND in finalizers:
            self._delete_dependents(place, obj)
        else:
            self._collect(place)

    def _collect(self, place: ObjectPlace) -> None:
        """Delete an object without any existing owner; else remove the references to missing ones."""
        obj = self._context.at(place)
        references = obj["metadata"].get("ownerReferences") if obj is not None else None
        if obj is None or not references:
            return
        left = [reference for reference in references if self._is_there(place, reference)]
        if not left:
            self._context.store.delete(place.resource, place.namespace, place.name)
        elif len(left) < len(references):
            metadata = {**obj["metadata"], "ownerReferences": left}
            self._context.store.update(place.resource, {**obj, "metadata": metadata})

    def _is_there(self, dependent: ObjectPlace, reference: Obj) -> bool:
        """Whether the owner exists: its uid is stored under that name, in the dependent's namespace or cluster-wide."""
        owner = self._context.index.place(reference["uid"])
        return owner is not None and owner.name == reference["name"] and owner.namespace in ("", dependent.namespace)

    def _delete_dependents(self, place: ObjectPlace, obj: Obj) -> None:
        """Delete the dependents, then remove the finalizer unless one with blockOwnerDeletion is left."""
        uid, blocking = obj["metadata"]["uid"], False
        for dependent in self._context.index.dependents(uid):
            child = self._context.at(dependent)
            if child is None:
                continue
            blocking = blocking or _blocks(child, uid)
            if "deletionTimestamp" not in child["metadata"]:
                # A dependent with children of its own goes in the foreground, too: the owner waits for the tree.
                has_children = bool(self._context.index.dependents(child["metadata"]["uid"]))
                policy = "Foreground" if has_children else "Background"
                self._context.store.delete(dependent.resource, dependent.namespace, dependent.name, propagation=policy)
        if not blocking:
            self._remove_finalizer(place, obj, FOREGROUND)

    def _orphan_dependents(self, uid: str) -> None:
        for dependent in self._context.index.dependents(uid):
            child = self._context.at(dependent)
            if child is not None:
                left = [reference for reference in child["metadata"]["ownerReferences"] if reference["uid"] != uid]
                metadata = {key: value for key, value in child["metadata"].items() if key != "ownerReferences"}
                metadata |= {"ownerReferences": left} if left else {}
                self._context.store.update(dependent.resource, {**child, "metadata": metadata})

    def _remove_finalizer(self, place: ObjectPlace, obj: Obj, finalizer: str) -> None:
        finalizers = [name for name in obj["metadata"]["finalizers"] if name != finalizer]
        metadata = {**obj["metadata"], "finalizers": finalizers}
        self._context.store.update(place.resource, {**obj, "metadata": metadata})


def _owners_changed(event: Event) -> bool:
    if event.previous is None:
        return True
    before: Any = event.previous["metadata"].get("ownerReferences")
    return bool(before != event.object["metadata"].get("ownerReferences"))


def _blocks(child: Obj, owner: str) -> bool:
    references = child["metadata"].get("ownerReferences") or ()
    return any(reference["uid"] == owner and reference.get("blockOwnerDeletion") for reference in references)
