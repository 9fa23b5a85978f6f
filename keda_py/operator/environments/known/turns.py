"""Serialize expensive work: one computation at a time in each namespace, with a pass of the event loop after each.

A tenant may have any number of Overrides and Environments due at once. Each takes milliseconds of CPU; a thousand of
them in one pass of the loop would stop everything else for seconds.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Turns:
    """Semaphores by namespace, one instance for each expensive computation or write. Not reentrant: nested turns
    deadlock.
    """

    def __init__(self, at_once: int = 1) -> None:
        self._at_once = at_once
        # A gate exists while a task holds it or waits for it, so that namespaces leave nothing behind.
        self._gates: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, namespace: str) -> AsyncIterator[None]:
        """Wait for a turn, in the order of arrival."""
        gate = self._gates.setdefault(namespace, asyncio.Semaphore(self._at_once))
        async with gate:
            yield
            # Inside the gate: the loop runs all other ready tasks before the next computation of the namespace begins.
            await asyncio.sleep(0)
