"""The changes of all objects within two bounds, one for each object and one for all; the oldest go first.

Kept as packed lists (`apis/squeezed.py`) of up to thirty, as in the status: 20 000 take 1 MB, not 8. Filled by
`record.py`.
"""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from keda_py.apis.squeezed import expand, squeeze, unpack
from keda_py.core.values.object_key import ObjectKey

# Bytes of a packed list; adding a change expands it and compresses it again, which takes 50 us for 8 KiB. A longer list
# saves little room, and above 16 KiB it would not be compressed at all.
BLOCK = 8192


class Changes:
    """The newest `each` changes of every object, and the newest `most` of all together."""

    def __init__(self, each: int, most: int) -> None:
        self._each, self._most = each, most
        self._of: dict[ObjectKey, _Blocks] = {}
        self._order: deque[ObjectKey] = deque()
        """The owners of the changes, oldest first; dropped changes included."""
        self._gone: Counter[ObjectKey] = Counter()
        """How many of the first entries in `_order` are of changes that have gone."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, key: ObjectKey, change: bytes) -> None:
        """Add the newest change of an object, as JSON."""
        kept = self._of.setdefault(key, _Blocks())
        kept.append(change)
        self._order.append(key)
        self._count += 1
        if kept.count > self._each:
            kept.drop()
            self._note_gone(key, 1)
        while self._count > self._most:
            self._drop_oldest()
        if len(self._order) > 2 * self._most:  # one object may change for ever while no other does
            self._order = deque(self._still_there())

    def of(self, key: ObjectKey) -> list[dict[str, Any]]:
        """Return the changes of an object, oldest first."""
        kept = self._of.get(key)
        return kept.read() if kept is not None else []

    def forget(self, key: ObjectKey) -> None:
        """Drop the changes of an object that is gone."""
        kept = self._of.pop(key, None)
        if kept is not None:
            self._note_gone(key, kept.count)

    def _note_gone(self, key: ObjectKey, count: int) -> None:
        self._gone[key] += count
        self._count -= count

    def _drop_oldest(self) -> None:
        key = self._order.popleft()
        if self._forget_first(key):
            return
        self._count -= 1
        self._of[key].drop()
        if not self._of[key].count:
            del self._of[key]

    def _still_there(self) -> Iterator[ObjectKey]:
        return (key for key in self._order if not self._forget_first(key))

    def _forget_first(self, key: ObjectKey) -> bool:
        """Note that the first entry of an object leaves `_order`; True if its change had been dropped before."""
        if key not in self._gone:
            return False
        self._gone[key] -= 1
        if not self._gone[key]:
            del self._gone[key]
        return True


@dataclass(slots=True)
class _Blocks:
    """Changes of one object, oldest first, as (count, packed list); `dropped` counts those removed from the first."""

    lists: list[tuple[int, bytes]] = field(default_factory=list)
    dropped: int = 0
    count: int = 0

    def append(self, change: bytes) -> None:
        self.count += 1
        if self.lists:
            number, packed = self.lists[-1]
            text = expand(packed)
            if len(text) + len(change) < BLOCK:
                # Joined as text: to parse the list and write it anew would take 80 us more.
                self.lists[-1] = number + 1, squeeze(text[:-1] + b"," + change + b"]")
                return
        self.lists.append((1, squeeze(b"[" + change + b"]")))

    def drop(self) -> None:
        """Remove the oldest change; its list goes when the last change of it does."""
        self.count -= 1
        self.dropped += 1
        if self.dropped == self.lists[0][0]:
            del self.lists[0]
            self.dropped = 0

    def read(self) -> list[dict[str, Any]]:
        return [change for _, packed in self.lists for change in unpack(packed)][self.dropped :]
