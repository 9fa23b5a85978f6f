"""A queue that sends events one after the other: all that are about the same object, in the order of what happened.

Made by `delivery.py`, several for a source, which also decides what an attempt means and how long to wait after one.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from keda_py.clock import Clock
from keda_py.core.cloud_events import CloudEvent

Attempt = Callable[[CloudEvent, int], Awaitable[float | None]]
"""Send an event, given how often it has failed; returns seconds until the next attempt, None: finished or given up."""


class OrderedQueue:
    """Events in order and the task that sends them; run `run` in a task."""

    def __init__(self, clock: Clock, attempt: Attempt) -> None:
        self._clock, self._attempt = clock, attempt
        self._waiting: deque[tuple[int, CloudEvent]] = deque()
        self._in_hand: CloudEvent | None = None
        self._failures = 0
        self._filled, self._due = asyncio.Event(), asyncio.Event()

    def __len__(self) -> int:
        """Number of events that are not finished."""
        return len(self._waiting) + (self._in_hand is not None)

    @property
    def oldest(self) -> int | None:
        """The number of the event that has waited longest, except the one that is being sent."""
        return self._waiting[0][0] if self._waiting else None

    def put(self, number: int, event: CloudEvent) -> None:
        """Queue an event; numbers grow."""
        self._waiting.append((number, event))
        self._filled.set()

    def drop_oldest(self) -> CloudEvent:
        """Drop the event that `oldest` is the number of."""
        return self._waiting.popleft()[1]

    def hurry(self) -> None:
        """End the pause after a failure: an attempt is worth it now."""
        self._failures = 0
        self._due.set()

    async def run(self) -> None:
        """Send until cancelled; events that an earlier run has left come first."""
        while True:
            while self._take():
                # Cleared before the attempt, so that a `hurry` during the attempt ends the pause after it.
                self._due.clear()
                pause = await self._try()
                if pause is not None:
                    await self._pause(pause)
            await self._filled.wait()
            self._filled.clear()

    async def drain(self) -> None:
        """Try each remaining event once, until one fails; call it when `run` has ended."""
        while self._take():
            if await self._try() is not None:
                break

    def _take(self) -> bool:
        # An event stays in hand until it is finished, also if `run` is cancelled during its attempt: `drain` or the
        # next `run` sends it again, so that it is sent at least once.
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
        """Wait for the seconds, or until `hurry` is called."""
        timer = self._clock.call_later(seconds, self._due.set)
        try:
            await self._due.wait()
        finally:
            timer.cancel()
