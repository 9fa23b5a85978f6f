"""Ledger of the bytes of all answers that a process holds, and of how tenants share that room.

A tenant may hold as much as it leaves free for the others. With a room of T, one tenant that takes all it can get holds
T/2, and K of them hold T/(K+1) each: as much is left for the next tenant, however slow their answers are, so nothing
has to be taken back. An answer of unknown length first takes a little, at half that rate, and grows to the largest
allowed size in one step; a tenant's answers can therefore not block each other half-way. `connections.py` shares places
for connections in the same way, one by one.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MIB = 1024 * 1024
ROOM = 64 * MIB
MOST_WAITING, FEWEST_WAITING = 256, 8
"""Waiting answers of one tenant, alone and among many: each holds up to 256 KiB in socket buffers."""


class NoRoom(Exception):
    """Refusal because too many of a tenant's answers wait already, or have waited too long."""


@dataclass(slots=True, eq=False)
class _Wait:
    size: int
    growing: bool
    granted: asyncio.Future[None]


class ByteBudget:
    """Bytes held by each tenant (a namespace). Belongs to one event loop."""

    def __init__(self, room: int = ROOM, most_waiting: int = MOST_WAITING) -> None:
        self.room, self._most_waiting = room, most_waiting
        self._free = room
        self._held: dict[str, int] = {}
        self._waiting: dict[str, deque[_Wait]] = {}

    @property
    def held(self) -> int:
        """Return the bytes of all tenants."""
        return self.room - self._free

    def held_by(self, tenant: str) -> int:
        """Return the bytes of one tenant."""
        return self._held.get(tenant, 0)

    def waiting(self, tenant: str) -> int:
        """Return how many answers of the tenant wait for room."""
        return len(self._waiting.get(tenant, ()))

    def try_take(self, tenant: str, size: int, *, growing: bool = False) -> bool:
        """Take `size` more bytes if there is room, and return whether there was; `growing`: the answer holds some
        already.
        """
        fits = tenant not in self._waiting and self._fits(tenant, size, growing=growing)
        if fits:
            self._add(tenant, size)
        return fits

    async def take(self, tenant: str, size: int, *, growing: bool = False) -> None:
        """Wait until `try_take` succeeds; the caller bounds the time, and gives back what it took.

        Raises NoRoom if too many wait.
        """
        if self.try_take(tenant, size, growing=growing):
            return
        queue = self._waiting.setdefault(tenant, deque())
        if len(queue) >= max(FEWEST_WAITING, self._most_waiting // len(self._waiting)):
            raise NoRoom
        wait = _Wait(size, growing, asyncio.get_running_loop().create_future())
        queue.appendleft(wait) if growing else queue.append(wait)
        self._grant()
        await self._await_grant(tenant, wait)

    async def _await_grant(self, tenant: str, wait: _Wait) -> None:
        try:
            await wait.granted
        except asyncio.CancelledError:
            if wait.granted.cancelled():
                self._leave_queue(tenant, wait)
            else:  # granted in the moment of the cancellation
                self.give_back(tenant, wait.size)
            raise

    def give_back(self, tenant: str, size: int) -> None:
        self._add(tenant, -size)
        if not self._held[tenant]:
            del self._held[tenant]
        if self._waiting:
            self._grant()

    @contextmanager
    def holding(self, tenant: str, size: int) -> Iterator[None]:
        """Count bytes that are in memory already."""
        self._add(tenant, size)
        try:
            yield
        finally:
            self.give_back(tenant, size)

    def _fits(self, tenant: str, size: int, *, growing: bool) -> bool:
        # A tenant may hold what it leaves free for the next one. A new answer needs twice that (half the rate), so that
        # growing ones always find room to finish: otherwise answers of one tenant could wait for each other, each half
        # read.
        left = self._free - size
        return self._held.get(tenant, 0) + size <= (left if growing else left // 2)

    def _add(self, tenant: str, size: int) -> None:
        self._held[tenant] = self._held.get(tenant, 0) + size
        self._free -= size

    def _grant(self) -> None:
        """Grant waiting requests, of the tenants that hold least first; a tenant's own are FIFO, so large ones do not
        starve.
        """
        for tenant in sorted(self._waiting, key=lambda tenant: self._held.get(tenant, 0)):
            queue = self._waiting[tenant]
            while queue and self._fits(tenant, queue[0].size, growing=queue[0].growing):
                wait = queue.popleft()
                if not wait.granted.done():
                    self._add(tenant, wait.size)
                    wait.granted.set_result(None)
            if not queue:
                del self._waiting[tenant]

    def _leave_queue(self, tenant: str, wait: _Wait) -> None:
        queue = self._waiting.get(tenant, deque())
        if wait in queue:
            queue.remove(wait)
        if not queue:
            self._waiting.pop(tenant, None)
        self._grant()
