"""Push triggers: sources that report work themselves, so that it is read at once and not at the next poll.

In: the `watch()` of scalers that have one. Out: the trigger to read; `readings.py` reads it. A replica that does not
poll keeps no stream open.
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
"""Seconds until a stream that ended or raised is opened again; doubled each time in a row."""

log = logging.getLogger(__name__)


class Pushes:
    """Tasks that follow streams, one for each scaler with a stream, inside of `listening`.

    `pushed` starts the read of a trigger.
    """

    def __init__(
        self,
        spawn: Callable[[Coroutine[object, None, None]], asyncio.Task[None]],
        pushed: Callable[[ScalerSet, int], Awaitable[None]],
    ) -> None:
        self._spawn, self._pushed = spawn, pushed
        self._tasks: dict[tuple[ScalerSet, int], asyncio.Task[None]] = {}
        self._followed: dict[ScalerSet, bool] = {}
        """Sets with a stream, and whether their object is idle."""
        self._listening = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keep the streams open while inside; for the replica that polls."""
        self._listening = True
        try:
            for scalers in self._followed:
                self._begin_all(scalers)
            yield
        finally:
            self._listening = False
            for scalers in self._followed:
                self._end_all(scalers)
                self._followed[scalers] = False  # the next term finds out again whether the object is idle

    def follow(self, scalers: ScalerSet) -> None:
        """Open the streams of an object's scalers."""
        if any(type(scaler).watch is not Scaler.watch for scaler in scalers.scalers):
            self._followed[scalers] = False
            self._begin_all(scalers)

    def renew(self, scalers: ScalerSet, index: int) -> None:
        """Open the stream of a scaler that a renewal has replaced."""
        if scalers in self._followed:
            self._begin(scalers, index)

    def end(self, scalers: ScalerSet) -> None:
        """Close the streams of an object's scalers."""
        if scalers in self._followed:
            del self._followed[scalers]
            self._end_all(scalers)

    def note_idle(self, scalers: ScalerSet, *, idle: bool) -> None:
        """Open or close the streams that are useful only while the object is idle at zero replicas."""
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
            with acting_for(scalers.spec.namespace):  # the task copies this context for its whole life
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
                    return  # the scaler is only polled
                await self._hear(stream, scalers, index)
            except Exception as error:  # noqa: BLE001 - a plug-in may raise anything, and is asked again
                names = scalers.spec.key.log_fields | {"trigger": index, "error": type(error).__name__}
                level = logging.DEBUG if failed_before else logging.WARNING
                log.log(level, "a scaler's stream of activity failed", extra=names)
                failed_before = True
            # A stream that lived longer than the last pause has worked, so the next failure starts over.
            pause = AGAIN if loop.time() - began > pause else pause
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_AGAIN)

    async def _hear(self, stream: AsyncIterator[bool], scalers: ScalerSet, index: int) -> None:
        """Read the trigger at each "active" until the stream ends.

        "Not active" is ignored: the polls decide how soon a workload may stop.
        """
        try:
            async for active in stream:
                if active:
                    await self._pushed(scalers, index)
                    await asyncio.sleep(PAUSE)
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()  # now, instead of at garbage collection
