"""Events that are sent one after the other, in the order of what happened: all that tell of the same object.

Made by `delivery.py`, several for a source. What an attempt means, and how long to wait after one, is decided there.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from keda_py.clock import Clock
from keda_py.core.cloud_events import CloudEvent

Attempt = Callable[[CloudEvent, int], Awaitable[float | None]]
"""Given an event and how often it has failed; seconds until another attempt, None: it is done with."""


class OrderedQueue:
    """A queue and who empties it; `run` in a task."""

    def __init__(self, clock: Clock, attempt: Attempt) -> None:
        self._clock, self._attempt = clock, attempt
        self._waiting: deque[tuple[int, CloudEvent]] = deque()
        self._in_hand: CloudEvent | None = None
        self._failures = 0
        self._filled, self._due = asyncio.Event(), asyncio.Event()

    def __len__(self) -> int:
        """Events that are not done with."""
        return len(self._waiting) + (self._in_hand is not None)

    @property
    def oldest(self) -> int | None:
        """The number of the event that has waited longest, the one that is being sent aside."""
        return self._waiting[0][0] if self._waiting else None

    def put(self, number: int, event: CloudEvent) -> None:
        """Queue an event; numbers grow."""
        self._waiting.append((number, event))
        self._filled.set()

    def drop_oldest(self) -> CloudEvent:
        """Give up what `oldest` is the number of."""
        return self._waiting.popleft()[1]

    def hurry(self) -> None:
        """Whatever failed: it is worth an attempt now."""
        self._failures = 0
        self._due.set()

    async def run(self) -> None:
        """Send until cancelled; what an earlier run has left comes first."""
        while True:
            while self._take():
                self._due.clear()
                pause = await self._try()
                if pause is not None:
                    await self._pause(pause)
            await self._filled.wait()
            self._filled.clear()

    async def drain(self) -> None:
        """Send what is left, in one attempt each, until one fails; to be called when `run` has ended."""
        while self._take():
            if await self._try() is not None:
                break

    def _take(self) -> bool:
        if self._in_hand is None and self._waiting:
            self._in_hand = self._waiting.popleft()[1]
        return self._in_hand is not None

    async def _try(self) -> float | None:
        if self._in_hand is None:
            return None
        pause = await self._attempt(self._in_hand, self._failures)
        if pause is None:
            self._in_hand, self._failures = None, 0
        else:
            self._failures += 1
        return pause

    async def _pause(self, seconds: float) -> None:
        """Until it is time for another attempt, or `hurry` is called."""
        timer = self._clock.call_later(seconds, self._due.set)
        try:
            await self._due.wait()
        finally:
            timer.cancel()
