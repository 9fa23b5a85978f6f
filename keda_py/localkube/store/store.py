"""The objects and their history: the rules of metadata that every writer obeys, and the resulting events.

In memory and synchronous: a write is done when the call returns. One counter assigns every write its resourceVersion.
The routes write here after validation, controllers directly. Neither the store nor its readers ever mutate a stored
object: writers build a new one. Next in the flow: `subscriptions.py` (watches) and the controllers, which `listen`.
"""

from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

from keda_py.clock import Clock
from keda_py.localkube.model.selectors import FieldSelector, Selector
from keda_py.localkube.store.lifecycle import Creation, DeleteOptions, created, mark_deleted, updated
from keda_py.localkube.store.subscriptions import ADDED, DELETED, MODIFIED, Event, Subscription, WatchFilter
from keda_py.schema.resources import Obj, Registry, Resource
from keda_py.schema.status import already_exists, conflict, continue_expired, expired, not_found, uid_changed

HISTORY = 4096
"""Events kept for each kind; a watch that begins before the oldest answers 410."""

SNAPSHOTS = 4
"""Lists kept for their next page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """The whole content of a store: by kind, the objects by namespace and name."""

    kinds: dict[tuple[str, str], tuple[Resource, dict[tuple[str, str], Obj]]]
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A consistent list: the objects by namespace and name, and their common version."""

    objects: list[Obj]
    revision: int

    def index_after(self, place: tuple[str, str]) -> int:
        """The index of the first object after that namespace and name."""
        return bisect_right(self.objects, place, key=_place)


class _KindStorage:
    """One kind's objects, history and watchers."""

    __slots__ = ("forgotten", "history", "objects", "resource", "subscriptions")

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.objects: dict[str, dict[str, Obj]] = {}
        self.history: deque[Event] = deque()
        self.forgotten = 0
        # By the only name that a watcher selects, "" for all others: operators watch hundreds of Secrets by name, and a
        # write should not ask each of these watches.
        self.subscriptions: dict[str, set[Subscription]] = {}

    def watching(self, name: str) -> list[Subscription]:
        """The subscriptions that may select an object of that name."""
        return [*self.subscriptions.get("", ()), *self.subscriptions.get(name, ())]

    def by_place(self) -> dict[tuple[str, str], Obj]:
        """Copy the objects by namespace and name."""
        return {(space, name): obj for space, names in self.objects.items() for name, obj in names.items()}

    def replace_objects(self, objects: dict[tuple[str, str], Obj], revision: int) -> None:
        """Replace all objects, drop the history before `revision`, and close every watch."""
        self.objects = {}
        for (space, name), obj in objects.items():
            self.objects.setdefault(space, {})[name] = obj
        self.history.clear()
        self.forgotten = revision
        for subscription in [one for watching in self.subscriptions.values() for one in watching]:
            subscription.close()


class Store:
    """The objects of all kinds, with versions, history, watches and listeners."""

    def __init__(self, clock: Clock, resources: Registry) -> None:
        self.clock, self.resources = clock, resources
        self.revision = 0
        self._storages: dict[tuple[str, str], _KindStorage] = {}
        self._snapshots: OrderedDict[tuple[_KindStorage, str, int], Snapshot] = OrderedDict()
        self._listeners: list[Callable[[Event], None]] = []
        self._undelivered: deque[Event] = deque()
        self._delivering = False

    def get(self, resource: Resource, namespace: str, name: str) -> Obj:
        """Return one object, namespace "" at cluster scope. Raises StatusError 404."""
        obj = self._storage(resource).objects.get(namespace, {}).get(name)
        if obj is None:
            raise not_found(resource, name)
        return obj

    def find(self, resource: Resource, namespace: str, name: str) -> Obj | None:
        return self._storage(resource).objects.get(namespace, {}).get(name)

    def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: Selector | None = None,
        fields: Selector | None = None,
    ) -> list[Obj]:
        """List the objects of a namespace ("" for all) by namespace and name."""
        spaces = self._storage(resource).objects
        chosen = [namespace] if namespace else sorted(spaces)
        found = [obj for space in chosen for _, obj in sorted(spaces.get(space, {}).items())]
        for selector in (labels, fields):
            if selector is not None:
                found = [obj for obj in found if selector.matches(obj)]
        return found

    def list_at(self, resource: Resource, namespace: str, revision: int) -> Snapshot:
        """List the objects as they were at `revision`. Raises StatusError 410 if the history does not reach back.

        The pages of one list share a snapshot: a new one for each page would make paging quadratic in the objects.
        """
        storage = self._storage(resource)
        if revision < storage.forgotten:
            raise continue_expired()
        key = (storage, namespace, revision)
        if key not in self._snapshots:
            objects = self.list(resource, namespace)
            if revision < self.revision:
                objects = _as_of(revision, objects, storage, namespace)
            self._snapshots[key] = Snapshot(objects=objects, revision=revision)
        self._snapshots.move_to_end(key)
        while len(self._snapshots) > SNAPSHOTS:
            self._snapshots.popitem(last=False)
        return self._snapshots[key]

    def create(self, resource: Resource, obj: Obj, *, dry_run: bool = False) -> Obj:
        """Store a new object with its metadata filled in. Raises StatusError 409 if the name is taken."""
        creation = Creation(now=self.clock.now(), revision=self.revision + 1)
        new = created(resource, obj, creation)
        if self.find(resource, *_place(new)) is not None:
            raise already_exists(resource, new["metadata"]["name"])
        if not dry_run:
            self._commit(resource, ADDED, new, None)
        return new

    def update(self, resource: Resource, obj: Obj, *, subresource: str = "", dry_run: bool = False) -> Obj:
        """Replace an object, or the part that a subresource owns; without a change nothing is written.

        A resourceVersion or uid in `obj` is a precondition (StatusError 409). Removing the last finalizer of a deleted
        object deletes it.
        """
        metadata = obj["metadata"]
        old = self.get(resource, metadata.get("namespace", ""), metadata["name"])
        self._check(resource, old, metadata)
        new = updated(resource, old, obj, subresource)
        # Without a change there is no event: a controller that writes its status on each event would run for ever.
        if new is old:
            return old
        new["metadata"]["resourceVersion"] = str(self.revision + 1)
        if not dry_run:
            gone = _is_finished(resource, new)
            self._commit(resource, DELETED if gone else MODIFIED, new, old)
        return new

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        options: DeleteOptions | None = None,
        *,
        propagation: str = "",
    ) -> Obj:
        """Delete an object, or set its deletionTimestamp while finalizers hold it."""
        options = options or DeleteOptions(propagation=propagation)
        old = self.get(resource, namespace, name)
        options.check(resource, old)
        new = mark_deleted(resource, old, options, self.clock.now())
        if new is old:
            return old
        new["metadata"]["resourceVersion"] = str(self.revision + 1)
        if not options.dry_run:
            gone = "deletionTimestamp" not in new["metadata"]
            self._commit(resource, DELETED if gone else MODIFIED, new, old)
        return new

    def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        since: int,
        labels: Selector | None = None,
        fields: FieldSelector | None = None,
    ) -> Subscription:
        """Watch the events after version `since`; an object that enters or leaves the selection is ADDED or DELETED.

        Raises StatusError 410 if the history does not reach back.
        """
        storage = self._storage(resource)
        if since < storage.forgotten:
            raise expired(since, storage.forgotten)
        watch_filter = WatchFilter(namespace=namespace, labels=labels, fields=fields, since=since)
        name = fields.equal_to("metadata.name") if fields is not None else None
        subscription = Subscription(self.clock, watch_filter, storage.subscriptions.setdefault(name or "", set()))
        # Subscribed first, then the past: nothing is awaited between the two, so no event is missed or out of order.
        for event in storage.history:
            subscription.offer(event)
        return subscription

    def listen(self, callback: Callable[[Event], None]) -> None:
        """Call back on every event of every kind, in order; a callback may write."""
        self._listeners.append(callback)

    @property
    def watchers(self) -> int:
        """The number of open subscriptions."""
        return sum(len(watching) for storage in self._storages.values() for watching in storage.subscriptions.values())

    def forget(self, before: int) -> None:
        """Drop the history up to version `before`, like etcd's compaction."""
        self._snapshots.clear()
        for storage in self._storages.values():
            while storage.history and storage.history[0].revision <= before:
                storage.history.popleft()
            storage.forgotten = max(storage.forgotten, before)

    def backup(self) -> Backup:
        """Copy the content for `restore`, like etcd's snapshot."""
        kinds = {key: (storage.resource, storage.by_place()) for key, storage in self._storages.items()}
        return Backup(kinds=kinds, revision=self.revision)

    def restore(self, backup: Backup) -> None:
        """Return to a backup, version included, and close every watch.

        As in a real server, a watch from a version that is now in the future is accepted, and gets no events.
        """
        self.revision = backup.revision
        self._snapshots.clear()
        for key, storage in self._storages.items():
            before, after = storage.by_place(), backup.kinds.get(key, (storage.resource, {}))[1]
            storage.replace_objects(after, backup.revision)
            for place in sorted(before.keys() | after.keys()):
                old, new = before.get(place), after.get(place)
                if old is not new:
                    type_ = DELETED if new is None else ADDED if old is None else MODIFIED
                    changed = new or old or {}
                    self._notify(
                        Event(
                            type=type_, resource=storage.resource, object=changed, previous=old, revision=self.revision
                        )
                    )

    def _storage(self, resource: Resource) -> _KindStorage:
        storage = self._storages.get(resource.key)
        if storage is None:
            storage = self._storages[resource.key] = _KindStorage(resource)
        return storage

    def _check(self, resource: Resource, old: Obj, metadata: Obj) -> None:
        name, uid, version = metadata["name"], metadata.get("uid"), metadata.get("resourceVersion")
        if uid and uid != old["metadata"]["uid"]:
            raise uid_changed(resource, name, uid, old["metadata"]["uid"])
        if version and version != old["metadata"]["resourceVersion"]:
            raise conflict(resource, name)

    def _commit(self, resource: Resource, type_: str, new: Obj, old: Obj | None) -> None:
        storage = self._storage(resource)
        namespace, name = _place(new)
        self.revision += 1
        if type_ == DELETED:
            del storage.objects[namespace][name]
        else:
            storage.objects.setdefault(namespace, {})[name] = new
        event = Event(type=type_, resource=resource, object=new, previous=old, revision=self.revision)
        storage.history.append(event)
        if len(storage.history) > HISTORY:
            storage.forgotten = storage.history.popleft().revision
        # Watchers get the event before the listeners: a controller's reaction must not overtake its cause on a watch.
        for subscription in storage.watching(name):
            subscription.offer(event)
        self._notify(event)

    def _notify(self, event: Event) -> None:
        """Deliver an event after those before it: listeners may write, and all must see the same order."""
        self._undelivered.append(event)
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._undelivered:
                following = self._undelivered.popleft()
                for listener in self._listeners:
                    listener(following)
        finally:
            self._delivering = False


def _as_of(revision: int, objects: list[Obj], storage: _KindStorage, namespace: str) -> list[Obj]:
    """Undo the events after `revision`: the earlier state of `objects`, by namespace and name."""
    state = {_place(obj): obj for obj in objects}
    for event in reversed(storage.history):
        if event.revision <= revision:
            break
        if namespace and event.namespace != namespace:
            continue
        if event.previous is None:
            state.pop(_place(event.object), None)
        else:
            state[_place(event.object)] = event.previous
    return [state[place] for place in sorted(state)]


def _place(obj: Obj) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _is_finished(resource: Resource, obj: Obj) -> bool:
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    return resource.key != ("", "namespaces") or not obj.get("spec", {}).get("finalizers")
