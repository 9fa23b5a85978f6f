"""Cache of recent answers: bounded, and each asked for once however many callers wait for it.

For requests to the API server that every request to us would repeat. Times are the loop's. An error is not cached, only
shared by the callers that wait for it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Cache of at most `size` answers, each for `seconds`; the least recently used is dropped first."""

    def __init__(self, seconds: float, size: int) -> None:
        self._seconds, self._size = seconds, size
        self._known: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._asked: dict[K, asyncio.Future[V]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def peek(self, key: K) -> V | None:
        """Return the answer if it is cached and fresh."""
        found = self._known.get(key)
        if found is None or found[0] <= asyncio.get_running_loop().time():
            return None
        self._known.move_to_end(key)
        return found[1]

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """Return the cached answer, or await `ask()`. Raises what `ask` raises."""
        while True:
            if (found := self.peek(key)) is not None:
                return found
            if (asked := self._asked.get(key)) is None:
                return await self._ask(key, ask)
            try:
                return await asyncio.shield(asked)
            except asyncio.CancelledError:
                if not asked.cancelled():
                    raise  # this caller was cancelled, not the one whose request it waits for

    async def _ask(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        loop = asyncio.get_running_loop()
        waiting = self._asked[key] = loop.create_future()
        try:
            answer = await ask()
        except Exception as error:
            waiting.set_exception(error)
            waiting.exception()  # mark it as retrieved: perhaps no other caller waits
            raise
        else:
            waiting.set_result(answer)
            self._remember(key, (loop.time() + self._seconds, answer))
            return answer
        finally:
            del self._asked[key]
            waiting.cancel()  # no effect unless we were cancelled: then a waiting caller asks itself

    def _remember(self, key: K, entry: tuple[float, V]) -> None:
        self._known[key] = entry
        self._known.move_to_end(key)
        while len(self._known) > self._size:
            self._known.popitem(last=False)
