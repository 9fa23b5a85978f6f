"""Fair shares of connections and of buffered bytes, for each namespace and each client address in it.

A waker that is full drops connections of the namespace that has the most, a namespace that is full those of the address
that has the most: first those that have not said what they want, then waiting ones, the oldest first. A connection that
is already passed on to a pod stays. So 10 000 connections to one Service cost the others nothing.
"""

from collections import Counter
from collections.abc import Callable

from keda_py.serving.ports.table import Seat, Table
from keda_py.waker.limits import Limits


class Place:
    """Place of one connection: a seat among all namespaces, and one among the addresses of its own."""

    __slots__ = ("among_all", "inside", "namespace")

    def __init__(self, namespace: str, address: str, now: float, drop: Callable[[], object]) -> None:
        self.namespace = namespace
        self.among_all, self.inside = Seat(namespace, now), Seat(address, now)
        self.among_all.drop = self.inside.drop = drop

    def wait(self, now: float) -> None:
        """Note that the connection has said what it wants, and waits."""
        for seat in (self.among_all, self.inside):
            seat.reading_since, seat.answering_since, seat.idle_since = None, None, now

    def settle(self, now: float) -> None:
        """Note that the connection is passed on to a pod: nothing drops it any more."""
        for seat in (self.among_all, self.inside):
            seat.answering_since = now


class Seats:
    """All connections of a waker, and the bytes that it keeps of them."""

    def __init__(self, limits: Limits, most: int) -> None:
        self._limits = limits
        self._all = Table(most)
        self._inside: dict[str, Table] = {}
        self._bytes: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._all)

    @property
    def buffered(self) -> int:
        """Return how many bytes are kept."""
        return self._bytes.total()

    def take(self, place: Place) -> bool:
        """Seat a connection. Return False if it has to go: its namespace, or all, are full of busy connections."""
        inside = self._inside.setdefault(place.namespace, Table(self._limits.namespace_connections))
        if not inside.take(place.inside):
            return False
        if not self._all.take(place.among_all):
            inside.leave(place.inside)
            return False
        return True

    def leave(self, place: Place) -> None:
        """Free the place, unless it was freed before."""
        self._all.leave(place.among_all)
        if (inside := self._inside.get(place.namespace)) is not None:
            inside.leave(place.inside)
            if not len(inside):
                del self._inside[place.namespace]

    def room(self, namespace: str) -> int:
        """Return how many more bytes may be kept for a namespace."""
        own = self._limits.namespace_bytes - self._bytes[namespace]
        return max(min(own, self._limits.all_bytes - self.buffered), 0)

    def keep(self, namespace: str, count: int) -> None:
        """Account for kept bytes, or with a negative count for those that were passed on."""
        self._bytes[namespace] += count
        if self._bytes[namespace] <= 0:
            del self._bytes[namespace]
