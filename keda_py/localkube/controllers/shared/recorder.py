"""Events of the embedded controllers: repeated ones are counted on one object, and all expire after an hour.

`kubectl describe` and `kubectl events` show them. Expiry covers Events of all writers, like the real API server's time
to live.
"""

from collections import deque
from dataclasses import dataclass
from typing import Literal

from keda_py.clock import Clock, Timer
from keda_py.localkube.store.lifecycle import timestamp
from keda_py.localkube.store.store import Store
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj

EVENTS = ("", "events")
TIME_TO_LIVE = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EventText:
    """The content of an Event; `source` is the controller's name in a real cluster."""

    reason: str
    message: str
    source: str
    type: Literal["Normal", "Warning"] = "Normal"


class EventRecorder:
    """Writes Events, and deletes those older than an hour."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._resource = store.resources.get("v1", "Event")
        self._namespaces = store.resources.get("v1", "Namespace")
        self._recorded: dict[tuple[str, EventText], tuple[str, str]] = {}
        self._names: dict[tuple[str, str], tuple[str, EventText]] = {}
        self._expiring: deque[tuple[float, str, str]] = deque()
        self._timer: Timer | None = None

    def record(self, about: Obj, text: EventText) -> None:
        """Write an Event, or raise the count of an equal one."""
        namespace = self._store.find(self._namespaces, "", about["metadata"].get("namespace") or "default")
        if namespace is None or "deletionTimestamp" in namespace["metadata"]:
            return  # a terminating namespace accepts no Events
        key = (about["metadata"]["uid"], text)
        known = self._recorded.get(key)
        event = self._store.find(self._resource, *known) if known is not None else None
        if event is not None:
            again = {**event, "count": event["count"] + 1, "lastTimestamp": self._now()}
            self._store.update(self._resource, again)
            return
        written = self._store.create(self._resource, self._event(about, text))
        name = (written["metadata"]["namespace"], written["metadata"]["name"])
        self._recorded[key], self._names[name] = name, key

    def on_event(self, event: Event) -> None:
        """Schedule the expiry of new Events, and drop deleted ones."""
        if event.resource.key != EVENTS:
            return
        if event.type == DELETED:
            key = self._names.pop((event.namespace, event.name), None)
            if key is not None:
                self._recorded.pop(key, None)
        elif event.previous is None:
            self._expiring.append((self._clock.monotonic() + TIME_TO_LIVE, event.namespace, event.name))
            if self._timer is None:
                self._timer = self._clock.call_later(TIME_TO_LIVE, self._expire)

    def close(self) -> None:
        """Cancel the expiry."""
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
        now = self._clock.monotonic()
        while self._expiring and self._expiring[0][0] <= now:
            _, namespace, name = self._expiring.popleft()
            if self._store.find(self._resource, namespace, name) is not None:
                self._store.delete(self._resource, namespace, name)
        wait = self._expiring[0][0] - now if self._expiring else None
        # Events of a minute expire together: a timer for each would cost more than a late expiry.
        self._timer = None if wait is None else self._clock.call_later(wait + 60.0, self._expire)

    def _event(self, about: Obj, text: EventText) -> Obj:
        metadata, now = about["metadata"], self._now()
        namespace = metadata.get("namespace") or "default"
        # Virtual time gives many Events one instant: the store's revision tells their names apart.
        unique = f"{metadata['name']}.{int(self._clock.now().timestamp() * 1e6):x}{self._store.revision:x}"
        involved = {"kind": about["kind"], "name": metadata["name"], "uid": metadata["uid"]}
        place = {
            "namespace": namespace,
            "apiVersion": about["apiVersion"],
            "resourceVersion": metadata["resourceVersion"],
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": unique, "namespace": namespace},
            "involvedObject": {**involved, **place},
            "reason": text.reason,
            "message": text.message,
            "source": {"component": text.source},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": text.type,
            "eventTime": None,
            "reportingComponent": text.source,
            "reportingInstance": "",
        }

    def _now(self) -> str:
        return timestamp(self._clock.now())
