"""Fairness between tenants (namespaces, or addresses of callers): a line for what they share, and places of their own.

`FairLine` is for what all tenants share: the tenant that uses least is admitted next. `TenantPlaces` is for what each
tenant has of its own: it waits for itself alone. Where work has a priority, tenants take turns in
`core/pacing/activations.py`. Rule: nothing is kept of a tenant that waits for nothing and holds nothing, since their
names come and go without bound.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Waiter(Generic[T]):
    need: T
    admitted: asyncio.Future[None]


class FairLine(Generic[T]):
    """Line for something that all tenants share: the first waiter of the tenant that uses least is next.

    `admit` takes what a waiter needs for its tenant and returns whether there was room; `give_back` undoes that, and
    calls `serve`; `used` is a measure of what a tenant has. Code that frees something calls `serve`.
    """

    def __init__(
        self,
        admit: Callable[[str, T], bool],
        give_back: Callable[[str, T], None],
        used: Callable[[str], float],
    ) -> None:
        self._admit, self._give_back, self._used = admit, give_back, used
        self.waiters: dict[str, deque[_Waiter[T]]] = {}
        """By tenant; empty while nothing waits, which is nearly always: a reader need not call anything then."""

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return sum(map(len, self.waiters.values()))

    @property
    def tenants(self) -> int:
        """Return how many tenants wait."""
        return len(self.waiters)

    def waiting_of(self, tenant: str) -> int:
        """Return how many wait of a tenant."""
        return len(self.waiters.get(tenant, ()))

    @property
    def longest(self) -> str:
        """Return the tenant with the most waiters."""
        return max(self.waiters, key=self.waiting_of)

    async def wait(self, tenant: str, need: T, *, first: bool = False) -> None:
        """Wait until this is admitted; `first`: before the tenant's other waiters. The caller bounds the time."""
        waiter = _Waiter(need, asyncio.get_running_loop().create_future())
        waiters = self.waiters.setdefault(tenant, deque())
        waiters.appendleft(waiter) if first else waiters.append(waiter)
        self.serve()
        try:
            await waiter.admitted
        except asyncio.CancelledError:
            if _is_admitted(waiter.admitted):  # in the moment of the cancellation
                self._give_back(tenant, need)
            else:
                self._discard(tenant, waiter)
                self.serve()  # a smaller one may have waited behind it
            raise

    def refuse_newest(self, tenant: str, error: Exception) -> None:
        """Raise `error` in the last waiter of a tenant."""
        newest = self.waiters[tenant][-1]
        self._discard(tenant, newest)
        if not newest.admitted.done():
            newest.admitted.set_exception(error)

    def serve(self) -> None:
        """Admit as many as there is room for."""
        while self.waiters and self._serve_one():
            pass

    def _serve_one(self) -> bool:
        for tenant in sorted(self.waiters, key=self._used):
            waiter = self.waiters[tenant][0]
            is_cancelled = waiter.admitted.done()
            if is_cancelled or self._admit(tenant, waiter.need):
                self._discard(tenant, waiter)
                if not is_cancelled:
                    waiter.admitted.set_result(None)
                return True
        return False

    def _discard(self, tenant: str, waiter: _Waiter[T]) -> None:
        waiters = self.waiters.get(tenant, deque())
        if waiter in waiters:
            waiters.remove(waiter)
        if not waiters:
            self.waiters.pop(tenant, None)


def _is_admitted(admitted: asyncio.Future[None]) -> bool:
    return admitted.done() and not admitted.cancelled() and admitted.exception() is None


@dataclass(slots=True)
class _Own:
    """The places of one tenant; `users` counts those that have one or wait for one."""

    free: asyncio.Semaphore
    users: int = 0


class TenantPlaces:
    """`count` places for each tenant: its work waits for each other, never for that of another tenant.

    Not reentrant: nested places of one tenant deadlock.
    """

    def __init__(self, count: int = 1) -> None:
        self._count = count
        self._own: dict[str, _Own] = {}

    def users(self, tenant: str) -> int:
        """Return how many have a place of the tenant, or wait for one."""
        own = self._own.get(tenant)
        return 0 if own is None else own.users

    def is_crowded(self, tenant: str) -> bool:
        """Whether a tenant has as many waiting as it has places."""
        return self.users(tenant) >= 2 * self._count

    @asynccontextmanager
    async def one(self, tenant: str) -> AsyncIterator[bool]:
        """Hold a place while the block lasts, in the order of arrival; yields whether it had to be waited for."""
        own = self._own.setdefault(tenant, _Own(asyncio.Semaphore(self._count)))
        own.users += 1
        try:
            waits = own.free.locked()
            async with own.free:
                yield waits
        finally:
            own.users -= 1
            if not own.users:
                del self._own[tenant]

    @asynccontextmanager
    async def turn(self, tenant: str) -> AsyncIterator[None]:
        """Hold a place for work of some milliseconds, and let the loop pass before the tenant's next.

        A tenant may have any number of objects due at once; a thousand of them in one pass of the loop would stop all
        else for seconds.
        """
        async with self.one(tenant):
            yield
            # Inside of the place: all other ready tasks run before the next work of the tenant begins.
            await asyncio.sleep(0)
