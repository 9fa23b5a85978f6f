"""Clocks: `Clock` is for decisions; time-outs of I/O run on the event loop's own time.

Polls, schedules, cooldowns, HPA syncs and pod start-up use a `Clock`, so that the demo and the simulator run days in
seconds. Time-outs of requests, keep-alive, TLS dates and Leases never do. Only this file reads the wall clock.
`SystemClock` is real time, `SteppedClock` jumps to the next due time when nothing is in flight, `FakeClock` moves when
a test advances it.
"""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Timer(Protocol):
    """Pending callback."""

    def cancel(self) -> None:
        """Cancel the callback; cancelling twice, or after it ran, does nothing."""
        ...


class Clock(Protocol):
    """Time as decisions see it."""

    def now(self) -> datetime:
        """Return the wall clock, aware, in UTC; an administrator may step it."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start; never goes back."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Run `callback` on the loop once `seconds` of monotonic time have passed."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait until `seconds` of monotonic time have passed."""
        ...

    def busy(self) -> AbstractContextManager[None]:
        """Mark work in flight: virtual time stands still inside, real time does not."""
        ...


class SystemClock:
    """Real time: the machine's clocks and the loop's timers."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def busy(self) -> AbstractContextManager[None]:
        """Do nothing: real time cannot be held."""
        return nullcontext()


class _Due:
    """Heap entry; cancelled entries stay until they are popped."""

    __slots__ = ("callback", "order", "when")

    def __init__(self, when: float, order: int, callback: Callable[[], None]) -> None:
        self.when, self.order = when, order
        self.callback: Callable[[], None] | None = callback

    def __lt__(self, other: "_Due") -> bool:
        return (self.when, self.order) < (other.when, other.order)

    def cancel(self) -> None:
        self.callback = None


class FakeClock:
    """Virtual time that moves only by `advance`."""

    # A hop between tasks or over a loopback socket takes a few turns of the loop. After this many without new work
    # nothing is under way any more.
    QUIET_TURNS = 30

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError(f"start: {start} has no time zone; pass an aware datetime")
        self._start = start.astimezone(UTC)
        self._elapsed = 0.0
        self._wall_offset = timedelta(0)
        self._due: list[_Due] = []
        self._order = itertools.count()
        self._in_flight = 0
        self._work_seen = 0

    def now(self) -> datetime:
        """Return the virtual wall clock: start + elapsed + every `step`."""
        return self._start + timedelta(seconds=self._elapsed) + self._wall_offset

    def monotonic(self) -> float:
        """Return the virtual seconds since the start."""
        return self._elapsed

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Queue `callback` for its virtual time."""
        self._work_seen += 1
        due = _Due(self._elapsed + max(seconds, 0.0), next(self._order), callback)
        heapq.heappush(self._due, due)
        return due

    async def sleep(self, seconds: float) -> None:
        """Wait for virtual time; zero or less yields once."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        done = asyncio.get_running_loop().create_future()
        timer = self.call_later(seconds, lambda: None if done.done() else done.set_result(None))
        try:
            await done
        finally:
            timer.cancel()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Hold virtual time while inside."""
        self._in_flight += 1
        self._work_seen += 1
        try:
            yield
        finally:
            self._in_flight -= 1
            self._work_seen += 1

    def step(self, by: timedelta) -> None:
        """Step the wall clock as an administrator does: `now` jumps, `monotonic` does not."""
        self._wall_offset += by

    async def settle(self) -> None:
        """Wait until nothing is in flight and no work has begun for QUIET_TURNS turns of the loop."""
        quiet, seen = 0, self._work_seen
        while quiet < self.QUIET_TURNS:
            await asyncio.sleep(0 if not self._in_flight else 0.0005)
            idle = not self._in_flight and self._work_seen == seen
            quiet, seen = (quiet + 1 if idle else 0), self._work_seen

    async def advance(self, by: timedelta | float) -> None:
        """Let `by` pass, running everything that falls due on the way, in order."""
        seconds = by.total_seconds() if isinstance(by, timedelta) else by
        end = self._elapsed + seconds
        await self.settle()
        while (when := self._next_due()) is not None and when <= end:
            self._run_due(when)
            await self.settle()
        self._elapsed = max(self._elapsed, end)
        await self.settle()

    def _next_due(self) -> float | None:
        while self._due and self._due[0].callback is None:
            heapq.heappop(self._due)
        return self._due[0].when if self._due else None

    def _run_due(self, when: float) -> None:
        self._elapsed = max(self._elapsed, when)
        while (following := self._next_due()) is not None and following <= self._elapsed:
            callback = heapq.heappop(self._due).callback
            if callback is not None:
                callback()


class SteppedClock(FakeClock):
    """Virtual time that jumps to the next due time whenever nothing is in flight."""

    async def run_until(self, end: datetime) -> None:
        """Jump from due time to due time until the virtual wall clock reads `end`."""
        await self.advance(end - self.now())
