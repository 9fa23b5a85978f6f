"""Whose turn it is to reckon: of one namespace one at a time, and between two of them the loop does all that is ready.

A namespace has as many Overrides and Environments due at once as its tenant likes. Each takes milliseconds; a thousand
in one pass of the loop would stop everything else for seconds.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Turns:
    """One for each place where much is reckoned; a turn inside a turn of the same one would wait for ever."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, namespace: str) -> AsyncIterator[None]:
        """In the order of arrival."""
        lock = self._locks.setdefault(namespace, asyncio.Lock())
        async with lock:
            yield
            await asyncio.sleep(0)
