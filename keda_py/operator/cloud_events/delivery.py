"""Delivery of one source's events to its sink: bounded, with retries, and independent of other sources.

A slow or absent sink delays only its own events. LANES events are under way at once, never two about the same object,
which keeps their order. An event is tried again, at growing intervals, until the sink accepts it; after ATTEMPTS
failures of one event the source counts as failing, and one success ends that. Only two kinds of events are lost: those
that the sink refuses ATTEMPTS times (it would refuse them for ever), and the oldest of a full queue. An event is sent
at least once: a repeat has the id of the first.
"""

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from zlib import crc32

from keda_py.answers.work_context import working
from keda_py.clock import Clock
from keda_py.core.cloud_events import CloudEvent
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.cloud_events.ordered_queue import OrderedQueue
from keda_py.operator.cloud_events.sinks import Sink, SinkError
from keda_py.telemetry.cloud_event_metrics import CloudEventMetrics

ATTEMPTS = 5
"""Failures of one event after which its source counts as failing, as in KEDA."""
FIRST_PAUSE_SECONDS = 0.5
LAST_PAUSE_SECONDS = 30.0
QUEUE_LIMIT = 10_000
LANES = 8
"""Requests under way at once. Events about one object share a lane, which keeps their order."""

log = logging.getLogger(__name__)


class Delivery:
    """Events of one source. `failure` says why it fails, "" while it works; `on_change` is called when that changes."""

    def __init__(self, key: ObjectKey, clock: Clock, metrics: CloudEventMetrics, on_change: Callable[[], None]) -> None:
        self._key, self._metrics, self._on_change = key, metrics, on_change
        self._lanes = tuple(OrderedQueue(clock, self._attempt) for _ in range(LANES))
        self._numbers = count()
        self._sink: Sink | None = None
        self._overflows = False
        self.failure = ""

    def __len__(self) -> int:
        """Number of events that the sink has not accepted yet."""
        return sum(map(len, self._lanes))

    def put(self, event: CloudEvent) -> None:
        """Queue an event; never waits. A full queue drops its oldest event."""
        if len(self) >= QUEUE_LIMIT:
            self._drop_oldest()
        about = f"{event.kind}/{event.namespace}/{event.name}"
        # One lane for an object: of two requests that are under way at once, the second could overtake the first.
        self._lanes[crc32(about.encode()) % LANES].put(next(self._numbers), event)
        self._metrics.record_queued(self._key, len(self))

    def connect(self, sink: Sink | None) -> None:
        """Use another destination for all queued events, with no failures counted. None: events wait for one."""
        self._sink, self.failure = sink, ""
        for lane in self._lanes:
            lane.hurry()

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for lane in self._lanes:
                tasks.create_task(lane.run())

    async def drain(self) -> None:
        """Try each remaining event once, until one fails; call it when `run` has ended."""
        async with asyncio.TaskGroup() as tasks:
            for lane in self._lanes:
                tasks.create_task(lane.drain())

    def close(self) -> None:
        """Drop the metrics of a deleted source; call it when `run` has been cancelled."""
        if len(self):
            log.warning("cloudevents of a source that is gone were not sent", extra=self._about())
        self._metrics.forget(self._key)

    async def _attempt(self, event: CloudEvent, failures: int) -> float | None:
        sink = self._sink
        if sink is None:
            return LAST_PAUSE_SECONDS
        try:
            with working(self._key.namespace):
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
        """Return the seconds to wait before the next attempt; None for an event that is given up."""
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
