"""Connections to sources: how many namespaces may have, and how they share them.

A ledger of places (`ledger.py`): what one namespace takes leaves as much for the next, in all and to each host, so
sources that hang use up no other namespace's descriptors and keep no other namespace from a host that many ask. Where
its share is taken, a namespace waits for its own.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack

from keda_py.answers.ledger import Ledger, NoRoom
from keda_py.answers.tenants import tenant

SHARE, PER_HOST = 1000, 100
"""Of one namespace while the others have none: in all, and to one host."""
PART_OF_DESCRIPTORS = 8
"""The share of one namespace is so small a part of the descriptors that a process may have."""
_ALONE = 3
"""A ledger of so many places gives one to a tenant that is alone."""
_MANY = 1_000_000
"""They may wait: each is an object's question, which is in memory anyway."""


def _ledger(alone: int) -> Ledger:
    return Ledger(_ALONE * alone, most_waiting=_MANY)


class Connections:
    """Who has how many. Belongs to one event loop."""

    def __init__(self, share: int = SHARE, per_host: int = PER_HOST) -> None:
        self.share, self._per_host = share, per_host
        self._all = _ledger(share)
        self._hosts: dict[Hashable, Ledger] = {}

    @property
    def held(self) -> int:
        """Of all namespaces."""
        return self._all.held

    def waiting(self, namespace: str) -> int:
        """How many wait for one of the namespace's share in all; who waits for a host is not counted."""
        return self._all.waiting(namespace)

    async def take(self, host: Hashable, seconds: float | None) -> Callable[[], None]:
        """Wait for a connection to `host` (None: it counts in all only) and have it until what is returned is called.

        It is for the namespace that is acted for. Raises NoRoom, whose text says what to do, after so many seconds.
        """
        namespace = tenant()
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        with ExitStack() as held:
            for ledger, places in self._ledgers(host, held):
                if not ledger.try_take(namespace, 1):
                    await _wait(ledger, namespace, deadline, places)
                held.callback(ledger.give_back, namespace, 1)
            kept = held.pop_all()
        return kept.close

    def _ledgers(self, host: Hashable, held: ExitStack) -> Iterator[tuple[Ledger, str]]:
        if host is not None:
            ledger = self._hosts.setdefault(host, _ledger(self._per_host))
            held.callback(self._forget, host, ledger)
            yield ledger, "one host"
        yield self._all, "sources"

    def _forget(self, host: Hashable, ledger: Ledger) -> None:
        if not ledger.held and self._hosts.get(host) is ledger:
            del self._hosts[host]


async def _wait(ledger: Ledger, namespace: str, deadline: float | None, places: str) -> None:
    try:
        async with asyncio.timeout_at(deadline):
            await ledger.take(namespace, 1)
    except (TimeoutError, NoRoom):
        who = f'namespace "{namespace}"' if namespace else "the operator"
        text = f"{who} has {ledger.held_by(namespace)} connections to {places} already, and none was free in time"
        raise NoRoom(f"{text}: ask fewer sources, or such as answer sooner") from None
