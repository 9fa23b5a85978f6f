"""The work queue of all controllers: an event makes keys due, and a due key is synced once, whatever made it due.

The loop listens to the store, asks each interested controller for the keys of the event, and calls their `sync` soon
after, outside the write that caused it. A `sync` sees the whole current state and can be repeated. The clock is held
while a key is due, so that virtual time cannot pass over unfinished work.
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Protocol

from keda_py.clock import Clock, Timer
from keda_py.localkube.store.subscriptions import Event
from keda_py.schema.status import StatusError

log = logging.getLogger(__name__)

Key = tuple[str, str]
"""Namespace ("" for cluster scope) and name."""
Storage = tuple[str, str]
"""Group and plural, as `Resource.key`."""

RETRY_SECONDS = 1.0
BATCH = 200


class Controller(Protocol):
    """A control loop: the keys that an event concerns, and the sync of one key."""

    @property
    def storages(self) -> Iterable[Storage] | None:
        """The storages whose events it gets; None means all, including kinds that are defined later."""
        ...

    def keys_of(self, event: Event) -> Iterable[Key]:
        """The keys that the event makes due."""
        ...

    def sync(self, key: Key) -> None:
        """Bring one object's world to its desired state; the object may be gone."""
        ...


class ControlLoop:
    """Syncs due keys in the order in which they became due."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._interested: dict[Storage, list[Controller]] = {}
        self._everywhere: list[Controller] = []
        self._due: dict[tuple[Controller, Key], None] = {}
        self._later: dict[tuple[Controller, Key], Timer] = {}
        self._held = ExitStack()
        self._scheduled: asyncio.Handle | None = None
        self._closed = False

    def register(self, *controllers: Controller) -> None:
        """Deliver the events of their storages to these controllers."""
        for controller in controllers:
            if controller.storages is None:
                self._everywhere.append(controller)
            for storage in controller.storages or ():
                self._interested.setdefault(storage, []).append(controller)

    def on_event(self, event: Event) -> None:
        for controller in (*self._interested.get(event.resource.key, ()), *self._everywhere):
            for key in controller.keys_of(event):
                self.add(controller, key)

    def add(self, controller: Controller, key: Key) -> None:
        """Queue a key; a queued key stays at its place."""
        if self._closed:
            return
        # A dict is an ordered set: events that come before the sync are handled by it, once.
        self._due[(controller, key)] = None
        if self._scheduled is None:
            self._held.enter_context(self._clock.busy())
            self._scheduled = asyncio.get_running_loop().call_soon(self._work)

    def add_after(self, controller: Controller, key: Key, seconds: float) -> None:
        """Queue a key in `seconds`, replacing its earlier timer."""
        item = (controller, key)
        previous = self._later.pop(item, None)
        if previous is not None:
            previous.cancel()
        if not self._closed:
            self._later[item] = self._clock.call_later(seconds, lambda: self._make_due(item))

    def close(self) -> None:
        """Drop all due keys and timers, and release the clock."""
        self._closed = True
        self._due.clear()
        for timer in self._later.values():
            timer.cancel()
        self._later.clear()
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
        self._held.close()

    def _make_due(self, item: tuple[Controller, Key]) -> None:
        self._later.pop(item, None)
        self.add(*item)

    def _work(self) -> None:
        """Sync one batch of keys, and the rest in the next turn of the loop: a burst must not keep requests waiting."""
        try:
            for _ in range(min(BATCH, len(self._due))):
                item = next(iter(self._due))
                del self._due[item]
                self._sync(*item)
        finally:
            self._scheduled = asyncio.get_running_loop().call_soon(self._work) if self._due else None
            if self._scheduled is None:
                self._held.close()

    def _sync(self, controller: Controller, key: Key) -> None:
        try:
            controller.sync(key)
        except StatusError as error:
            fields = {
                "controller": type(controller).__name__,
                "namespace": key[0],
                "object": key[1],
                "error": str(error),
            }
            log.debug("controller will try again", extra=fields)
            self.add_after(controller, key, RETRY_SECONDS)
        except Exception:  # one bad object does not affect the other keys
            log.exception("controller failed", extra={"namespace": key[0], "object": key[1]})
