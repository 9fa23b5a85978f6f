"""Who is connected to one port, from the first packet on: a handshake or half a request takes a seat like any other.

A full port makes room: the address with the most connections gives way, those of its connections first that have not
sent a whole request, then those that are idle, the oldest of each. Who is being answered stays. So a flood from one
address drops its own connections, and the kubelet, who asks one question, gets its answer. Every replica and each port
has a table of its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import nsmallest

BATCH = 32
"""Of a full port one seat in so many is freed at once: finding who gives way costs a look at all of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the clients of one port may take; times in seconds."""

    handshake: float = 10.0
    request: float = 15.0
    """From the first byte of a request until it is handed over (its body may still be coming), or its turn comes."""
    answer: float = 30.0
    """A backstop: applications bound their answers by themselves, and sooner."""
    idle: float = 300.0
    connections: int = 2000
    """At most a quarter of the descriptors that the process may have."""


class Seat:
    """One connection: since when it has been waiting for what, on the loop's time; `drop` ends it."""

    __slots__ = ("address", "answering_since", "drop", "idle_since", "is_closing", "is_open", "reading_since")

    def __init__(self, address: str, now: float) -> None:
        self.address = address
        self.is_open = False
        """Whether its handshake is over, if it has one."""
        self.reading_since: float | None = now  # a handshake, or a first request, has begun
        self.answering_since: float | None = None
        self.idle_since = now
        self.drop: Callable[[], object] = lambda: None
        self.is_closing: Callable[[], bool] = lambda: False

    def is_too_slow(self, limits: Limits, grace: float, now: float) -> bool:
        """Whether it has used up its time; `grace` is for what we have closed and the client does not take."""
        if self.answering_since is not None:
            return now - self.answering_since > limits.answer
        if self.is_closing():
            return now - max(self.idle_since, self.reading_since or 0.0) > grace
        if self.reading_since is not None:
            return now - self.reading_since > (limits.request if self.is_open else limits.handshake + grace)
        return now - self.idle_since > limits.idle

    @property
    def gives_way(self) -> tuple[bool, float]:
        """The lowest gives way first."""
        return self.reading_since is None, self.idle_since if self.reading_since is None else self.reading_since


class Table:
    """The seats of one port, `most` of them."""

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
        """False where there is no room, because all are being answered."""
        if self._taken >= self._most and not self.make_room():
            return False
        self._by_address.setdefault(seat.address, {})[seat] = None
        self._taken += 1
        return True

    def leave(self, seat: Seat) -> None:
        """The connection has ended; it may have been dropped before."""
        seats = self._by_address.get(seat.address, {})
        if seat in seats:
            del seats[seat]
            self._taken -= 1
            if not seats:
                del self._by_address[seat.address]

    def make_room(self) -> bool:
        """Drop some. False where no connection may be dropped."""
        for seats in sorted(self._by_address.values(), key=len, reverse=True):
            waiting = (seat for seat in seats if seat.answering_since is None)
            if leaving := nsmallest(max(1, self._most // BATCH), waiting, key=lambda seat: seat.gives_way):
                for seat in leaving:
                    self.leave(seat)
                    seat.drop()
                return True
        return False
