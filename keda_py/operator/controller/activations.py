"""The cluster's budget of activations a second, which looks of ScaledObjects and wakes of Environments share.

`ask` before a count of 0 is raised; after False the owner is made due again when its turn has come. Workloads that are
up already need no turn. The arithmetic is `core/pacing/activations.py`; only the replica that leads asks.
"""

from collections.abc import Callable
from typing import NamedTuple

from keda_py.clock import Clock, Timer
from keda_py.core.pacing.activations import Bucket, Claim, ClaimQueue
from keda_py.core.values.object_key import ObjectKey

# A turn that is not used by then expires, so that an owner that is gone blocks no other.
HELD_SECONDS = 10.0
# A shorter wait is not reported: at a full minute half of a crowd would write a status before it wakes.
SOON_SECONDS = 1.0


class Ticket(NamedTuple):
    """An object that asks for an activation, and the part of it."""

    owner: ObjectKey
    part: str = ""


class Activations:
    """Turns by namespace and priority; with `per_second` 0 there is no budget."""

    def __init__(self, clock: Clock, per_second: float) -> None:
        self._clock, self._per_second = clock, per_second
        self._listeners: dict[str, Callable[[ObjectKey], None]] = {}
        self._timer: Timer | None = None
        self.clear()

    def clear(self) -> None:
        """Forget all turns and waits, as in a new process."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._line = None, ClaimQueue()
        self._granted: dict[ObjectKey, dict[str, float]] = {}
        self._parts: dict[ObjectKey, set[str]] = {}
        most = max(self._per_second, 1.0)
        self._bucket = Bucket(per_second=self._per_second, tokens=most, at=self._clock.monotonic())

    def subscribe(self, kind: str, notify: Callable[[ObjectKey], None]) -> None:
        """Call `notify` with each object of a kind whose turn has come."""
        self._listeners[kind] = notify

    @property
    def waiting(self) -> int:
        """The number of activations that wait."""
        return len(self._line)

    @property
    def is_short(self) -> bool:
        """Whether every activation that waits has its turn within a second."""
        return len(self._line) <= self._per_second * SOON_SECONDS

    def ask(self, ticket: Ticket, priority: int) -> bool:
        """Whether a workload may be woken now; otherwise it waits for its turn."""
        if not self._per_second or self._uses(ticket):
            return True
        now = self._clock.monotonic()
        self._bucket = self._bucket.refilled(now)
        # While others wait, a free token is theirs: an object that asks for the first time must not pass them.
        if not len(self._line) and self._bucket.has_one:
            self._bucket = self._bucket.taken()
            return True
        self._line.add(Claim(ticket, ticket.owner.namespace, priority))
        self._parts.setdefault(ticket.owner, set()).add(ticket.part)
        self._plan()
        return False

    def has_turn(self, owner: ObjectKey) -> bool:
        """Whether a turn of this object has come and was not used yet."""
        return owner in self._granted

    def withdraw(self, owner: ObjectKey, parts: frozenset[str] = frozenset()) -> None:
        """Drop the turns and waits of an object, except those of `parts`."""
        if owner in self._granted:
            kept = {part: until for part, until in self._granted.pop(owner).items() if part in parts}
            if kept:
                self._granted[owner] = kept
        asked = self._parts.get(owner)
        if asked is None:
            return
        for part in asked - parts:
            self._line.discard(Ticket(owner, part))
        asked &= parts
        if not asked:
            del self._parts[owner]

    def _uses(self, ticket: Ticket) -> bool:
        turns = self._granted.get(ticket.owner, {})
        until = turns.pop(ticket.part, None)
        if until is not None and not turns:
            del self._granted[ticket.owner]
        return until is not None and self._clock.monotonic() < until

    def _plan(self) -> None:
        if self._timer is None and len(self._line):
            self._timer = self._clock.call_later(self._bucket.seconds_to_next, self._grant)

    def _grant(self) -> None:
        self._timer, now = None, self._clock.monotonic()
        self._bucket = self._bucket.refilled(now)
        while self._bucket.has_one and (claim := self._line.pop()) is not None:
            self._bucket = self._bucket.taken()
            self._give(claim.key, now)
        self._plan()

    def _give(self, ticket: object, now: float) -> None:
        if not isinstance(ticket, Ticket):
            return
        parts = self._parts.get(ticket.owner, set())
        parts.discard(ticket.part)
        if not parts:
            self._parts.pop(ticket.owner, None)
        self._granted.setdefault(ticket.owner, {})[ticket.part] = now + HELD_SECONDS
        if (notify := self._listeners.get(ticket.owner.kind)) is not None:
            notify(ticket.owner)
