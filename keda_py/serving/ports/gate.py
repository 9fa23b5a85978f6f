"""Gate before costly answers: a few run at once, the others wait, and above a limit some are refused.

Addresses take turns: the next request admitted is from the address with the fewest inside, so that a flood from one
address does not delay the others. Used by the metrics page and by the webhook.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Crowded(Exception):
    """Refusal because too many requests wait already."""


class Gate:
    """Admits `at_once` requests; at most `waiting` others wait."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once, self._most = at_once, waiting
        self._inside: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def waiting(self) -> int:
        """Return how many requests wait."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def turn(self, address: str) -> AsyncIterator[None]:
        """Wait for the turn of this address and hold a place. Raises Crowded, at once or while waiting."""
        # Behind waiting requests even if a place is free: it is about to be given to the next of them.
        if self._waiting or self._inside.total() >= self._at_once:
            await self._wait(address)
        else:
            self._inside[address] += 1
        try:
            yield
        finally:
            self._step_out(address)

    async def _wait(self, address: str) -> None:
        """Wait until `_step_out` of another request has admitted this one, and counted it."""
        if self.waiting >= self._most:
            self._refuse_one(address)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._step_out(address)  # admitted in the same moment: pass the place on
            raise
        finally:
            self._forget(address, turn)

    def _refuse_one(self, address: str) -> None:
        """Refuse the newest request of the address with the most waiting, which may be the caller's own."""
        most = max(self._waiting, key=lambda waiting: len(self._waiting[waiting]))
        if len(self._waiting[most]) <= len(self._waiting.get(address, ())):
            raise Crowded
        turn = self._waiting[most][-1]
        self._forget(most, turn)
        if not turn.done():
            turn.set_exception(Crowded())

    def _step_out(self, address: str) -> None:
        self._inside[address] -= 1
        if not self._inside[address]:
            del self._inside[address]
        while self._waiting and self._inside.total() < self._at_once:
            following = min(self._waiting, key=lambda waiting: self._inside[waiting])
            turn = self._waiting[following][0]
            self._forget(following, turn)
            if not turn.done():
                self._inside[following] += 1
                turn.set_result(None)

    def _forget(self, address: str, turn: asyncio.Future[None]) -> None:
        turns = self._waiting.get(address)
        if turns is not None and turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[address]
