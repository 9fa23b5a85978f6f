"""Cache of an informer: objects by namespace and name, indexes, and subscribers to changes.

`reflector.py` fills it; every `Informer` is a cache that its users only read. All methods but `in_turns` are
synchronous: between two awaits a reader sees one state. Rule: objects are shared, so no caller changes one that came
from here.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from keda_py.kube.resources import Obj

NamespacedName: TypeAlias = tuple[str, str]
"""Key within one kind; across kinds it is an `ObjectKey`."""
Notify: TypeAlias = Callable[[Obj | None, Obj | None], None]
IndexBy: TypeAlias = Callable[[Obj], Iterable[str]]
# Keys by value. Most values belong to one object, for which a dict would take three times the memory of the rest.
_LASTING = ("name", "namespace", "uid", "creationTimestamp", "labels", "annotations")
"""Metadata that a new version mostly has as the one before, and only texts, or maps of texts."""
A_TURN, PASSED_OVER = 256, 1 / 16
"""Wanted objects between which the loop does not turn; another object counts as that part of one."""
_Table: TypeAlias = dict[str, NamespacedName | dict[NamespacedName, None]]


def key_of(obj: Obj) -> NamespacedName:
    """Return (namespace, name); the namespace of a cluster-scoped object is ""."""
    metadata = obj["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


class Cache:
    """Objects with indexes; subscribers get (old, new), where None stands for absence."""

    def __init__(self, indexes: Mapping[str, IndexBy]) -> None:
        self._objects: dict[str, dict[str, Obj]] = {}
        self._indexes = indexes
        self._indexed: dict[str, _Table] = {name: {} for name in indexes}
        self._values: dict[NamespacedName, tuple[tuple[str, ...], ...]] = {}
        """Index values of each object: most changes are of a status and leave all indexes as they are."""
        self._subscribers: list[Notify] = []
        self._on_restore: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return sum(len(names) for names in self._objects.values())

    def __iter__(self) -> Iterator[Obj]:
        for names in self._objects.values():
            yield from names.values()

    def get(self, namespace: str, name: str) -> Obj | None:
        """Return the object, None if missing."""
        return self._objects.get(namespace, {}).get(name)

    def objects(self, namespace: str = "") -> list[Obj]:
        """Return the objects of a namespace, or for "" all objects."""
        return list(self._objects.get(namespace, {}).values()) if namespace else list(self)

    async def in_turns(self, is_wanted: Callable[[Obj], bool]) -> AsyncIterator[Obj]:
        """Yield each wanted object as it is when its turn comes; other work goes on after each A_TURN of them.

        One that is not wanted costs a fraction of that: `is_wanted` is all that is done about it.
        """
        spent = 0.0
        for seen in self.objects():
            obj = self.get(*key_of(seen))
            if obj is not None and is_wanted(obj):
                yield obj
                spent += 1
            spent += PASSED_OVER
            if spent >= A_TURN:
                spent = 0.0
                await asyncio.sleep(0)

    def holds(self, namespace: str) -> bool:
        """Return whether there is any object of that namespace."""
        return namespace in self._objects

    def by_index(self, index: str, value: str) -> list[Obj]:
        """Return the objects for which the index function gave `value`."""
        found = self._indexed[index].get(value, {})
        keys = (found,) if isinstance(found, tuple) else found
        return [self._objects[namespace][name] for namespace, name in keys]

    def subscribe(self, notify: Notify) -> Callable[[], None]:
        """Call `notify(old, new)` on every change, and at once with (None, object) for each present object.

        The returned function ends that.
        """
        end = self.follow(notify)
        for obj in list(self):
            notify(None, obj)
        return end

    def follow(self, notify: Notify) -> Callable[[], None]:
        """Call `notify(old, new)` on every change from now on; the returned function ends that.

        For those who need nothing of what is there already, or take it up by `in_turns`: fifty thousand objects at once
        would hold the loop for seconds.
        """
        # A new list each time, because `_notify` may be iterating over the old one.
        self._subscribers = [*self._subscribers, notify]
        return partial(self._unsubscribe, notify)

    def _unsubscribe(self, notify: Notify) -> None:
        self._subscribers = [subscriber for subscriber in self._subscribers if subscriber != notify]

    def on_restore(self, notify: Callable[[], None]) -> Callable[[], None]:
        """Call `notify` when the API server has gone back in time, for example after etcd was restored from a
        backup.

        It is called before the resulting changes are reported: everything remembered about later versions is void, our
        own last write too. The returned function ends that.
        """
        self._on_restore = [*self._on_restore, notify]
        return lambda: self._on_restore.remove(notify) if notify in self._on_restore else None

    def note_restore(self) -> None:
        """Report that the API server has gone back in time."""
        for notify in tuple(self._on_restore):
            notify()

    def put(self, obj: Obj) -> None:
        """Add or replace one object; the same version again is ignored."""
        if _went_back(self.get(*key_of(obj)), obj):
            self.note_restore()
        self._put(obj)

    def _put(self, obj: Obj) -> None:
        namespace, name = key = key_of(obj)
        names = self._objects.setdefault(namespace, {})
        old = names.get(name)
        if old is not None and _version(old) == _version(obj):
            return
        if old is not None:
            _keep_equal(old, obj)
        names[name] = obj
        self._reindex(key, obj)
        self._notify(old, obj)

    def remove(self, key: NamespacedName) -> None:
        """Forget an object, unless it is missing already."""
        namespace, name = key
        names = self._objects.get(namespace, {})
        old = names.pop(name, None)
        if old is None:
            return
        if not names:
            del self._objects[namespace]
        self._reindex(key, None)
        self._notify(old, None)

    def replace(self, namespace: str, objects: Iterable[Obj]) -> None:
        """Make the namespace ("" for all) hold exactly `objects`, reported as single changes, deletions first."""
        fresh = {key_of(obj): obj for obj in objects}
        # Before any change is reported: subscribers must drop their own last writes first, or they would wait for a
        # version that never comes.
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

    def _notify(self, old: Obj | None, new: Obj | None) -> None:
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


def _keep_equal(old: Obj, new: Obj) -> None:
    """Let a version share with the one before what is equal: nearly all, as most changes are of a status.

    What was made of the earlier version, such as the spec of a scale loop, holds the same texts then.
    """
    before, metadata = old["metadata"], new["metadata"]
    for name in _LASTING:
        if name in metadata and metadata[name] == before.get(name):
            metadata[name] = before[name]
    # `generation`, because Python takes true for 1; and a tenant may nest a spec too deeply to be compared.
    with suppress(RecursionError):
        if metadata.get("generation") == before.get("generation", 0) and old.get("spec", "") == new.get("spec"):
            new["spec"] = old["spec"]


def _went_back(old: Obj | None, new: Obj) -> bool:
    """Return whether an object has an earlier version than before; versions only grow, as Kubernetes promises."""
    before, after = _text(old) if old is not None else "", _text(new)
    return before.isdecimal() and after.isdecimal() and int(after) < int(before)


def _text(obj: Obj) -> str:
    text: str = obj["metadata"].get("resourceVersion", "")
    return text


def _version(obj: Obj) -> object:
    metadata = obj["metadata"]
    return metadata.get("uid"), metadata.get("resourceVersion")
