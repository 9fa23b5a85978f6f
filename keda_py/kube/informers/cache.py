"""What an informer has seen: objects by namespace and name, by index, and who wants to hear of changes.

Filled by `reflector.py`; every `Informer` is one, which its readers read and never fill. All of it is synchronous:
between two awaits a reader sees one state. Rule: objects are shared, so no caller changes one that came from here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from keda_py.kube.resources import Obj

NamespacedName: TypeAlias = tuple[str, str]
"""Within one kind; an object among those of several kinds is an `ObjectKey`."""
Notify: TypeAlias = Callable[[Obj | None, Obj | None], None]
IndexBy: TypeAlias = Callable[[Obj], Iterable[str]]
_Table: TypeAlias = dict[str, NamespacedName | dict[NamespacedName, None]]
"""Who has a value: most values are of one object, and a map for it would be three times as large as all the rest."""


def key_of(obj: Obj) -> NamespacedName:
    """(namespace, name); the namespace of a cluster-scoped object is ""."""
    metadata = obj["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


class Cache:
    """Objects with indexes; `subscribe` is told (old, new), None standing for absence."""

    def __init__(self, indexes: Mapping[str, IndexBy]) -> None:
        self._objects: dict[str, dict[str, Obj]] = {}
        self._indexes = indexes
        self._indexed: dict[str, _Table] = {name: {} for name in indexes}
        self._values: dict[NamespacedName, tuple[tuple[str, ...], ...]] = {}
        """What each index says of an object: most changes are of a status, and no index is touched."""
        self._subscribers: list[Notify] = []
        self._on_restore: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return sum(len(names) for names in self._objects.values())

    def __iter__(self) -> Iterator[Obj]:
        for names in self._objects.values():
            yield from names.values()

    def get(self, namespace: str, name: str) -> Obj | None:
        """The object, or None if missing."""
        return self._objects.get(namespace, {}).get(name)

    def objects(self, namespace: str = "") -> list[Obj]:
        """The objects of a namespace; of all namespaces for ""."""
        return list(self._objects.get(namespace, {}).values()) if namespace else list(self)

    def holds(self, namespace: str) -> bool:
        """Whether it has any object of that namespace."""
        return namespace in self._objects

    def by_index(self, index: str, value: str) -> list[Obj]:
        """The objects for which the index function gave `value`."""
        found = self._indexed[index].get(value, {})
        keys = (found,) if isinstance(found, tuple) else found
        return [self._objects[namespace][name] for namespace, name in keys]

    def subscribe(self, notify: Notify) -> Callable[[], None]:
        """Call `notify(old, new)` on every change, now with (None, object) for each that is there already.

        What is returned ends that.
        """
        self._subscribers = [*self._subscribers, notify]
        for obj in list(self):
            notify(None, obj)
        return partial(self._unsubscribe, notify)

    def _unsubscribe(self, notify: Notify) -> None:
        self._subscribers = [one for one in self._subscribers if one != notify]

    def on_restore(self, notify: Callable[[], None]) -> Callable[[], None]:
        """Call `notify` when the API server has gone back in time, as after a restore of etcd from a backup.

        It is called before the changes that follow from that are told: what is known of later versions, that of an own
        write for one, is void. What is returned ends that.
        """
        self._on_restore = [*self._on_restore, notify]
        return lambda: self._on_restore.remove(notify) if notify in self._on_restore else None

    def note_restore(self) -> None:
        """The API server has gone back in time."""
        for notify in tuple(self._on_restore):
            notify()

    def put(self, obj: Obj) -> None:
        """Add or replace one object; the same version again is no change."""
        if _went_back(self.get(*key_of(obj)), obj):
            self.note_restore()
        self._put(obj)

    def _put(self, obj: Obj) -> None:
        namespace, name = key = key_of(obj)
        names = self._objects.setdefault(namespace, {})
        old = names.get(name)
        if old is not None and _version(old) == _version(obj):
            return
        names[name] = obj
        self._reindex(key, obj)
        self._tell(old, obj)

    def remove(self, key: NamespacedName) -> None:
        """Forget one object, if it is there."""
        namespace, name = key
        names = self._objects.get(namespace, {})
        old = names.pop(name, None)
        if old is None:
            return
        if not names:
            del self._objects[namespace]
        self._reindex(key, None)
        self._tell(old, None)

    def replace(self, namespace: str, objects: Iterable[Obj]) -> None:
        """Make the namespace ("" for all) hold exactly `objects`, told as single changes, deletions first."""
        fresh = {key_of(obj): obj for obj in objects}
        if any(_went_back(self.get(*key), obj) for key, obj in fresh.items()):
            self.note_restore()
        for obj in self.objects(namespace):
            if (key := key_of(obj)) not in fresh:
                self.remove(key)
        for obj in fresh.values():
            self._put(obj)

    def _reindex(self, key: NamespacedName, new: Obj | None) -> None:
        if not self._indexes:
            return
        nothing: tuple[tuple[str, ...], ...] = ((),) * len(self._indexes)
        before, values = self._values.pop(key, nothing), nothing
        if new is not None:
            values = self._values[key] = tuple(tuple(values_of(new)) for values_of in self._indexes.values())
        if values != before:
            for table, old, fresh in zip(self._indexed.values(), before, values, strict=True):
                _move(table, key, set(old), set(fresh))

    def _tell(self, old: Obj | None, new: Obj | None) -> None:
        for notify in self._subscribers:
            notify(old, new)


def _move(table: _Table, key: NamespacedName, old: set[str], new: set[str]) -> None:
    for value in old - new:
        there = table[value]
        if isinstance(there, dict):
            del there[key]
        if not there or isinstance(there, tuple):
            del table[value]
    for value in new - old:
        there = table.setdefault(value, key)
        if isinstance(there, dict):
            there[key] = None
        elif there != key:
            table[value] = {there: None, key: None}


def _went_back(old: Obj | None, new: Obj) -> bool:
    """Whether the API server shows an earlier version of an object than before; versions grow, as it promises."""
    before, after = _text(old) if old is not None else "", _text(new)
    return before.isdecimal() and after.isdecimal() and int(after) < int(before)


def _text(obj: Obj) -> str:
    text: str = obj["metadata"].get("resourceVersion", "")
    return text


def _version(obj: Obj) -> object:
    metadata = obj["metadata"]
    return metadata.get("uid"), metadata.get("resourceVersion")
