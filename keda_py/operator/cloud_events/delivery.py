"""The events of one source on their way to its sink: one bounded queue, one at a time, in the order of what happened.

A sink that is slow, or away, keeps its own events waiting and nobody else's. An event is tried again, later each time,
until the sink has it; after ATTEMPTS failures in a row the source counts as failing, and one answer ends that. Lost are
only events that the sink refuses ATTEMPTS times (it would refuse them for ever), and the oldest of a full queue.
Sent at least once: a repeat has the id of the first.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from keda_py.clock import Clock
from keda_py.core.cloud_events import CloudEvent
from keda_py.metrics.cloud_event_metrics import CloudEventMetrics, SourceKey
from keda_py.operator.cloud_events.sinks import Sink, SinkError

ATTEMPTS = 5
"""As in KEDA."""
FIRST_PAUSE_SECONDS = 0.5
LAST_PAUSE_SECONDS = 30.0
QUEUE_LIMIT = 10_000

log = logging.getLogger(__name__)


class Delivery:
    """Events for one source; `on_change` is called when it begins or ceases to fail. `failure` says why, "" while not.

    `sink` None: the destination cannot be used; events wait for one that can.
    """

    def __init__(self, key: SourceKey, clock: Clock, metrics: CloudEventMetrics, on_change: Callable[[], None]) -> None:
        self._key, self._clock, self._metrics, self._on_change = key, clock, metrics, on_change
        self._waiting: deque[CloudEvent] = deque()
        self._in_hand: CloudEvent | None = None
        self._sink: Sink | None = None
        self._filled, self._due = asyncio.Event(), asyncio.Event()
        self._attempts = 0
        self._overflows = False
        self.failure = ""

    def __len__(self) -> int:
        """Events that the sink does not have yet."""
        return len(self._waiting) + (self._in_hand is not None)

    def put(self, event: CloudEvent) -> None:
        """Queue an event; never waits. The oldest gives way in a full queue."""
        if len(self._waiting) >= QUEUE_LIMIT:
            self._count(self._waiting.popleft(), "failed")
            if not self._overflows:
                log.error("cloudevents are lost, the queue is full", extra=self._about() | {"limit": QUEUE_LIMIT})
            self._overflows = True
        self._waiting.append(event)
        self._note()

    def connect(self, sink: Sink | None) -> None:
        """Another destination: what waits goes there, after an attempt under way, and nothing is held against it."""
        self._sink, self._attempts, self.failure = sink, 0, ""
        self._filled.set()
        self._due.set()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._sink is not None and self._take():
                self._due.clear()
                if not await self._attempt(self._sink):
                    await self._pause()

    async def drain(self) -> None:
        """Send what is left, in one attempt each, until one fails; to be called when `run` has ended."""
        while self._sink is not None and self._take():
            if not await self._attempt(self._sink):
                break

    def close(self) -> None:
        """The source is gone, and with it its events and series."""
        if len(self):
            log.warning("cloudevents of a source that is gone were not sent", extra=self._about())
        self._waiting.clear()
        self._in_hand = None
        self._metrics.forget(self._key)

    def _take(self) -> bool:
        if self._in_hand is None and self._waiting:
            self._in_hand = self._waiting.popleft()
        return self._in_hand is not None

    async def _attempt(self, sink: Sink) -> bool:
        """Whether the event in hand is done with."""
        event = self._in_hand
        if event is None:
            return True
        try:
            await sink.send(event)
        except SinkError as error:
            return self._fail(event, str(error), refused=error.refused)
        except Exception:
            log.exception("sending a cloudevent failed", extra=self._about())
            return self._fail(event, "internal error; the log tells more", refused=True)
        self._count(event, "emitted")
        self._succeed()
        return True

    def _succeed(self) -> None:
        self._let_go()
        self._overflows = False
        if self.failure:
            log.info("cloudevents are taken again", extra=self._about())
            self.failure = ""
            self._on_change()

    def _fail(self, event: CloudEvent, error: str, *, refused: bool) -> bool:
        self._count(event, "failed")
        self._attempts += 1
        if self._attempts < ATTEMPTS:
            log.debug("cloudevent not taken", extra=self._about() | {"error": error, "attempts": self._attempts})
            return False
        if not self.failure:
            log.warning("cloudevents are not taken", extra=self._about() | {"error": error, "dropped": refused})
            self.failure = error
            self._on_change()
        if refused:
            self._let_go()
        return refused

    def _let_go(self) -> None:
        self._in_hand, self._attempts = None, 0
        self._note()

    async def _pause(self) -> None:
        """Until it is time for another attempt, or there is another sink."""
        seconds = LAST_PAUSE_SECONDS if self.failure else FIRST_PAUSE_SECONDS * 2.0 ** (self._attempts - 1)
        timer = self._clock.call_later(seconds, self._due.set)
        try:
            await self._due.wait()
        finally:
            timer.cancel()

    def _note(self) -> None:
        self._metrics.record_queued(self._key, len(self))
        self._filled.set()

    def _count(self, event: CloudEvent, state: str) -> None:
        if self._sink is not None:
            self._metrics.record_event(self._key, event.namespace, self._sink.label, state)

    def _about(self) -> dict[str, object]:
        kind, namespace, name = self._key
        return {"kind": kind, "namespace": namespace, "source": name, "events": len(self)}
