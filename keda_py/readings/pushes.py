"""Sources that tell of work by themselves: their triggers are read at once, without waiting for the next poll.

In: the `watch()` of scalers that have one. Out: the trigger that is to be read; `readings.py` reads it.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from functools import partial

from keda_py.answers.tenants import acting_for
from keda_py.readings.scaler_set import ScalerSet
from keda_py.sdk.registry import AnyScaler
from keda_py.sdk.scaler import Scaler

PAUSE = 1.0
"""Seconds between two readings that one source causes, on the loop's time."""
AGAIN = 1.0
"""Seconds until a scaler whose stream ended or raised is asked for another one."""

log = logging.getLogger(__name__)


class Pushes:
    """One task for each scaler with a stream. `pushed` reads a trigger, and returns when that is under way."""

    def __init__(
        self,
        spawn: Callable[[Coroutine[object, None, None]], asyncio.Task[None]],
        pushed: Callable[[ScalerSet, int], Awaitable[None]],
    ) -> None:
        self._spawn, self._pushed = spawn, pushed
        self._tasks: dict[tuple[ScalerSet, int], asyncio.Task[None]] = {}

    def follow(self, scalers: ScalerSet) -> None:
        """Listen to the scalers of an object, and to those that renewals put in their place."""
        for index, scaler in enumerate(scalers.scalers):
            if type(scaler).watch is not Scaler.watch:
                self._begin(scalers, index)
                scalers.on_renewed = partial(self._begin, scalers)

    def end(self, scalers: ScalerSet) -> None:
        """Listen no longer."""
        scalers.on_renewed = None
        for index in range(len(scalers.scalers)):
            self._end(scalers, index)

    def _begin(self, scalers: ScalerSet, index: int) -> None:
        self._end(scalers, index)
        scaler = scalers.scaler(index)
        if type(scaler).watch is not Scaler.watch:
            self._tasks[scalers, index] = self._spawn(self._listen(scalers, index, scaler))

    def _end(self, scalers: ScalerSet, index: int) -> None:
        task = self._tasks.pop((scalers, index), None)
        if task is not None:
            task.cancel()

    async def _listen(self, scalers: ScalerSet, index: int, scaler: AnyScaler) -> None:
        failed_before = False
        while True:
            try:
                with acting_for(scalers.spec.namespace):
                    if (stream := scaler.watch()) is None:
                        return  # it is polled alone
                    await self._hear(stream, scalers, index)
            except Exception as error:  # noqa: BLE001 - a plug-in may raise anything, and is asked again
                names = scalers.spec.key.log_fields | {"trigger": index, "error": type(error).__name__}
                level = logging.DEBUG if failed_before else logging.WARNING
                log.log(level, "a scaler's stream of activity failed", extra=names)
                failed_before = True
            await asyncio.sleep(AGAIN)

    async def _hear(self, stream: AsyncIterator[bool], scalers: ScalerSet, index: int) -> None:
        """Until the stream ends. "Not active" says nothing: how soon a workload may stop is the polls' to find out."""
        try:
            async for active in stream:
                if active:
                    await self._pushed(scalers, index)
                    await asyncio.sleep(PAUSE)
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()  # at once, and not when it is collected
