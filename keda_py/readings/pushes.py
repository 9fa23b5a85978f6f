"""Push triggers: sources that report work themselves, so that it is read at once and not at the next poll.

In: `watch()` and `watch_specs()` of scalers that have them. Out: the trigger to read, which `readings.py` reads, and
the metrics that it has now. A replica that does not poll keeps no stream open.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

from keda_py.answers.work_context import working
from keda_py.core.metric_specs import MetricSpec
from keda_py.readings.scaler_set import ScalerSet
from keda_py.sdk.contract import Scaler
from keda_py.sdk.registry import AnyScaler

PAUSE = 1.0
"""Seconds between two readings that one source causes, on the loop's time."""
AGAIN, LONGEST_AGAIN = 1.0, 60.0
"""Seconds until a stream that ended or raised is opened again; doubled each time in a row."""

log = logging.getLogger(__name__)


_Hear: TypeAlias = "Callable[[Pushes, AnyScaler, ScalerSet, int], Awaitable[bool]]"
"""Follow one stream of a scaler; False without one. Functions, as each task would keep a bound method of its own."""


class _PushedReads:
    """Readings that one stream causes, with a pause after each; a task exists only while there is one to make."""

    __slots__ = ("_read", "_requested", "_spawn", "_task")

    def __init__(
        self,
        spawn: Callable[[Coroutine[object, None, None]], asyncio.Task[None]],
        read: Callable[[], Awaitable[None]],
    ) -> None:
        self._spawn, self._read = spawn, read
        self._requested = False
        self._task: asyncio.Task[None] | None = None

    def request(self) -> None:
        """Read now, or once more after the pause."""
        self._requested = True
        if self._task is None or self._task.done():
            self._task = self._spawn(self._run())

    def cancel(self) -> None:
        """Stop; a requested reading is not made."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while self._requested:
            self._requested = False
            await self._read()
            await asyncio.sleep(PAUSE)


class Pushes:
    """Tasks that follow streams, one for each stream of a scaler, inside of `listening`.

    `pushed` starts the read of a trigger, `restate` takes its metrics.
    """

    def __init__(
        self,
        spawn: Callable[[Coroutine[object, None, None]], asyncio.Task[None]],
        pushed: Callable[[ScalerSet, int], Awaitable[None]],
        restate: Callable[[ScalerSet, int, Sequence[MetricSpec]], None],
    ) -> None:
        self._spawn, self._pushed, self._restate = spawn, pushed, restate
        self._tasks: dict[tuple[ScalerSet, int], tuple[asyncio.Task[None], ...]] = {}
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
        if any(_has_stream(scaler) for scaler in scalers.scalers):
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
        if not self._listening or not _has_stream(scaler):
            return
        if self._followed[scalers] or not scaler.listens_at_zero_only:
            both = ((Scaler.watch, Pushes._hear), (Scaler.watch_specs, Pushes._hear_specs))
            hearers = [hear for method, hear in both if _overrides(scaler, method)]
            with working(scalers.spec.namespace):  # a task copies this context for its whole life
                listening = [self._spawn(self._listen(scaler, scalers, index, hear)) for hear in hearers]
            self._tasks[scalers, index] = tuple(listening)

    def _end(self, scalers: ScalerSet, index: int) -> None:
        for task in self._tasks.pop((scalers, index), ()):
            task.cancel()

    async def _listen(self, scaler: AnyScaler, scalers: ScalerSet, index: int, hear: _Hear) -> None:
        failed_before, pause, loop = False, AGAIN, asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                if not await hear(self, scaler, scalers, index):
                    return  # there is no such stream
            except Exception as error:  # noqa: BLE001 - a plug-in may raise anything, and is asked again
                names = scalers.spec.key.log_fields | {"trigger": index, "error": type(error).__name__}
                level = logging.DEBUG if failed_before else logging.WARNING
                log.log(level, "a scaler's stream failed", extra=names)
                failed_before = True
            # A stream that lived longer than the last pause has worked, so the next failure starts over.
            pause = AGAIN if loop.time() - began > pause else pause
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_AGAIN)

    async def _hear(self, scaler: AnyScaler, scalers: ScalerSet, index: int) -> bool:
        """Read the trigger at each "active" until the stream ends; False where the scaler is only polled.

        "Not active" is ignored: the polls decide how soon a workload may stop. What comes during the pause between two
        readings is one more reading, however often it is said: a source that repeats its state five times a second
        (KEDA's HTTP add-on) would fill the connection, and new work would wait behind minutes of old news.
        """
        if (stream := scaler.watch()) is None:
            return False
        # Made by the first news: most streams are silent, and a task with a queue beside each took 5 kB for every
        # trigger.
        reads: _PushedReads | None = None
        try:
            async for active in stream:
                if active:
                    reads = reads or _PushedReads(self._spawn, partial(self._pushed, scalers, index))
                    reads.request()
        except asyncio.CancelledError:
            if reads is not None:
                reads.cancel()
            raise
        finally:
            await _close(stream)
        return True

    async def _hear_specs(self, scaler: AnyScaler, scalers: ScalerSet, index: int) -> bool:
        """Take the newest metrics of a trigger, one a second, until the stream ends; False without such a stream."""
        if (stream := scaler.watch_specs()) is None:
            return False
        newest: deque[Sequence[MetricSpec]] = deque(maxlen=1)
        told = asyncio.Event()

        async def take() -> None:
            while True:
                await told.wait()
                told.clear()
                self._restate(scalers, index, newest.pop())
                await asyncio.sleep(PAUSE)

        # A source that tells more than one change a second would be a write of the HPA for each; those in between are
        # passed over, and not left to wait.
        try:
            async with asyncio.TaskGroup() as tasks:
                taking = tasks.create_task(take())
                async for specs in stream:
                    newest.append(specs)
                    told.set()
                taking.cancel()
        finally:
            await _close(stream)
        for specs in newest:
            self._restate(scalers, index, specs)
        return True


def _has_stream(scaler: AnyScaler) -> bool:
    return _overrides(scaler, Scaler.watch) or _overrides(scaler, Scaler.watch_specs)


def _overrides(scaler: AnyScaler, method: Callable[..., object]) -> bool:
    """Return whether the class has a method of its own, so that most scalers cost no task."""
    return getattr(type(scaler), method.__name__) is not method


async def _close(stream: AsyncIterator[object]) -> None:
    """Close a stream now, instead of at garbage collection."""
    if isinstance(stream, AsyncGenerator):
        await stream.aclose()
