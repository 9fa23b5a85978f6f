"""Turns what happens into work: watch events, readings and timers make keys due; a due key is reconciled and looked at.

One memory (`ObjectState`) a ScaledObject. The one place where a look or a reconcile that fails is caught, so that one
bad object hurts nobody.
"""

import asyncio
import logging
from contextlib import ExitStack
from typing import Any

from keda_py.core.conditions import hpa_active
from keda_py.errors import ConfigError, Forbidden, Invalid, KubeError
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.deletion import finalize
from keda_py.operator.parts import Parts, tell
from keda_py.operator.queue import DueQueue, Key
from keda_py.operator.reconcile import Reconciler, StepError, fingerprint_of
from keda_py.operator.scale_loop import ScaleLoop
from keda_py.operator.state import ObjectState, about, went_back
from keda_py.operator.targets import TargetError
from keda_py.operator.telling import write_time
from keda_py.operator.trouble import log_recovery, log_trouble
from keda_py.operator.workers import Workers

FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 60.0
FLUSHED_AT_ONCE = 20

log = logging.getLogger(__name__)


class Engine:
    """Owns the memory of all objects and the queue of due keys."""

    def __init__(self, parts: Parts, reconcilers: int) -> None:
        self._parts = parts
        self._workers = Workers(parts.instruments.process, "scaledobject", reconcilers)
        self._reconciler = Reconciler(parts)
        self._loop = ScaleLoop(parts)
        self.states: dict[Key, ObjectState] = {}
        self.queue = DueQueue(parts.clock, self._work)

    async def run(self) -> None:
        """Work until cancelled; the caches must have synced. Of an earlier run nothing is remembered."""
        self.states.clear()
        self._parts.readings.recount()
        self.queue = DueQueue(self._parts.clock, self._work)
        caches = self._parts.caches
        with ExitStack() as subscriptions:
            subscriptions.callback(caches.scaled_objects.subscribe(self._on_scaled_object))
            subscriptions.callback(caches.hpas.subscribe(self._on_hpa))
            for informer in caches.workloads.values():
                subscriptions.callback(informer.subscribe(self._on_workload))
            await self.queue.run()

    def on_reading(self, key: Key) -> None:
        """Somebody's question produced a reading: decide on it too."""
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

    async def flush(self) -> None:
        """Before writing stops: put `lastActiveTime` of active objects on the wire."""
        at_once = asyncio.Semaphore(FLUSHED_AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            for state in self.states.values():
                activity = state.activity
                if state.spec is not None and activity is not None and activity.active and activity.last is not None:
                    tasks.create_task(self._write_activity(state, at_once))

    async def _write_activity(self, state: ObjectState, at_once: asyncio.Semaphore) -> None:
        async with at_once:
            try:
                await self._parts.status.write(state, {"lastActiveTime": write_time(self._parts.clock.now())})
            except KubeError as error:
                log.warning("last activity was not written", extra=about(state) | {"error": str(error)})

    def _on_scaled_object(self, old: Obj | None, new: Obj | None) -> None:
        live = new or old or {}
        key = _key(live)
        if new is not None:
            state = self.states.get(key)
            if state is None or state.uid != new["metadata"]["uid"]:
                state = self.states[key] = ObjectState(key=key, uid=new["metadata"]["uid"])
            state.follow(old, new)
            if state.fingerprint == fingerprint_of(new) and not new["metadata"].get("deletionTimestamp"):
                return
        self.queue.add(key)

    def _on_hpa(self, old: Obj | None, new: Obj | None) -> None:
        """A hand edit or a deletion is repaired, one too many goes away; a change of ScalingActive is passed on."""
        live = new or old or {}
        # Whoever strips it of its owner has edited it by hand, too.
        owner = _owner_of(live) or _owner_of(old or live)
        state = self.states.get((live["metadata"].get("namespace", ""), owner)) if owner else None
        if state is None or (old is None and state.spec is not None):
            return
        if old is None or new is None or _written_part(old) != _written_part(new):
            state.fingerprint, state.hpa_lost = None, new is None
            self.queue.add(state.key)
        elif hpa_active(old.get("status") or {}) != hpa_active(new.get("status") or {}):
            state.hpa_changed = True
            self.queue.add(state.key)

    def _on_workload(self, old: Obj | None, new: Obj | None) -> None:
        """A target that appears may be the one that an object is waiting for."""
        if went_back(old, new):
            for state in self.states.values():
                state.written = None
        if old is not None or new is None:
            return
        for state in self.states.values():
            if state.missing == _key(new):
                self.queue.add(state.key)

    async def _work(self, key: Key) -> None:
        state = self.states.get(key)
        live = self._parts.caches.scaled_objects.get(*key)
        if state is not None:
            delay = await self._attempt(state, live)
            if delay is not None:
                self.queue.add(key, delay)

    async def _attempt(self, state: ObjectState, live: Obj | None) -> float | None:
        """Do what is due; seconds until the next time, None: when something changes."""
        try:
            await self._advance(state, live)
        except StepError as error:
            return self._after_failed_step(state, error, live or {})
        except KubeError as error:
            log_trouble(log, state, "api request failed", about(state), error)
            if live is None or live["metadata"].get("deletionTimestamp"):
                return self._back_off(state, FIRST_RETRY_SECONDS)
            if isinstance(error, Forbidden | Invalid) and not state.attempts:
                tell(self._parts, live, "Warning", "ScaledObjectUpdateFailed", str(error))
            return self._back_off(state, LAST_RETRY_SECONDS)
        except Exception as error:  # noqa: BLE001 - one bad object must not end the others; it is logged as a bug
            log_trouble(log, state, "work on scaledobject failed", about(state), error)
            return self._back_off(state, LAST_RETRY_SECONDS)
        state.attempts = 0
        log_recovery(log, state, about(state))
        return max(state.next_look - self._parts.clock.monotonic(), 0.0) if state.spec is not None else None

    async def _advance(self, state: ObjectState, live: Obj | None) -> None:
        """Forget, finalize, or reconcile and look as far as due."""
        if live is None:
            await self._forget(state)
        elif live["metadata"].get("deletionTimestamp"):
            await finalize(self._parts, state, live)
        elif state.hpa_lost and await self._parts.namespaces.is_terminating(state.key[0]):
            state.stop()
        else:
            await self._renew_stale(state)
            if state.fingerprint != fingerprint_of(live):
                async with self._workers.one():
                    await self._reconciler.reconcile(state, live)
                state.hpa_lost = False
            await self._look_if_due(state)

    async def _renew_stale(self, state: ObjectState) -> None:
        """Scalers with changed parameters are renewed and looked at; changed metrics need another HPA, too."""
        stale, state.stale = state.stale, set()
        if stale and await self._parts.readings.renew(state.key, stale):
            state.next_look = 0.0
            if self._parts.readings.built(state.key) is None:
                state.fingerprint = None

    async def _look_if_due(self, state: ObjectState) -> None:
        # A timer may fire a hair early; a look is then due all the same.
        if state.spec is not None and self._parts.clock.monotonic() >= state.next_look - 0.0005:
            self._parts.note_lateness(state)
            await self._loop.look(state)
        elif state.hpa_changed:
            await self._loop.refresh_hpa_condition(state)
        state.hpa_changed = False

    def _after_failed_step(self, state: ObjectState, error: StepError, live: Obj) -> float | None:
        """A ConfigError waits for its object to change; a missing target is looked for again; the rest is retried."""
        state.missing = None
        self._parts.instruments.record_error(state.key)
        if isinstance(error.cause, ConfigError):
            state.fingerprint = fingerprint_of(live)
            return None
        if isinstance(error.cause, TargetError):
            name = live["spec"]["scaleTargetRef"]["name"]
            state.missing = (state.key[0], name)
        return self._back_off(state, LAST_RETRY_SECONDS)

    def _back_off(self, state: ObjectState, longest: float) -> float:
        """Longer with each failure in a row, but a running loop never waits longer than its polling interval."""
        if state.spec is not None:
            longest = min(longest, state.spec.polling_interval.total_seconds())
        delay = min(FIRST_RETRY_SECONDS * 2.0**state.attempts, longest)
        state.attempts = min(state.attempts + 1, 10)
        self._workers.note_retry()
        return delay

    async def _forget(self, state: ObjectState) -> None:
        state.stop()
        self.queue.discard(state.key)
        self._parts.targets.forget(state)
        await self._parts.readings.forget(state.key)
        self._parts.instruments.forget(state.key)
        self._parts.record.forget((SCALED_OBJECTS.kind, *state.key))
        self._parts.resolver.forget(state.key)
        self.states.pop(state.key, None)


def _key(live: Obj) -> Key:
    meta = live["metadata"]
    return (meta.get("namespace", ""), meta["name"])


def _owner_of(hpa: Obj) -> str:
    for owner in hpa["metadata"].get("ownerReferences") or ():
        if owner.get("kind") == "ScaledObject":
            return str(owner["name"])
    return ""


def _written_part(hpa: Obj) -> tuple[Any, ...]:
    """What a hand edit would change."""
    meta = hpa["metadata"]
    return (hpa.get("spec"), meta.get("labels"), meta.get("annotations"), meta.get("ownerReferences"))
