"""The decision record: why each object was scaled or not, and what comes next; in memory, bounded.

Both scale loops note every decision here, as an entry that `entry_of` of their kind makes; `explain/insight.py` serves
what was noted. Kept are the last changes of reason of each object, as they are served, and what its last look saw.
Nothing here is needed for scaling: after a restart it begins anew, and what was before is told from `history.py`.
"""

from collections import OrderedDict
from dataclasses import replace
from datetime import datetime

import orjson

from keda_py.apis.compact import compact_json
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.decisions.described import Fields, describe
from keda_py.operator.decisions.entry import Entry
from keda_py.operator.decisions.history import compact

OBJECT_ENTRIES = 50
ALL_ENTRIES = 20_000
LONGEST = 4096
"""Bytes of one as it is served; of a longer one no more is kept than its object's status keeps."""


class DecisionRecord:
    """The entries of all objects, the oldest of all dropped first."""

    def __init__(self, object_entries: int = OBJECT_ENTRIES, all_entries: int = ALL_ENTRIES) -> None:
        self._object_entries, self._all_entries = object_entries, all_entries
        self._numbers: dict[ObjectKey, list[int]] = {}
        self._entries: OrderedDict[int, tuple[ObjectKey, bytes]] = OrderedDict()
        self._last: dict[ObjectKey, Entry] = {}
        self._confirmed: dict[ObjectKey, datetime] = {}
        self._count = 0

    def note(self, key: ObjectKey, entry: Entry) -> bool:
        """Remember a decision: as the last one, and for longer where its reason differs from the one before: True."""
        before = self._last.get(key)
        self._last[key] = entry
        self._confirmed.pop(key, None)
        if before is not None and before.reason == entry.reason and not entry.scaled:
            return False
        self._append(key, entry)
        return True

    def confirm(self, key: ObjectKey, at: datetime) -> None:
        """A look that saw and decided the same as the one before."""
        self._confirmed[key] = at

    def last(self, key: ObjectKey) -> Entry | None:
        """What the last look saw and decided."""
        last, at = self._last.get(key), self._confirmed.get(key)
        return last if last is None or at is None else replace(last, at=at)

    def changes(self, key: ObjectKey) -> list[Fields]:
        """Changes of reason, and everything that scaled, oldest first."""
        return [orjson.loads(self._entries[number][1]) for number in self._numbers.get(key, ())]

    def forget(self, key: ObjectKey) -> None:
        """An object is gone."""
        self._last.pop(key, None)
        self._confirmed.pop(key, None)
        for number in self._numbers.pop(key, ()):
            del self._entries[number]

    def __len__(self) -> int:
        return len(self._entries)

    def _append(self, key: ObjectKey, entry: Entry) -> None:
        self._count += 1
        numbers = self._numbers.setdefault(key, [])
        numbers.append(self._count)
        self._entries[self._count] = (key, _text_of(entry))
        if len(numbers) > self._object_entries:
            del self._entries[numbers.pop(0)]
        if len(self._entries) > self._all_entries:
            _, (oldest, _) = self._entries.popitem(last=False)
            self._numbers[oldest].pop(0)


def _text_of(entry: Entry) -> bytes:
    text = compact_json(describe(entry))
    return text if len(text) <= LONGEST else compact_json(compact(entry))
