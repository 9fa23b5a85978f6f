"""Dependencies of triggers on objects, so that a change reaches exactly the scalers that it concerns.

`lookup.py` records them while a trigger is resolved. An object that is followed by name stays followed as long as a
trigger was built from it, or would have been if it existed.
"""

from collections import defaultdict
from collections.abc import Iterable

from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.informers.named_watches import NamedWatches, Reference
from keda_py.kube.resources import CLUSTER_TRIGGER_AUTHENTICATIONS, TRIGGER_AUTHENTICATIONS, Resource

User = tuple[ObjectKey, int]
"""A trigger: its object and its index."""


class Dependencies:
    """References by trigger, and triggers by reference. `cached` kinds have an informer of their own."""

    def __init__(self, watches: NamedWatches, cached: Iterable[Resource]) -> None:
        self._watches = watches
        self._cached = frozenset({*cached, TRIGGER_AUTHENTICATIONS, CLUSTER_TRIGGER_AUTHENTICATIONS})
        self._references: dict[ObjectKey, dict[int, set[Reference]]] = {}
        self._users: defaultdict[Reference, set[User]] = defaultdict(set)

    def users(self, reference: Reference) -> frozenset[User]:
        """Return the triggers that were built from this object."""
        return frozenset(self._users.get(reference, ()))

    def add(self, user: User, reference: Reference) -> None:
        """Record that `user` depends on `reference`."""
        key, index = user
        references = self._references.setdefault(key, {}).setdefault(index, set())
        if reference in references:
            return
        references.add(reference)
        self._users[reference].add(user)
        if reference.resource not in self._cached:
            self._watches.hold(reference)

    def keep_only(self, user: User, found: Iterable[Reference]) -> None:
        """Drop the dependencies of `user` that are not in `found`."""
        key, index = user
        for reference in self._references.get(key, {}).get(index, set()) - set(found):
            self._drop(user, reference)

    def keep_triggers(self, key: ObjectKey, count: int) -> None:
        """Drop the dependencies of triggers from index `count` on; of all with 0."""
        for index in [index for index in self._references.get(key, ()) if index >= count]:
            self.keep_only((key, index), ())
            del self._references[key][index]
        if not self._references.get(key):
            self._references.pop(key, None)

    def _drop(self, user: User, reference: Reference) -> None:
        key, index = user
        self._references[key][index].discard(reference)
        self._users[reference].discard(user)
        if not self._users[reference]:
            del self._users[reference]
        if reference.resource not in self._cached:
            self._watches.release(reference)
