"""Gate before costly answers: a few run at once, the others wait, and above a limit some are refused.

Addresses take turns: the next request admitted is from the address with the fewest inside, so that a flood from one
address does not delay the others. Used by the metrics page and by the webhook.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from keda_py.answers.fairness import FairLine


class Crowded(Exception):
    """Refusal because too many requests wait already."""


class Gate:
    """Admits `at_once` requests; at most `waiting` others wait."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once, self._most = at_once, waiting
        self._inside: Counter[str] = Counter()
        self._line = FairLine(self._step_in, self._step_out, lambda address: self._inside[address])

    @property
    def waiting(self) -> int:
        """Return how many requests wait."""
        return self._line.waiting

    @asynccontextmanager
    async def turn(self, address: str) -> AsyncIterator[None]:
        """Wait for the turn of this address and hold a place. Raises Crowded, at once or while waiting."""
        # Behind waiting requests even if a place is free: it is about to be given to the next of them.
        if self._line.tenants or not self._step_in(address):
            if self.waiting >= self._most:
                self._refuse_one(address)
            await self._line.wait(address, None)
        try:
            yield
        finally:
            self._step_out(address)

    def _refuse_one(self, address: str) -> None:
        """Refuse the newest request of the address with the most waiting, which may be the caller's own."""
        most = self._line.longest
        if self._line.waiting_of(most) <= self._line.waiting_of(address):
            raise Crowded
        self._line.refuse_newest(most, Crowded())

    def _step_in(self, address: str, _: None = None) -> bool:
        if self._inside.total() >= self._at_once:
            return False
        self._inside[address] += 1
        return True

    def _step_out(self, address: str, _: None = None) -> None:
        self._inside[address] -= 1
        if not self._inside[address]:
            del self._inside[address]
        self._line.serve()
