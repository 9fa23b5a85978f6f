"""Keys that are due: polls, watch events, pushes, schedule changes and the HPA's questions only ever make a key due.

A key is never worked on twice at once: what makes it due meanwhile runs it once more afterwards. Each due key gets a
task of its own, so a source that hangs delays only its own key. Next in the flow: the controller reconciles and looks
at the object of a due key.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

from keda_py.clock import Clock, Timer
from keda_py.core.values.object_key import ObjectKey

log = logging.getLogger(__name__)


class DueQueue:
    """The earliest due time of each key; `work` is awaited once that time has come."""

    def __init__(self, clock: Clock, work: Callable[[ObjectKey], Awaitable[None]]) -> None:
        self._clock = clock
        self._work = work
        self._timers: dict[ObjectKey, tuple[float, Timer]] = {}
        self._running: dict[ObjectKey, ExitStack] = {}
        self._again: set[ObjectKey] = set()
        self._ready: asyncio.Queue[ObjectKey] = asyncio.Queue()
        self._stopped = False

    def add(self, key: ObjectKey, delay: float = 0.0) -> None:
        """Make `key` due in `delay` seconds, or leave it due earlier if it already is."""
        self._add(key, self._clock.monotonic() + max(delay, 0.0), delay)

    def add_at(self, key: ObjectKey, when: float) -> None:
        """The same for a monotonic time, now where that has passed."""
        now = self._clock.monotonic()
        self._add(key, max(when, now), when - now)

    def _add(self, key: ObjectKey, when: float, delay: float) -> None:
        if self._stopped or key in self._again or (key in self._timers and self._timers[key][0] <= when):
            return
        self._cancel(key)
        if delay <= 0:
            self._start(key)
        else:
            self._timers[key] = (when, self._clock.call_later(delay, lambda: self._fire(key)))

    def discard(self, key: ObjectKey) -> None:
        """Forget when `key` is due; work under way is not interrupted."""
        self._cancel(key)
        self._again.discard(key)

    @property
    def depth(self) -> int:
        """Keys that are due now and not yet finished."""
        return len(self._running) + len(self._again)

    async def run(self) -> None:
        """Work until cancelled. What is under way is cancelled with it."""
        try:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    key = await self._ready.get()
                    tasks.create_task(self._run_one(key), name=f"work {key}")
        finally:
            self._stop()

    def _fire(self, key: ObjectKey) -> None:
        self._timers.pop(key, None)
        self._start(key)

    def _start(self, key: ObjectKey) -> None:
        if key in self._running:
            self._again.add(key)
            return
        held = self._running[key] = ExitStack()
        held.enter_context(self._clock.busy())
        self._ready.put_nowait(key)

    async def _run_one(self, key: ObjectKey) -> None:
        with self._running[key]:
            try:
                await self._work(key)
            finally:
                del self._running[key]
                if key in self._again:
                    self._again.discard(key)
                    self._cancel(key)
                    self._start(key)

    def _stop(self) -> None:
        """Nothing is due any more, and what was due but never begun holds time no longer."""
        self._stopped = True
        for _, timer in self._timers.values():
            timer.cancel()
        for held in self._running.values():
            held.close()

    def _cancel(self, key: ObjectKey) -> None:
        if key in self._timers:
            self._timers.pop(key)[1].cancel()
