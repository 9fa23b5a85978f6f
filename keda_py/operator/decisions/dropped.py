"""Parts of a status that the installed CRD does not keep, as the answers to our own writes of them show.

KEDA's own CRD knows none of our parts; sent again and again they would be a write at every look, so that they are left
out. For an hour only, since the CRD may be upgraded meanwhile. What the answer about one object shows holds for that
object, and for its kind once objects of two namespaces have shown it: nothing that one tenant does to its own objects
decides what is written about those of others. Next: `controller/status.py`, which writes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from keda_py.apis.foreign import map_at
from keda_py.clock import Clock
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.decisions.history import HISTORY

OWN, SAVINGS = "kedaPy", "kedaPySavings"
BELIEVED_SECONDS = 3600.0
WITNESSES = 2
"""Namespaces."""

Evidence = Mapping[str, float]
"""Parts that an answer about one object has lacked -> until when that is believed (monotonic)."""


class DroppedParts:
    """Names of parts: HISTORY, SAVINGS, and fields of OWN."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.seen: dict[tuple[str, str], dict[str, float]] = {}
        """(kind, part) -> the last WITNESSES namespaces, and until when they are believed."""

    def of(self, kind: str, evidence: Evidence | None) -> frozenset[str]:
        """What is not to be sent with the status of an object of that kind; `evidence` is of its own answers."""
        now = self._clock.monotonic()
        own = [part for part, until in (evidence or {}).items() if now < until]
        shared = [
            part
            for (seen_kind, part), namespaces in self.seen.items()
            if seen_kind == kind and sum(now < until for until in namespaces.values()) >= WITNESSES
        ]
        return frozenset((*own, *shared))

    def evidence(self, parts: Iterable[str]) -> Evidence:
        """That an answer about an object lacked these."""
        return dict.fromkeys(parts, self._clock.monotonic() + BELIEVED_SECONDS)

    def note(self, key: ObjectKey, parts: Iterable[str]) -> frozenset[str]:
        """The same for its kind; those of which no answer about any object of the kind had shown it lately."""
        now, fresh = self._clock.monotonic(), set[str]()
        for part in parts:
            namespaces = self.seen.setdefault((key.kind, part), {})
            if all(until <= now for until in namespaces.values()):
                fresh.add(part)
            namespaces.pop(key.namespace, None)
            namespaces[key.namespace] = now + BELIEVED_SECONDS
            while len(namespaces) > WITNESSES:
                del namespaces[next(iter(namespaces))]
        return frozenset(fresh)


def not_kept(patch: Mapping[str, Any], kept: Mapping[str, Any]) -> frozenset[str]:
    """Parts that a merge patch of a status has set, and that the status in its answer lacks.

    Only what the patch carried is judged: an answer shows everything else as any other client may have left it.
    """
    own = (name for name, value in map_at(patch, OWN).items() if value is not None and name not in map_at(kept, OWN))
    listed = [HISTORY] if patch.get(HISTORY) is not None and kept.get(HISTORY) != patch[HISTORY] else []
    savings = [SAVINGS] if patch.get(SAVINGS) is not None and SAVINGS not in kept else []
    return frozenset((*own, *listed, *savings))
