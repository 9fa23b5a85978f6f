"""The events of one source on their way to its sink: bounded, patient, and in no other source's way.

A sink that is slow, or away, keeps only its own events waiting. LANES events are under way at once, never two that tell
of the same object: those keep their order. An event is tried again, later each time, until the sink has it; after
ATTEMPTS failures of one the source counts as failing, and one success ends that. Lost are only events that the sink
refuses ATTEMPTS times (it would refuse them for ever), and the oldest of a full queue. An event is sent at least once:
a repeat has the id of the first.
"""

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from zlib import crc32

from keda_py.answers.tenants import acting_for
from keda_py.clock import Clock
from keda_py.core.cloud_events import CloudEvent
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.cloud_events.ordered_queue import OrderedQueue
from keda_py.operator.cloud_events.sinks import Sink, SinkError
from keda_py.telemetry.cloud_event_metrics import CloudEventMetrics

ATTEMPTS = 5
"""As in KEDA."""
FIRST_PAUSE_SECONDS = 0.5
LAST_PAUSE_SECONDS = 30.0
QUEUE_LIMIT = 10_000
LANES = 8

log = logging.getLogger(__name__)


class Delivery:
    """Events for one source. `failure` says why it fails, "" while not; `on_change` is called when that changes."""

    def __init__(self, key: ObjectKey, clock: Clock, metrics: CloudEventMetrics, on_change: Callable[[], None]) -> None:
        self._key, self._metrics, self._on_change = key, metrics, on_change
        self._lanes = tuple(OrderedQueue(clock, self._attempt) for _ in range(LANES))
        self._numbers = count()
        self._sink: Sink | None = None
        self._overflows = False
        self.failure = ""

    def __len__(self) -> int:
        """Events that the sink does not have yet."""
        return sum(map(len, self._lanes))

    def put(self, event: CloudEvent) -> None:
        """Queue an event; never waits. The oldest gives way in a full queue."""
        if len(self) >= QUEUE_LIMIT:
            self._drop_oldest()
        about = f"{event.kind}/{event.namespace}/{event.name}"
        self._lanes[crc32(about.encode()) % LANES].put(next(self._numbers), event)
        self._metrics.record_queued(self._key, len(self))

    def connect(self, sink: Sink | None) -> None:
        """Another destination: what waits goes there, and nothing is held against it. None: events wait for one."""
        self._sink, self.failure = sink, ""
        for lane in self._lanes:
            lane.hurry()

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for lane in self._lanes:
                tasks.create_task(lane.run())

    async def drain(self) -> None:
        """One more attempt for what is left, until one fails; to be called when `run` has ended."""
        async with asyncio.TaskGroup() as tasks:
            for lane in self._lanes:
                tasks.create_task(lane.drain())

    def close(self) -> None:
        """The source is gone, and with it its series; to be called when `run` has been cancelled."""
        if len(self):
            log.warning("cloudevents of a source that is gone were not sent", extra=self._about())
        self._metrics.forget(self._key)

    async def _attempt(self, event: CloudEvent, failures: int) -> float | None:
        sink = self._sink
        if sink is None:
            return LAST_PAUSE_SECONDS
        try:
            with acting_for(self._key.namespace):
                await sink.send(event)
        except SinkError as error:
            return self._fail(event, sink, error, failures + 1)
        except Exception:
            log.exception("sending a cloudevent failed", extra=self._about())
            internal = SinkError("internal error; the log tells more", refused=True)
            return self._fail(event, sink, internal, failures + 1)
        self._metrics.record_event(self._key, event.namespace, sink.label, "emitted")
        self._succeed()
        return None

    def _succeed(self) -> None:
        self._metrics.record_queued(self._key, len(self) - 1)
        self._overflows = False
        if self.failure:
            log.info("cloudevents are taken again", extra=self._about())
            self.failure = ""
            self._on_change()

    def _fail(self, event: CloudEvent, sink: Sink, error: SinkError, attempts: int) -> float | None:
        """How long to wait before another attempt; None for an event that is given up."""
        self._metrics.record_event(self._key, event.namespace, sink.label, "failed")
        about = self._about() | {"error": str(error), "attempts": attempts}
        if attempts < ATTEMPTS:
            log.debug("cloudevent not taken", extra=about)
            return LAST_PAUSE_SECONDS if self.failure else FIRST_PAUSE_SECONDS * 2.0 ** (attempts - 1)
        if not self.failure:
            log.warning("cloudevents are not taken", extra=about | {"dropped": error.refused})
            self.failure = str(error)
            self._on_change()
        if not error.refused:
            return LAST_PAUSE_SECONDS
        self._metrics.record_queued(self._key, len(self) - 1)
        return None

    def _drop_oldest(self) -> None:
        waiting = [(lane.oldest, lane) for lane in self._lanes if lane.oldest is not None]
        event = min(waiting, key=lambda one: one[0])[1].drop_oldest()
        self._metrics.record_event(self._key, event.namespace, self._sink.label if self._sink else "", "failed")
        if not self._overflows:
            log.error("cloudevents are lost, the queue is full", extra=self._about() | {"limit": QUEUE_LIMIT})
        self._overflows = True

    def _about(self) -> dict[str, object]:
        key = self._key
        return {"kind": key.kind, "namespace": key.namespace, "source": key.name, "events": len(self)}
