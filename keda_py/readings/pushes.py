"""Sources that tell of work by themselves: their triggers are read at once, without waiting for the next poll.

In: the `watch()` of scalers that have one. Out: the trigger that is to be read; `readings.py` reads it. A replica that
does not poll holds no stream open: sources would tell it for nothing.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager

from keda_py.answers.tenants import acting_for
from keda_py.readings.scaler_set import ScalerSet
from keda_py.sdk.contract import Scaler
from keda_py.sdk.registry import AnyScaler

PAUSE = 1.0
"""Seconds between two readings that one source causes, on the loop's time."""
AGAIN, LONGEST_AGAIN = 1.0, 60.0
"""Seconds until a scaler whose stream ended or raised is asked for another one; twice as long each time in a row."""

log = logging.getLogger(__name__)


class Pushes:
    """One task for each scaler with a stream, inside of `listening`.

    `pushed` reads a trigger, and returns when that is under way.
    """

    def __init__(
        self,
        spawn: Callable[[Coroutine[object, None, None]], asyncio.Task[None]],
        pushed: Callable[[ScalerSet, int], Awaitable[None]],
    ) -> None:
        self._spawn, self._pushed = spawn, pushed
        self._tasks: dict[tuple[ScalerSet, int], asyncio.Task[None]] = {}
        self._followed: dict[ScalerSet, bool] = {}
        """Those with a stream, and whether their object is idle."""
        self._listening = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """As long as this replica polls."""
        self._listening = True
        try:
            for scalers in self._followed:
                self._begin_all(scalers)
            yield
        finally:
            self._listening = False
            for scalers in self._followed:
                self._end_all(scalers)
                self._followed[scalers] = False  # who polls next finds out anew

    def follow(self, scalers: ScalerSet) -> None:
        """Listen to the scalers of an object."""
        if any(type(scaler).watch is not Scaler.watch for scaler in scalers.scalers):
            self._followed[scalers] = False
            self._begin_all(scalers)

    def renew(self, scalers: ScalerSet, index: int) -> None:
        """Listen to the one that a renewal has put in the place of another."""
        if scalers in self._followed:
            self._begin(scalers, index)

    def end(self, scalers: ScalerSet) -> None:
        """Listen no longer."""
        if scalers in self._followed:
            del self._followed[scalers]
            self._end_all(scalers)

    def note_idle(self, scalers: ScalerSet, *, idle: bool) -> None:
        """Begin or end the streams that are of use only while the object has nothing to do and no replica."""
        if self._followed.get(scalers, idle) == idle:
            return
        self._followed[scalers] = idle
        for index, scaler in enumerate(scalers.scalers):
            if scaler.listens_at_zero_only:
                self._begin(scalers, index)

    def _begin_all(self, scalers: ScalerSet) -> None:
        for index in range(len(scalers.scalers)):
            self._begin(scalers, index)

    def _end_all(self, scalers: ScalerSet) -> None:
        for index in range(len(scalers.scalers)):
            self._end(scalers, index)

    def _begin(self, scalers: ScalerSet, index: int) -> None:
        self._end(scalers, index)
        scaler = scalers.scaler(index)
        if not self._listening or type(scaler).watch is Scaler.watch:
            return
        if self._followed[scalers] or not scaler.listens_at_zero_only:
            with acting_for(scalers.spec.namespace):  # as long as the task lives, which has a copy of this context
                self._tasks[scalers, index] = self._spawn(self._listen(scalers, index, scaler))

    def _end(self, scalers: ScalerSet, index: int) -> None:
        task = self._tasks.pop((scalers, index), None)
        if task is not None:
            task.cancel()

    async def _listen(self, scalers: ScalerSet, index: int, scaler: AnyScaler) -> None:
        failed_before, pause, loop = False, AGAIN, asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                if (stream := scaler.watch()) is None:
                    return  # it is polled alone
                await self._hear(stream, scalers, index)
            except Exception as error:  # noqa: BLE001 - a plug-in may raise anything, and is asked again
                names = scalers.spec.key.log_fields | {"trigger": index, "error": type(error).__name__}
                level = logging.DEBUG if failed_before else logging.WARNING
                log.log(level, "a scaler's stream of activity failed", extra=names)
                failed_before = True
            pause = AGAIN if loop.time() - began > pause else pause
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_AGAIN)

    async def _hear(self, stream: AsyncIterator[bool], scalers: ScalerSet, index: int) -> None:
        """Until the stream ends. "Not active" says nothing: how soon a workload may stop is the polls' to find out."""
        try:
            async for active in stream:
                if active:
                    await self._pushed(scalers, index)
                    await asyncio.sleep(PAUSE)
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()  # now, not when it is collected
