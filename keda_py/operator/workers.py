"""So many reconciles of one kind at once, and what our own metrics tell of them. Both engines reconcile in it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from keda_py.errors import KedaPyError
from keda_py.metrics.process_metrics import ProcessMetrics


class Workers:
    """The workers of one controller, as KEDA's metrics call it: "scaledobject"."""

    def __init__(self, process: ProcessMetrics, controller: str, count: int) -> None:
        self._metrics = process.reconciles.of(controller, count)
        self._free = asyncio.Semaphore(count)
        self._began: dict[int, float] = {}
        self._numbers = 0
        process.show(self._sample)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a worker, and reconcile as long as the block lasts; what it raises is counted and goes on."""
        metrics, due = self._metrics, _now()
        metrics.adds.inc()
        with metrics.depth.track_inprogress():
            await self._free.acquire()
        metrics.waited.observe(_now() - due)
        self._numbers += 1
        number, began = self._numbers, _now()
        self._began[number] = began
        try:
            with metrics.active.track_inprogress():
                yield
            metrics.succeeded.inc()
        except Exception as error:
            metrics.failed.inc()
            metrics.errors.inc()
            if not isinstance(error, KedaPyError):
                metrics.panics.inc()
            raise
        finally:
            self._free.release()
            del self._began[number]
            metrics.seconds.observe(_now() - began)
            metrics.worked.observe(_now() - began)

    def note_retry(self) -> None:
        """Work that failed is going to be tried again."""
        self._metrics.retries.inc()

    def _sample(self) -> None:
        ages = [_now() - began for began in self._began.values()]
        self._metrics.unfinished.set(sum(ages))
        self._metrics.longest.set(max(ages, default=0.0))


def _now() -> float:
    return asyncio.get_running_loop().time()
