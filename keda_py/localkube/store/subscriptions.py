"""Watches of the store: the events of one watcher, and its hold on virtual time.

An event that a watcher has not taken yet is work in flight: the subscription holds the clock from the first undelivered
event until the watcher asks for the next. Next in the flow: `apiserver/watches.py`, which writes events to sockets.
"""

import asyncio
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, replace

from keda_py.clock import Clock
from keda_py.localkube.model.selectors import Selector
from keda_py.schema.resources import Obj, Resource

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
# Undelivered events after which a watcher is closed; it resumes from its last version, or lists again.
BACKLOG = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A write: `object` is the new state (the last one for DELETED), `previous` the state before, None if new."""

    type: str
    resource: Resource
    object: Obj
    previous: Obj | None
    revision: int

    @property
    def shown(self) -> Obj:
        """The state that a watcher is sent: for an object that left its selection, the last selected state.

        A client resumes from the newest version that it has seen, so the old state gets the new version.
        """
        if self.type != DELETED or self.previous is None or "deletionTimestamp" in self.object["metadata"]:
            return self.object
        version = self.object["metadata"]["resourceVersion"]
        return {**self.previous, "metadata": {**self.previous["metadata"], "resourceVersion": version}}

    @property
    def namespace(self) -> str:
        """The object's namespace; "" at cluster scope."""
        namespace: str = self.object["metadata"].get("namespace", "")
        return namespace

    @property
    def name(self) -> str:
        name: str = self.object["metadata"]["name"]
        return name


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchFilter:
    """A watcher's selection: events after version `since`, in one namespace or all, of the selected objects."""

    namespace: str
    labels: Selector | None
    fields: Selector | None
    since: int

    def view(self, event: Event) -> Event | None:
        """The event for this watcher or None: an object that enters the selection is ADDED, one that leaves DELETED."""
        if event.revision <= self.since or (self.namespace and event.namespace != self.namespace):
            return None
        if self.labels is None and self.fields is None:
            return event
        before = event.previous is not None and self._selects(event.previous)
        after = event.type != DELETED and self._selects(event.object)
        if not before and not after:
            return None
        type_ = MODIFIED if before and after else ADDED if after else DELETED
        return event if event.type == type_ else replace(event, type=type_)

    def _selects(self, obj: Obj) -> bool:
        return all(selector is None or selector.matches(obj) for selector in (self.labels, self.fields))


class Subscription:
    """The events of one watcher; iteration ends when it is closed, or too far behind."""

    def __init__(self, clock: Clock, watch_filter: WatchFilter, subscriptions: set["Subscription"]) -> None:
        self._clock, self._filter, self._subscriptions = clock, watch_filter, subscriptions
        self._pending: deque[Event] = deque()
        self._arrived = asyncio.Event()
        self._hold = ExitStack()
        self._holding = self._closed = False
        subscriptions.add(self)

    def offer(self, event: Event) -> None:
        """Queue an event if the watcher selects it."""
        seen = self._filter.view(event)
        if seen is None or self._closed:
            return
        # A watcher that never reads would hold the clock for ever, and the memory of all events since.
        if len(self._pending) >= BACKLOG:
            self.close()
            return
        if not self._holding:
            self._hold.enter_context(self._clock.busy())
            self._holding = True
        self._pending.append(seen)
        self._arrived.set()

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Event:
        """The next event; asking for it means that the one before has been handled."""
        await self._wait()
        if not self._pending:
            raise StopAsyncIteration
        return self._pending.popleft()

    async def take(self) -> list[Event]:
        """Take all queued events, at least one; an empty list means that the subscription has ended."""
        await self._wait()
        events = list(self._pending)
        self._pending.clear()
        return events

    async def _wait(self) -> None:
        # Only a watcher that asks again has handled its last event: until then virtual time must not move.
        while not self._pending:
            self._release()
            if self._closed:
                return
            self._arrived.clear()
            await self._arrived.wait()

    @property
    def is_behind(self) -> bool:
        """Whether events are queued."""
        return bool(self._pending)

    def close(self) -> None:
        """Stop; queued events can still be taken."""
        self._closed = True
        self._subscriptions.discard(self)
        self._arrived.set()

    async def aclose(self) -> None:
        """Stop, drop queued events and release the clock."""
        self.close()
        self._pending.clear()
        self._release()

    def _release(self) -> None:
        if self._holding:
            self._holding = False
            self._hold.close()
