"""All objects of one kind: what is remembered of each, what makes it due, and how long it waits after a failure.

Each engine (`engine.py`, `jobs/engine.py`) keeps its objects here and says what is to be done with one that is due.
Next in the flow: `controller/work_queue.py`.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from datetime import datetime
from functools import partial
from typing import Any, Generic, TypeVar

from keda_py.answers.tenants import acting_for
from keda_py.errors import KubeError
from keda_py.kube.informers.cache import key_of
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import Obj
from keda_py.operator.controller.holding import hold_back, show_release
from keda_py.operator.controller.retries import LAST_RETRY_SECONDS, retry_delay
from keda_py.operator.controller.state import Remembered, about
from keda_py.operator.controller.work_queue import DueQueue, Key
from keda_py.operator.controller.workers import Workers
from keda_py.operator.process.quarantine import work_on
from keda_py.operator.scaled_jobs.dependencies import JobParts
from keda_py.operator.scaled_objects.dependencies import Parts
from keda_py.operator.scaled_objects.reconcile import fingerprint_of
from keda_py.operator.scaled_objects.telling import write_time

FLUSHED_AT_ONCE = 20
EARLY_SECONDS = 0.0005
"""A timer may fire that early; a look is then due all the same."""

log = logging.getLogger(__name__)

StateT = TypeVar("StateT", bound=Remembered)


class DueObjects(Generic[StateT]):
    """The memory of one kind's objects, made of `new`, and the queue of due keys; `live` is their cache.

    `attempt` does what is due and tells seconds until the next time, None for: when something changes.
    """

    def __init__(
        self,
        parts: Parts | JobParts,
        live: Informer,
        new: type[StateT],
        attempt: Callable[[StateT], Coroutine[Any, Any, float | None]],
        reconcilers: int,
    ) -> None:
        self._parts, self._live, self._new, self._attempt = parts, live, new, attempt
        self.workers = Workers(parts.instruments.process, new.kind.lower(), reconcilers)
        self.states: dict[Key, StateT] = {}
        self.queue = DueQueue(parts.clock, self._work)

    def begin(self) -> None:
        """Remember nothing of an earlier run."""
        self._parts.quarantine.begin(self._new.kind, {key_of(live) for live in self._live.objects()})
        self.states.clear()
        self.queue = DueQueue(self._parts.clock, self._work)

    def on_change(self, old: Obj | None, new: Obj | None) -> None:
        """A watch event about an object; one that changes nothing we work on makes nothing due."""
        key = key_of(new or old or {})
        state = worked_on = self.states.get(key)
        if new is not None:
            if state is None or state.uid != new["metadata"]["uid"]:
                state = self.states[key] = self._new(key=key, uid=new["metadata"]["uid"])
            state.follow(old, new)
            if state.fingerprint == fingerprint_of(new) and not new["metadata"].get("deletionTimestamp"):
                return
        if worked_on is not None:
            worked_on.interrupt()
        self.queue.add(key)

    def on_reading(self, key: Key) -> None:
        """Somebody else's question produced a reading: decide on it too."""
        state = self.states.get(key)
        if state is not None and state.spec is not None and not state.looking:
            state.next_look = 0.0
            self.queue.add(key)

    def on_clock_step(self) -> None:
        """The wall clock was set: every schedule is looked at again now."""
        for state in self.states.values():
            state.next_look = 0.0
            self.queue.add(state.key)

    def on_parameters(self, key: Key, trigger_index: int) -> None:
        """Something that a trigger was resolved from has changed: renew its scaler, or try again to build it."""
        state = self.states.get(key)
        if state is None:
            return
        # While a build is under way both are needed: it may have read what was there before.
        state.stale.add(trigger_index)
        if self._parts.readings.built(key) is None:
            state.fingerprint = None
        self.queue.add(key)

    async def renew_stale(self, state: StateT) -> None:
        """Scalers with changed parameters are renewed and looked at; changed metrics need another reconcile, too."""
        stale, state.stale = state.stale, set()
        if stale and await self._parts.readings.renew(state.key, stale):
            state.next_look = 0.0
            if self._parts.readings.built(state.key) is None:
                state.fingerprint = None

    async def holds_back(self, state: StateT, live: Obj) -> bool:
        """Whether nothing may be done with an object, because a process died of it; that is told. Raises KubeError."""
        held = self._parts.quarantine.find(work_on(state.kind, live), live)
        if held is None or held.trying:
            return False
        await hold_back(self._parts, state, live, held)
        return True

    async def show_release(self, state: StateT) -> None:
        """It was worked on; if it had been held back, its status does not say so any longer. Raises KubeError."""
        await show_release(self._parts, state)

    def begins_look(self, state: StateT) -> bool:
        """Whether a look is due; it is taken to begin now. One that was asked for in between cannot be late."""
        now = self._parts.clock.monotonic()
        if state.spec is None or now < state.next_look - EARLY_SECONDS:
            return False
        if state.next_look:
            self._parts.instruments.record_lateness(state.key, now - state.next_look, state.kind)
        return True

    def next_delay(self, state: StateT) -> float | None:
        """Seconds until the next look or trial, None where no scale loop runs."""
        if (due := self._parts.quarantine.due((state.kind, *state.key))) is not None:
            return max(due - self._parts.clock.monotonic(), 0.0)
        return max(state.next_look - self._parts.clock.monotonic(), 0.0) if state.spec is not None else None

    def back_off(self, state: StateT, longest: float = LAST_RETRY_SECONDS) -> float:
        """Longer with each failure in a row, but a running loop never waits longer than its polling interval."""
        if state.spec is not None:
            longest = min(longest, state.spec.polling_interval.total_seconds())
        delay = retry_delay(state.attempts, longest)
        state.attempts += 1
        self.workers.note_retry()
        return delay

    async def write_activity(self, times: Iterable[tuple[StateT, datetime]]) -> None:
        """Put `lastActiveTime` on the wire, before writing stops; what fails is logged."""
        at_once = asyncio.Semaphore(FLUSHED_AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            for state, last in times:
                tasks.create_task(self._write_activity(state, last, at_once))

    async def forget(self, state: StateT) -> None:
        """The object is gone: nothing of it stays."""
        state.stop()
        self._parts.quarantine.forget((state.kind, *state.key))
        self.queue.discard(state.key)
        await self._parts.readings.forget(state.key)
        self._parts.instruments.forget(state.key, state.kind)
        self._parts.record.forget((state.kind, *state.key))
        self._parts.resolver.forget(state.key)
        self.states.pop(state.key, None)

    async def _work(self, key: Key) -> None:
        state, live = self.states.get(key), self._live.get(*key)
        if state is None:
            return
        state.begin()
        with acting_for(key[0]):
            if live is None:
                delay = await self._attempt(state)
            else:
                work = work_on(state.kind, live)
                delay = await self._parts.quarantine.run(work, live, partial(self._attempt, state))
        if delay is not None:
            self.queue.add(key, delay)

    async def _write_activity(self, state: StateT, last: datetime, at_once: asyncio.Semaphore) -> None:
        async with at_once:
            try:
                await self._parts.status.write(state, {"lastActiveTime": write_time(last)})
            except KubeError as error:
                log.warning("last activity was not written", extra=about(state) | {"error": str(error)})
