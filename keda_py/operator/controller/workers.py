"""Workers: how many reconciles of one kind run at once, and our own metrics about them; used by the controller.

A namespace has as many places as there are workers, so that it waits for the others' few, never for all that they have
to do. A reconcile that waits for a source leaves its worker to others and keeps its place: sources that hang stop no
namespace but their own.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from keda_py.answers.fairness import TenantPlaces
from keda_py.errors import KedaPyError
from keda_py.telemetry.process_metrics import ProcessMetrics


class Workers:
    """The workers of one controller, as KEDA's metrics call it: "scaledobject"."""

    def __init__(self, process: ProcessMetrics, controller: str, count: int) -> None:
        self._metrics = process.reconciles.of(controller, count)
        self._free = asyncio.Semaphore(count)
        self._places = TenantPlaces(count)
        self._began: dict[int, float] = {}
        self._numbers = 0
        process.show(self._sample)

    @asynccontextmanager
    async def one(self, namespace: str) -> AsyncIterator[Callable[[], AbstractAsyncContextManager[None]]]:
        """Hold a worker while the block lasts, and count how it ends.

        Yields a function for waits: inside `async with` of its result the worker is free for others.
        """
        metrics, due, turn = self._metrics, _now(), _Turn(self._free)
        metrics.adds.inc()
        async with self._place(namespace, turn):
            metrics.waited.observe(_now() - due)
            self._numbers += 1
            number, began = self._numbers, _now()
            self._began[number] = began
            try:
                with metrics.active.track_inprogress():
                    yield turn.away
                metrics.succeeded.inc()
            except Exception as error:
                metrics.failed.inc()
                metrics.errors.inc()
                if not isinstance(error, KedaPyError):
                    metrics.panics.inc()
                raise
            finally:
                del self._began[number]
                metrics.seconds.observe(_now() - began)
                metrics.worked.observe(_now() - began)

    @asynccontextmanager
    async def _place(self, namespace: str, turn: "_Turn") -> AsyncIterator[None]:
        """Take a place of the namespace first, then a worker: so a crowd never holds workers that it waits in."""
        async with AsyncExitStack() as held:
            with self._metrics.depth.track_inprogress():
                await held.enter_async_context(self._places.one(namespace))
                held.callback(turn.give_back)
                await turn.take()
            yield

    def note_retry(self) -> None:
        """Count a retry of work that failed."""
        self._metrics.retries.inc()

    def _sample(self) -> None:
        ages = [_now() - began for began in self._began.values()]
        self._metrics.unfinished.set(sum(ages))
        self._metrics.longest.set(max(ages, default=0.0))


class _Turn:
    """A reconcile's worker, which it may leave for a while."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free, self._has = free, False

    async def take(self) -> None:
        await self._free.acquire()
        self._has = True

    def give_back(self) -> None:
        """Free the worker, if one was taken."""
        if self._has:
            self._has = False
            self._free.release()

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        """Leave the worker to others while the block lasts."""
        self.give_back()
        try:
            yield
        finally:
            await self.take()


def _now() -> float:
    return asyncio.get_running_loop().time()
