"""Kubernetes Events (events.k8s.io/v1), for `kubectl describe` and `kubectl events`.

`record` never waits and never fails; `run` writes. A repeat within six minutes becomes a count on the first Event
(`series`), as client-go does. client-go's key of a series has the object's resourceVersion and no note. Ours has the
note and no resourceVersion, which changes with nearly every status write: a new note is a new Event, and the same note
is a repeat.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import uuid4

import orjson

from keda_py.apis.squeezed import compact_json
from keda_py.errors import AlreadyExists, KubeError, NotFound, TooManyRequests, Unauthorized, Unavailable
from keda_py.kube.backoff import Backoff
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import EVENTS, Obj, ObjectPath

log = logging.getLogger(__name__)

EventType = Literal["Normal", "Warning"]

CONTROLLER = "keda-operator"
NOTE_BYTES = 1024
# The API server's bounds: on a note, and on an action, a reason and the name of a reporting instance.
WORD_CHARACTERS = 128
# A name has at most 253 characters: these, a dot, and 16 random hexadecimal digits.
NAME_CHARACTERS = 236
SERIES_SECONDS = 360.0
SERIES_WRITE_SECONDS = 10.0
QUEUE_LIMIT = 10_000
FAILED, FAILURES_LIMIT = 500, 12  # a status code, and how often one Event may get it
REMEMBERED = 4096
# A token bucket per object: this many Events at once, as in client-go, then one every REFILL_SECONDS (300 s there).
BURST = 25
REFILL_SECONDS = 10.0

_Key = tuple[str, str, str, str, str]
Notify = Callable[[Obj, str, str], None]
"""Called with the object, the reason and the note."""


@dataclass(slots=True, kw_only=True)
class _Series:
    """One Event and its repeats; `written` is the count that the API server has, 0 before the first write.

    `body` is JSON because up to REMEMBERED of them are kept, and a dict takes four times the memory.
    """

    body: bytes
    count: int = 1
    written: int = 0
    queued: bool = True
    last_seen: float
    last_seen_wire: str
    last_write: float = float("-inf")
    failures: int = 0


@dataclass(slots=True, kw_only=True)
class _Allowance:
    """Token bucket that bounds the Events of one object."""

    tokens: float
    at: float

    def take(self, now: float) -> bool:
        self.tokens = min(self.tokens + (now - self.at) / REFILL_SECONDS, BURST)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class EventRecorder:
    """Events of one controller. `dropped` counts Events that were never written: too many, refused or undelivered."""

    def __init__(self, client: KubeClient, *, instance: str, controller: str = CONTROLLER) -> None:
        self._client, self._clock = client, client.clock
        self._instance, self._controller = instance, controller
        self._series: OrderedDict[_Key, _Series] = OrderedDict()
        self._allowances: OrderedDict[str, _Allowance] = OrderedDict()
        self._queue: deque[_Series] = deque()
        self._wake = asyncio.Event()
        self._gone: set[str] = set()
        self._subscribers: list[Notify] = []
        self.dropped = 0

    def subscribe(self, notify: Notify) -> None:
        """Call `notify` on the loop with every Event from now on, repeats included."""
        self._subscribers.append(notify)

    def announce(self, regarding: Obj, reason: str, note: str) -> None:
        """Call the subscribers without an Event, which a terminating namespace would refuse."""
        for notify in self._subscribers:
            notify(regarding, reason, note)

    def record(self, regarding: Obj, event_type: EventType, reason: str, note: str, action: str = "") -> None:
        """Queue an Event about an object, of which apiVersion, kind and metadata are read.

        `action` defaults to the reason. Subscribers get the action if it is given, else the note.
        """
        self.announce(regarding, reason, action or note)
        action = action or reason
        metadata = regarding["metadata"]
        about = metadata.get("uid") or f"{metadata.get('namespace', '')}/{metadata['name']}"
        key = (about, event_type, action, reason, note)
        now, seen = self._clock.monotonic(), self._clock.now()
        series = self._series.get(key)
        if series is None or now - series.last_seen > SERIES_SECONDS:
            if self._allowed(about, now):
                self._begin(key, self._body(regarding, event_type, reason, note, action))
            else:
                self._drop(key, "too many for one object")
            return
        series.count, series.last_seen, series.last_seen_wire = series.count + 1, now, _wire_time(seen)
        self._series.move_to_end(key)
        # The first repeat is written at once, so that `kubectl describe` shows that it is one; later ones are
        # collected.
        due = series.written == 1 or now - series.last_write >= SERIES_WRITE_SECONDS
        if due and not series.queued and self._allowed(about, now):
            self._enqueue(key, series)

    async def run(self) -> None:
        """Write queued Events until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(SERIES_SECONDS):
                    await self._wake.wait()
            self._wake.clear()
            self.forget_old()
            self._forget_gone()
            await self._drain()

    async def flush(self, seconds: float) -> None:
        """Write the rest of the queue and all open counts within `seconds`; call it after `run` has ended."""
        for key, series in self._series.items():
            if series.count > series.written and not series.queued:
                self._enqueue(key, series)
        try:
            async with asyncio.timeout(seconds):
                await self._drain()
        except TimeoutError:
            self.dropped += len(self._queue)
            log.warning("events left unwritten", extra={"events": len(self._queue)})

    def _begin(self, key: _Key, body: Obj) -> None:
        seen, wire = self._clock.monotonic(), body["eventTime"]
        series = _Series(body=compact_json(body), last_seen=seen, last_seen_wire=wire)
        self._series[key] = series
        self._series.move_to_end(key)
        self.forget_old()
        self._enqueue(key, series)

    def forget_old(self) -> None:
        """Forget series that no repeat can join, and the oldest above REMEMBERED; the last count of each is written.

        Full allowances are forgotten as well. `run` calls this at least every SERIES_SECONDS.
        """
        now = self._clock.monotonic()
        while self._allowances and now - next(iter(self._allowances.values())).at > BURST * REFILL_SECONDS:
            self._allowances.popitem(last=False)
        while self._series:
            key, oldest = next(iter(self._series.items()))
            if len(self._series) <= REMEMBERED and (oldest.queued or now - oldest.last_seen <= SERIES_SECONDS):
                return
            self._close_series(key)

    def _close_series(self, key: _Key) -> None:
        """Forget a series; queue its last count if the API server does not have it yet."""
        series = self._series.pop(key)
        if series.count > series.written and not series.queued:
            self._enqueue(key, series)

    def forget(self, uid: str) -> None:
        """Forget the series of a deleted object once they are written."""
        self._gone.add(uid)
        self._wake.set()

    def _forget_gone(self) -> None:
        """Close the series of all deleted objects in one pass: a deleted namespace has thousands."""
        gone, self._gone = self._gone, set()
        for key in [key for key in self._series if key[0] in gone] if gone else ():
            self._close_series(key)
        for uid in gone:
            self._allowances.pop(uid, None)

    def _enqueue(self, key: _Key, series: _Series) -> None:
        if len(self._queue) >= QUEUE_LIMIT:
            self._series.pop(key, None)
            self._drop(key, "the queue is full")
            return
        series.queued = True
        self._queue.append(series)
        self._wake.set()

    def _allowed(self, about: str, now: float) -> bool:
        allowance = self._allowances.setdefault(about, _Allowance(tokens=BURST, at=now))
        self._allowances.move_to_end(about)
        while len(self._allowances) > REMEMBERED:
            self._allowances.popitem(last=False)
        return allowance.take(now)

    def _drop(self, key: _Key, why: str) -> None:
        self.dropped += 1
        log.debug("event dropped", extra={"reason": key[3], "why": why})

    async def _drain(self) -> None:
        backoff = Backoff()
        while self._queue:
            try:
                await self._write(self._queue[0])
            except (Unavailable, TooManyRequests, Unauthorized) as error:
                if not self._is_hopeless(self._queue[0], error):
                    await asyncio.sleep(backoff.next())
                    continue
                self._refuse(error)
            except KubeError as error:  # mostly a terminating namespace; another attempt would be refused too
                self._refuse(error)
            backoff.reset()
            self._queue.popleft().queued = False

    def _is_hopeless(self, series: _Series, error: KubeError) -> bool:
        """Return whether to drop an Event that could not be written; if not, it is tried again.

        While the server is away, every Event waits. A 500 is often an admission webhook that fails for some kinds or
        namespaces only, so such an Event goes to the end of the queue and is dropped after FAILURES_LIMIT attempts.
        """
        if error.status != FAILED:
            return False
        series.failures += 1
        if series.failures >= FAILURES_LIMIT:
            return True
        self._queue.rotate(-1)
        return False

    def _refuse(self, error: KubeError) -> None:
        self.dropped += 1
        # Counts as written, so that the next repeat does not try the refused Event again at once.
        self._queue[0].written = self._queue[0].count
        log.debug("event refused", extra={"error": str(error)})

    async def _write(self, series: _Series) -> None:
        count, body = series.count, orjson.loads(series.body)
        if series.written:
            try:
                await self._client.patch(_path(body), {"series": _wire_series(series)})
            except NotFound:  # the API server deletes Events after an hour
                # The Event has expired: begin a new one, whose count starts again.
                body["metadata"]["name"] = _unique_name(body["regarding"]["name"])
                series.body, series.written = compact_json(body), 0
        if not series.written:
            with suppress(AlreadyExists):  # an earlier attempt arrived though its answer did not
                await self._client.create(EVENTS, body)
            count = 1
        series.written, series.last_write = count, self._clock.monotonic()

    def _body(self, regarding: Obj, event_type: EventType, reason: str, note: str, action: str) -> Obj:
        metadata = regarding["metadata"]
        reference = {
            name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion") if metadata.get(name)
        }
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": _unique_name(metadata["name"]),
                "namespace": metadata.get("namespace") or "default",
            },
            "eventTime": _wire_time(self._clock.now()),
            "reportingController": self._controller,
            "reportingInstance": self._instance[:WORD_CHARACTERS],
            "action": action[:WORD_CHARACTERS],
            "reason": reason[:WORD_CHARACTERS],
            "regarding": {"apiVersion": regarding["apiVersion"], "kind": regarding["kind"], **reference},
            "note": note.encode()[:NOTE_BYTES].decode(errors="ignore"),
            "type": event_type,
        }


def _path(body: Obj) -> ObjectPath:
    return EVENTS.named(body["metadata"]["namespace"], body["metadata"]["name"])


def _wire_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _wire_series(series: _Series) -> Obj:
    return {"count": series.count, "lastObservedTime": series.last_seen_wire}


def _unique_name(name: str) -> str:
    return f"{name[:NAME_CHARACTERS]}.{uuid4().hex[:16]}"
