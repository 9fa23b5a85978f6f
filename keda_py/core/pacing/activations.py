"""How many workloads may be woken in a second, and whose turn is next. Pure: `now` is monotonic seconds.

Namespaces take turns, so that none of them waits for all that another has to do; within a namespace a higher priority
goes first, then who came first. A priority is worth nothing in another namespace: each could give itself the highest.
"""

import heapq
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

PRIORITY: Final = "keda-py.dev/priority"
"""Annotation of ScaledObjects and Environments: a whole number, 0 where it is left out."""
MOST_PRIORITY = 1_000_000
_LONGEST, _SPARE = 8, 64


def read_priority(annotations: Mapping[str, str]) -> int:
    """What the annotation says, within bounds; 0 for what is no whole number."""
    text = annotations.get(PRIORITY, "")
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(text) > _LONGEST:
        return 0
    return max(-MOST_PRIORITY, min(int(text), MOST_PRIORITY))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Activations that may begin at once: those of a second, filled up as time goes on."""

    per_second: float
    tokens: float
    at: float

    def refilled(self, now: float) -> "Bucket":
        """As it is now."""
        most = max(self.per_second, 1.0)
        return replace(self, tokens=min(self.tokens + (now - self.at) * self.per_second, most), at=now)

    @property
    def has_one(self) -> bool:
        """Whether one may begin; what is missing by rounding is given."""
        return self.tokens >= 1 - _ROUNDING

    def taken(self) -> "Bucket":
        """After one has begun."""
        return replace(self, tokens=self.tokens - 1)

    @property
    def seconds_to_next(self) -> float:
        """Until `has_one`."""
        return max((1 - self.tokens) / self.per_second, 0.0)


_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Claim:
    """What waits for its turn."""

    key: Hashable
    namespace: str
    priority: int = 0


class Line:
    """Claims in the order of their turns; each step costs the logarithm of how many there are."""

    def __init__(self) -> None:
        self._order = count()
        self._claims: dict[Hashable, tuple[int, Claim]] = {}
        self._waiting: dict[str, list[tuple[int, int, Claim]]] = {}
        self._turns: list[tuple[int, int, str]] = []
        self._turn = 0

    def __len__(self) -> int:
        return len(self._claims)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._claims

    def add(self, claim: Claim) -> None:
        """At its place; one that is there already keeps it, unless it has another priority."""
        known = self._claims.get(claim.key)
        if known is not None and known[1] == claim:
            return
        number = next(self._order)
        self._claims[claim.key] = number, claim
        if claim.namespace not in self._waiting:
            self._waiting[claim.namespace] = []
            heapq.heappush(self._turns, (self._turn, number, claim.namespace))
        waiting = self._waiting[claim.namespace]
        if len(waiting) > 2 * len(self._claims) + _SPARE:  # what was discarded stays in a heap until its turn
            waiting[:] = [one for one in waiting if self._claims.get(one[2].key, (-1, None))[0] == one[1]]
            heapq.heapify(waiting)
        heapq.heappush(waiting, (-claim.priority, number, claim))

    def discard(self, key: Hashable) -> None:
        """It waits no longer."""
        self._claims.pop(key, None)

    def pop(self) -> Claim | None:
        """Whose turn it is; None where none waits."""
        while self._turns:
            turn, _, namespace = heapq.heappop(self._turns)
            claim = self._first(namespace)
            if claim is None:
                del self._waiting[namespace]
                continue
            self._turn = max(self._turn, turn)
            heapq.heappush(self._turns, (self._turn + 1, next(self._order), namespace))
            del self._claims[claim.key]
            return claim
        return None

    def _first(self, namespace: str) -> Claim | None:
        waiting = self._waiting[namespace]
        while waiting:
            _, number, claim = heapq.heappop(waiting)
            known = self._claims.get(claim.key)
            if known is not None and known[0] == number:
                return claim
        return None
