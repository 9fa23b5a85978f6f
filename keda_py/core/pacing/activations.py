"""Rate limit of activations, and the order of those that wait. Pure: `now` is monotonic seconds.

Namespaces take turns, so that none of them waits for all work of another; within a namespace a higher priority goes
first, then the earlier claim. Priorities are not compared across namespaces: each could give itself the highest.
"""

import heapq
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

PRIORITY: Final = "keda-py.dev/priority"
"""Annotation of ScaledObjects and Environments: a whole number, 0 by default."""
MOST_PRIORITY = 1_000_000
_LONGEST, _SPARE = 8, 64


def read_priority(annotations: Mapping[str, str]) -> int:
    """Read the priority, within bounds; 0 for text that is not a whole number."""
    text = annotations.get(PRIORITY, "")
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(text) > _LONGEST:
        return 0
    return max(-MOST_PRIORITY, min(int(text), MOST_PRIORITY))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Token bucket of activations: refilled at `per_second`, it holds those of one second at most."""

    per_second: float
    tokens: float
    at: float

    def refilled(self, now: float) -> "Bucket":
        """Return the bucket at `now`, with the tokens added since then."""
        # At a rate below one a second the bucket holds one token all the same, or no activation could ever begin.
        most = max(self.per_second, 1.0)
        return replace(self, tokens=min(self.tokens + (now - self.at) * self.per_second, most), at=now)

    @property
    def has_one(self) -> bool:
        """Whether an activation may begin; a token that is missing only by rounding counts."""
        return self.tokens >= 1 - _ROUNDING

    def taken(self) -> "Bucket":
        """Return the bucket after one activation."""
        return replace(self, tokens=self.tokens - 1)

    @property
    def seconds_to_next(self) -> float:
        """Seconds until `has_one` is true."""
        return max((1 - self.tokens) / self.per_second, 0.0)


_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Claim:
    """An object that waits for its turn to be activated."""

    key: Hashable
    namespace: str
    priority: int = 0


class ClaimQueue:
    """Priority queue of claims in the order of their turns; each step costs the logarithm of its length."""

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
        """Add a claim at its place; a known one keeps its place, unless its priority has changed."""
        known = self._claims.get(claim.key)
        if known is not None and known[1] == claim:
            return
        number = next(self._order)
        self._claims[claim.key] = number, claim
        if claim.namespace not in self._waiting:
            self._waiting[claim.namespace] = []
            heapq.heappush(self._turns, (self._turn, number, claim.namespace))
        waiting = self._waiting[claim.namespace]
        # Discarded claims stay in the heap until popped; it is built again before they outnumber the live ones.
        if len(waiting) > 2 * len(self._claims) + _SPARE:
            waiting[:] = [one for one in waiting if self._claims.get(one[2].key, (-1, None))[0] == one[1]]
            heapq.heapify(waiting)
        heapq.heappush(waiting, (-claim.priority, number, claim))

    def discard(self, key: Hashable) -> None:
        self._claims.pop(key, None)

    def pop(self) -> Claim | None:
        """Remove and return the next claim in the order of turns; None if the queue is empty."""
        while self._turns:
            turn, _, namespace = heapq.heappop(self._turns)
            claim = self._first(namespace)
            if claim is None:
                del self._waiting[namespace]
                continue
            # A served namespace waits for the next round. One that comes later joins the current round, not an earlier
            # one, so that having been idle gives it no advantage.
            self._turn = max(self._turn, turn)
            heapq.heappush(self._turns, (self._turn + 1, next(self._order), namespace))
            del self._claims[claim.key]
            return claim
        return None

    def _first(self, namespace: str) -> Claim | None:
        waiting = self._waiting[namespace]
        while waiting:
            _, number, claim = heapq.heappop(waiting)
            # A claim that was discarded, or added again with another priority, is still in the heap under its old
            # number.
            known = self._claims.get(claim.key)
            if known is not None and known[0] == number:
                return claim
        return None
