"""The changes of all objects within two bounds, one for each object and one for all; the oldest go first.

Kept as lines of JSON, and compressed by up to thirty: 20 000 take 1 MB, not 8. Filled by `record.py`.
"""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from keda_py.apis.squeezed import expand, squeeze
from keda_py.core.values.object_key import ObjectKey

# Bytes of lines that are compressed as one; to add one takes as long as to read them and to write them anew.
BLOCK = 8192


class Changes:
    """The newest `each` changes of every object, and the newest `most` of all together."""

    def __init__(self, each: int, most: int) -> None:
        self._each, self._most = each, most
        self._of: dict[ObjectKey, _Lines] = {}
        self._order: deque[ObjectKey] = deque()
        """The owners of the lines, oldest first; dropped lines included."""
        self._gone: Counter[ObjectKey] = Counter()
        """How many of the first entries in `_order` are of lines that have gone."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, key: ObjectKey, line: bytes) -> None:
        """The newest change of an object; no line break in it."""
        lines = self._of.setdefault(key, _Lines())
        lines.append(line)
        self._order.append(key)
        self._count += 1
        if lines.count > self._each:
            lines.drop()
            self._note_gone(key, 1)
        while self._count > self._most:
            self._drop_oldest()
        if len(self._order) > 2 * self._most:  # one object may change for ever while no other does
            self._order = deque(self._still_there())

    def of(self, key: ObjectKey) -> list[bytes]:
        """Oldest first."""
        lines = self._of.get(key)
        return lines.read() if lines is not None else []

    def forget(self, key: ObjectKey) -> None:
        """An object is gone."""
        lines = self._of.pop(key, None)
        if lines is not None:
            self._note_gone(key, lines.count)

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
        """Note that the first entry of an object leaves `_order`; True if its line had been dropped before."""
        if key not in self._gone:
            return False
        self._gone[key] -= 1
        if not self._gone[key]:
            del self._gone[key]
        return True


@dataclass(slots=True)
class _Lines:
    """Lines of one object, oldest first, in blocks (count, text); `dropped` counts those removed from the first."""

    blocks: list[tuple[int, bytes]] = field(default_factory=list)
    dropped: int = 0
    count: int = 0

    def append(self, line: bytes) -> None:
        self.count += 1
        if self.blocks:
            number, kept = self.blocks[-1]
            text = expand(kept)
            if len(text) + len(line) < BLOCK:
                self.blocks[-1] = number + 1, squeeze(text + b"\n" + line)
                return
        self.blocks.append((1, squeeze(line)))

    def drop(self) -> None:
        """Remove the oldest line; its block goes when the last line of it does."""
        self.count -= 1
        self.dropped += 1
        if self.dropped == self.blocks[0][0]:
            del self.blocks[0]
            self.dropped = 0

    def read(self) -> list[bytes]:
        return [line for _, kept in self.blocks for line in expand(kept).split(b"\n")][self.dropped :]
