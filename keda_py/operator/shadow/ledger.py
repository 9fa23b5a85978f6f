"""The ledger of disagreements between the two sides: about what, since when, until when.

A difference counts once it has lasted for its object's patience: each side finds out at its own next poll. Kept are all
disagreements that hold, and of each namespace the last hundred that ended: no tenant displaces those of another.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from keda_py.core.shadow.comparison import Claim
from keda_py.core.values.object_key import ObjectKey

MOST_ENDED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One matter of one object, on which the sides differed from `since` to `until` (None: they still do).

    `claim` is as it was when it was found to be one.
    """

    key: ObjectKey
    claim: Claim
    since: datetime
    until: datetime | None = None


@dataclass(slots=True)
class _Object:
    """`differing` by matter and subject; `counted` are those of them that have lasted for longer than the patience."""

    differing: dict[tuple[str, str], Disagreement]
    counted: set[tuple[str, str]]


class Disagreements:
    """Disagreements of all objects; `why_not` has the reasons of objects that cannot be compared."""

    def __init__(self, began: datetime, most_ended: int = MOST_ENDED) -> None:
        self.began = began
        self._ended: defaultdict[str, deque[Disagreement]] = defaultdict(lambda: deque(maxlen=most_ended))
        self.why_not: dict[ObjectKey, str] = {}
        self.found = 0
        """Disagreements found since the beginning."""
        self._objects: dict[ObjectKey, _Object] = {}

    def note(self, key: ObjectKey, claims: Iterable[Claim], now: datetime, patience: timedelta) -> list[Claim]:
        """Note one look at one object; return the claims that have become disagreements by it."""
        self.why_not.pop(key, None)
        known = self._objects.setdefault(key, _Object(differing={}, counted=set()))
        differing = {(one.matter.value, one.subject): one for one in claims if not one.agree}
        for what in known.differing.keys() - differing.keys():
            self._end(known, what, now)
        fresh = []
        for what, claim in differing.items():
            before = known.differing.get(what)
            if before is None:
                known.differing[what] = Disagreement(key=key, claim=claim, since=now)
            elif what not in known.counted:
                known.differing[what] = replace(before, claim=claim)
                if now - before.since >= patience:
                    known.counted.add(what)
                    self.found += 1
                    fresh.append(claim)
        return fresh

    def skip(self, key: ObjectKey, why: str, now: datetime) -> None:
        """Compare an object no more for now, and end what differed."""
        self.forget(key, now)
        self.why_not[key] = why

    def forget(self, key: ObjectKey, now: datetime) -> None:
        """End what differed: the object is gone, or not compared any more."""
        self.why_not.pop(key, None)
        known = self._objects.pop(key, None)
        if known is not None:
            for what in tuple(known.differing):
                self._end(known, what, now)

    def holding(self) -> Iterator[Disagreement]:
        """Yield the disagreements that hold now, by object."""
        for key in sorted(self._objects, key=lambda one: (one.namespace, one.name)):
            yield from self.holding_of(key)

    def holding_of(self, key: ObjectKey) -> Iterator[Disagreement]:
        """Yield those of one object."""
        if (known := self._objects.get(key)) is not None:
            yield from (one for what, one in known.differing.items() if what in known.counted)

    def ended(self) -> list[Disagreement]:
        """List those that are over, by the time of their end."""
        return sorted((one for some in self._ended.values() for one in some), key=lambda one: one.until or one.since)

    @property
    def compared(self) -> int:
        """The number of objects that have been looked at."""
        return len(self._objects)

    def _end(self, known: _Object, what: tuple[str, str], now: datetime) -> None:
        over = known.differing.pop(what)
        if what in known.counted:
            known.counted.discard(what)
            self._ended[over.key.namespace].append(replace(over, until=now))
