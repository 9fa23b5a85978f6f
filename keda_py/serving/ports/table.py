"""Table of the connections of one port, from the first packet on: a handshake takes a seat too.

A full port drops connections of the address that has the most: first those that have not sent a whole request, then
idle ones, the oldest of each first. A connection that is being answered stays. So a flood from one address drops its
own connections, and a kubelet's probe is answered. Each port of each replica has a table of its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import nsmallest

# A full port frees one seat in this many at once, because choosing them scans all seats of an address.
BATCH = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class PortLimits:
    """Limits on the clients of one port; times in seconds."""

    handshake: float = 10.0
    request: float = 15.0
    """From the first byte of a request until it is handed over; its body may still be arriving."""
    answer: float = 30.0
    """A backstop: applications bound their own answers, and more tightly."""
    idle: float = 300.0
    connections: int = 2000
    """At most a quarter of the descriptors that the process may have."""


class Seat:
    """One connection: what it is waiting for and since when, on the loop's time; `drop` ends it."""

    __slots__ = ("address", "answering_since", "drop", "idle_since", "is_closing", "is_open", "reading_since")

    def __init__(self, address: str, now: float) -> None:
        self.address = address
        self.is_open = False
        """Whether the handshake is over, or was not needed."""
        self.reading_since: float | None = now  # a handshake, or a first request, has begun
        self.answering_since: float | None = None
        self.idle_since = now
        self.drop: Callable[[], object] = lambda: None
        self.is_closing: Callable[[], bool] = lambda: False

    def is_too_slow(self, limits: PortLimits, grace: float, now: float) -> bool:
        """Return whether it exceeds its limit; `grace` bounds a connection we closed and the client keeps open."""
        if self.answering_since is not None:
            return now - self.answering_since > limits.answer
        if self.is_closing():
            return now - max(self.idle_since, self.reading_since or 0.0) > grace
        if self.reading_since is not None:
            return now - self.reading_since > (limits.request if self.is_open else limits.handshake + grace)
        return now - self.idle_since > limits.idle

    @property
    def gives_way(self) -> tuple[bool, float]:
        """Return the sort key for dropping: the lowest is dropped first."""
        return self.reading_since is None, self.idle_since if self.reading_since is None else self.reading_since


class Table:
    """Seats of one port, at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_address: dict[str, dict[Seat, None]] = {}
        self._taken = 0

    def __len__(self) -> int:
        return self._taken

    def __iter__(self) -> Iterator[Seat]:
        for seats in self._by_address.values():
            yield from seats

    def take(self, seat: Seat) -> bool:
        """Add a seat. Return False if the port is full of connections that are being answered."""
        if self._taken >= self._most and not self.make_room():
            return False
        self._by_address.setdefault(seat.address, {})[seat] = None
        self._taken += 1
        return True

    def leave(self, seat: Seat) -> None:
        """Remove a seat, unless it was removed before."""
        seats = self._by_address.get(seat.address, {})
        if seat in seats:
            del seats[seat]
            self._taken -= 1
            if not seats:
                del self._by_address[seat.address]

    def make_room(self) -> bool:
        """Drop some connections. Return False if every one is being answered."""
        for seats in sorted(self._by_address.values(), key=len, reverse=True):
            waiting = (seat for seat in seats if seat.answering_since is None)
            # nsmallest instead of a sort: a flood makes thousands of seats.
            if leaving := nsmallest(max(1, self._most // BATCH), waiting, key=lambda seat: seat.gives_way):
                for seat in leaving:
                    self.leave(seat)
                    seat.drop()
                return True
        return False
