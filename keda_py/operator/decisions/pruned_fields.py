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
# The CRD may be upgraded at any time; an hour costs one more write per object.
BELIEVED_SECONDS = 3600.0
# Namespaces that have to agree before a kind is believed to drop a part: one tenant decides nothing for others.
WITNESSES = 2

Evidence = Mapping[str, float]
"""Parts that an answer about one object has lacked -> until when that is believed (monotonic)."""


class DroppedParts:
    """Names of parts: HISTORY, SAVINGS, and fields of OWN."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.seen: dict[tuple[str, str], dict[str, float]] = {}
        """(kind, part) -> the last WITNESSES namespaces, and until when they are believed."""

    def of(self, kind: str, evidence: Evidence | None) -> frozenset[str]:
        """The parts not to send with a status of that kind; `evidence` comes from answers about this very object."""
        now = self._clock.monotonic()
        own = [part for part, until in (evidence or {}).items() if now < until]
        shared = [
            part
            for (seen_kind, part), namespaces in self.seen.items()
            if seen_kind == kind and sum(now < until for until in namespaces.values()) >= WITNESSES
        ]
        return frozenset((*own, *shared))

    def evidence(self, parts: Iterable[str]) -> Evidence:
        """The evidence that an answer about an object lacked these parts."""
        return dict.fromkeys(parts, self._clock.monotonic() + BELIEVED_SECONDS)

    def note(self, key: ObjectKey, parts: Iterable[str]) -> frozenset[str]:
        """Note the parts that an answer lacked; returns those that no answer about the kind had lacked lately."""
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
