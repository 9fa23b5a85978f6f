"""Warnings of admission as Events, once the write that they are about is seen.

A review alone proves no write: any client of the webhook's port can send one about any object, and a write may be
refused after us. The version that was judged is known by its uid and generation; a new object that has no uid yet by
its appearance. A warning whose write is not seen within a minute is forgotten.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from keda_py.kube.events import EventRecorder
from keda_py.kube.informers.cache import NamespacedName, key_of
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import Obj

WAIT_SECONDS = 60.0
MOST_WAITING = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedObject:
    """The version of an object that was judged, and what is to be told about it."""

    namespace: str
    name: str
    uid: str
    generation: int
    notes: Sequence[str]

    def is_seen(self, old: Obj | None, new: Obj) -> bool:
        """Whether this change is that version."""
        metadata = new["metadata"]
        if not self.uid:
            return old is None
        return bool((metadata.get("uid"), metadata.get("generation")) == (self.uid, self.generation))


class Cautions:
    """Waits for the objects of one informer."""

    def __init__(self, events: EventRecorder, informer: Informer) -> None:
        self._events, self._informer = events, informer
        self._waiting: OrderedDict[NamespacedName, tuple[float, JudgedObject]] = OrderedDict()
        informer.subscribe(self._on_change)

    def expect(self, judged: JudgedObject) -> None:
        """Tell it when it is seen; that may have been just now."""
        live = self._informer.get(judged.namespace, judged.name)
        if live is not None and judged.is_seen(live, live):
            self._record(judged, live)
            return
        key = judged.namespace, judged.name
        self._waiting[key] = asyncio.get_running_loop().time() + WAIT_SECONDS, judged
        self._waiting.move_to_end(key)
        while len(self._waiting) > MOST_WAITING:
            self._waiting.popitem(last=False)

    def _on_change(self, old: Obj | None, new: Obj | None) -> None:
        if new is None or not self._waiting:
            return
        key = key_of(new)
        until, judged = self._waiting.get(key, (0.0, None))
        if judged is not None and judged.is_seen(old, new):
            del self._waiting[key]
            if asyncio.get_running_loop().time() < until:
                self._record(judged, new)

    def _record(self, judged: JudgedObject, live: Obj) -> None:
        for note in judged.notes:
            self._events.record(live, "Normal", "KEDAScalerInfo", note)
