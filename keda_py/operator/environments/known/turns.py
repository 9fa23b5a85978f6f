"""Whose turn it is to reckon: of one namespace one at a time, and between two of them the loop does all that is ready.

A namespace has as many Overrides and Environments due at once as its tenant likes. Each takes milliseconds; a thousand
in one pass of the loop would stop everything else for seconds.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Turns:
    """One for each place where much is reckoned or written; a turn inside a turn of the same one may wait for ever."""

    def __init__(self, at_once: int = 1) -> None:
        self._at_once = at_once
        self._gates: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, namespace: str) -> AsyncIterator[None]:
        """In the order of arrival."""
        gate = self._gates.setdefault(namespace, asyncio.Semaphore(self._at_once))
        async with gate:
            yield
            await asyncio.sleep(0)
