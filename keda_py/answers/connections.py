"""Shares of connections to sources: how many each namespace may have.

A ledger of places (`ledger.py`): what one namespace takes leaves as much for the next, in all and to each host. So
sources that hang neither exhaust the descriptors nor keep other namespaces from a host that many use. A namespace with
a full share waits for its own connections.
"""

import asyncio
from collections.abc import Callable, Hashable
from functools import partial

from keda_py.answers.ledger import ByteBudget, NoRoom
from keda_py.answers.work_context import current_work

SHARE, PER_HOST = 1000, 100
"""Connections of one namespace while the others have none: in all, and to one host."""
PART_OF_DESCRIPTORS = 8
"""Divisor: one namespace gets at most this fraction of the descriptors of the process."""
# Places of a ledger for each place that a single tenant can take: it must leave as much as twice its own.
_ALONE = 3
_MOST_KEPT = 256
"""Hosts whose ledger is kept while no connection to them is held."""
# Waiting requests; effectively unbounded, because each belongs to an object that is in memory anyway.
_MANY = 1_000_000


def _ledger(alone: int) -> ByteBudget:
    return ByteBudget(_ALONE * alone, most_waiting=_MANY)


class Connections:
    """Counts of connections by namespace and host. Belongs to one event loop."""

    def __init__(self, share: int = SHARE, per_host: int = PER_HOST) -> None:
        self.share, self._per_host = share, per_host
        self._all = _ledger(share)
        self._hosts: dict[Hashable, ByteBudget] = {}

    @property
    def held(self) -> int:
        """Return the connections of all namespaces."""
        return self._all.held

    def waiting(self, namespace: str) -> int:
        """Return how many requests wait for the namespace's share in all, not counting waits for a host."""
        return self._all.waiting(namespace)

    async def take(self, host: Hashable, seconds: float | None) -> Callable[[], None]:
        """Wait for a connection to `host` (None: count it in all only); the returned function gives it back.

        It is counted for the current namespace. Raises NoRoom with a remedy in its text after so many seconds.
        """
        namespace = current_work().namespace
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        taken: list[ByteBudget] = []
        try:
            # The host first: a request that waits for a busy host must not occupy a place of the namespace's total
            # meanwhile.
            for ledger, places in self._ledgers(host):
                if not ledger.try_take(namespace, 1):
                    await _wait(ledger, namespace, deadline, places)
                taken.append(ledger)
        except BaseException:
            self._give_back(taken, namespace, host)
            raise
        return partial(self._give_back, taken, namespace, host)

    def _ledgers(self, host: Hashable) -> tuple[tuple[ByteBudget, str], ...]:
        everything = (self._all, "sources")
        if host is None:
            return (everything,)
        if (ledger := self._hosts.get(host)) is None:
            ledger = self._hosts[host] = _ledger(self._per_host)
        return (ledger, "one host"), everything

    def _give_back(self, taken: list[ByteBudget], namespace: str, host: Hashable) -> None:
        while taken:
            taken.pop().give_back(namespace, 1)
        ledger = self._hosts.get(host)
        # The hosts of polls are asked again and again, and a ledger takes 5 us to make.
        if ledger is not None and not ledger.held and len(self._hosts) > _MOST_KEPT:
            del self._hosts[host]


async def _wait(ledger: ByteBudget, namespace: str, deadline: float | None, places: str) -> None:
    try:
        async with asyncio.timeout_at(deadline):
            await ledger.take(namespace, 1)
    except (TimeoutError, NoRoom):
        who = f'namespace "{namespace}"' if namespace else "the operator"
        text = f"{who} has {ledger.held_by(namespace)} connections to {places} already, and none was free in time"
        raise NoRoom(f"{text}: ask fewer sources, or such as answer sooner") from None
