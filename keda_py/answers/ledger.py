"""Ledger of the bytes of all answers that a process holds, and of how tenants share that room.

A tenant may hold as much as it leaves free for the others. With a room of T, one tenant that takes all it can get holds
T/2, and K of them hold T/(K+1) each: as much is left for the next tenant, however slow their answers are, so nothing
has to be taken back. An answer of unknown length first takes a little, at half that rate, and grows to the largest
allowed size in one step; a tenant's answers can therefore not block each other half-way. `connections.py` shares places
for connections in the same way, one by one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from keda_py.answers.fairness import FairLine

MIB = 1024 * 1024
ROOM = 64 * MIB
# Waiting answers of one tenant, alone and among many: each holds up to 256 KiB in socket buffers.
MOST_WAITING, FEWEST_WAITING = 256, 8


class NoRoom(Exception):
    """Refusal because too many of a tenant's answers wait already, or have waited too long."""


@dataclass(frozen=True, slots=True)
class _Room:
    size: int
    growing: bool


class ByteBudget:
    """Bytes held by each tenant (a namespace). Belongs to one event loop."""

    def __init__(self, room: int = ROOM, most_waiting: int = MOST_WAITING) -> None:
        self.room, self._most_waiting = room, most_waiting
        self._free = room
        self._held: dict[str, int] = {}
        self._line = FairLine(self._admit, self._take_back, self.held_by)

    @property
    def held(self) -> int:
        """Return the bytes of all tenants."""
        return self.room - self._free

    def held_by(self, tenant: str) -> int:
        """Return the bytes of one tenant."""
        return self._held.get(tenant, 0)

    def waiting(self, tenant: str) -> int:
        """Return how many answers of the tenant wait for room."""
        return self._line.waiting_of(tenant)

    def try_take(self, tenant: str, size: int, *, growing: bool = False) -> bool:
        """Take `size` more bytes if there is room, and return whether there was; `growing`: the answer holds some
        already.
        """
        return tenant not in self._line.waiters and self._take_if_it_fits(tenant, size, growing=growing)

    async def take(self, tenant: str, size: int, *, growing: bool = False) -> None:
        """Wait until `try_take` succeeds; the caller bounds the time, and gives back what it took.

        Raises NoRoom if too many wait.
        """
        if self.try_take(tenant, size, growing=growing):
            return
        waiting, tenants = self._line.waiting_of(tenant), self._line.tenants
        if waiting >= max(FEWEST_WAITING, self._most_waiting // (tenants if waiting else tenants + 1)):
            raise NoRoom
        await self._line.wait(tenant, _Room(size, growing), first=growing)

    def give_back(self, tenant: str, size: int) -> None:
        held = self._held[tenant] - size
        self._free += size
        if held:
            self._held[tenant] = held
        else:
            del self._held[tenant]
        if self._line.waiters:
            self._line.serve()

    def _take_back(self, tenant: str, room: _Room) -> None:
        self.give_back(tenant, room.size)

    @contextmanager
    def holding(self, tenant: str, size: int) -> Iterator[None]:
        """Count bytes that are in memory already."""
        self._add(tenant, size)
        try:
            yield
        finally:
            self.give_back(tenant, size)

    def _admit(self, tenant: str, room: _Room) -> bool:
        return self._take_if_it_fits(tenant, room.size, growing=room.growing)

    def _take_if_it_fits(self, tenant: str, size: int, *, growing: bool) -> bool:
        # A tenant may hold what it leaves free for the next one. A new answer needs twice that (half the rate), so that
        # growing ones always find room to finish: otherwise answers of one tenant could wait for each other, each half
        # read.
        left, held = self._free - size, self._held.get(tenant, 0) + size
        if held > (left if growing else left // 2):
            return False
        self._free, self._held[tenant] = left, held
        return True

    def _add(self, tenant: str, size: int) -> None:
        self._held[tenant] = self._held.get(tenant, 0) + size
        self._free -= size
