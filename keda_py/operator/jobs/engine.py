"""Turns what happens to ScaledJobs into work, as `operator/engine.py` does for ScaledObjects.

Watch events, readings and timers make keys due; a due key is reconciled and looked at. The one place where what fails
is caught, so that one bad ScaledJob hurts nobody.
"""

import logging
from contextlib import ExitStack

from keda_py.errors import ConfigError, Forbidden, Invalid, KubeError, ScalerError
from keda_py.kube.cache import key_of
from keda_py.kube.resources import SCALED_JOBS, Obj
from keda_py.operator.engine import FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS
from keda_py.operator.finalizer import remove_finalizer
from keda_py.operator.jobs.caches import owner_key
from keda_py.operator.jobs.ledger import JobLedger
from keda_py.operator.jobs.parts import JobParts, about
from keda_py.operator.jobs.reconcile import JobReconciler
from keda_py.operator.jobs.scale_loop import JobScaleLoop
from keda_py.operator.jobs.state import ScaledJobState
from keda_py.operator.jobs.steps import JobStepError
from keda_py.operator.parts import WATCH_STOPPED
from keda_py.operator.queue import DueQueue, Key
from keda_py.operator.reconcile import fingerprint_of
from keda_py.operator.telling import write_time
from keda_py.operator.trouble import log_recovery, log_trouble
from keda_py.operator.workers import Workers

log = logging.getLogger(__name__)


class JobEngine:
    """Owns the memory of all ScaledJobs and the queue of due keys."""

    def __init__(self, parts: JobParts, reconcilers: int) -> None:
        self._parts = parts
        self._workers = Workers(parts.instruments.process, "scaledjob", reconcilers)
        self._ledger = JobLedger(parts.client, parts.caches)
        self._reconciler = JobReconciler(parts, self._ledger)
        self._loop = JobScaleLoop(parts, self._ledger)
        self.states: dict[Key, ScaledJobState] = {}
        self.queue = DueQueue(parts.clock, self._work)

    async def run(self) -> None:
        """Work until cancelled; the caches must have synced. Of an earlier run nothing is remembered."""
        self.states.clear()
        self.queue = DueQueue(self._parts.clock, self._work)
        with ExitStack() as subscriptions:
            subscriptions.callback(self._parts.caches.scaled_jobs.subscribe(self._on_scaled_job))
            subscriptions.callback(self._parts.caches.jobs.subscribe(self._on_job))
            await self.queue.run()

    def on_reading(self, key: Key) -> None:
        """A reading that was asked for by others on the same source: look at it too."""
        state = self.states.get(key)
        if state is not None and state.spec is not None and not state.looking:
            state.next_look = 0.0
            self.queue.add(key)

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

    def on_clock_step(self) -> None:
        """The wall clock was set: every schedule is looked at again now."""
        for state in self.states.values():
            state.next_look = 0.0
            self.queue.add(state.key)

    async def flush(self) -> None:
        """Before writing stops: put `lastActiveTime` of active ScaledJobs on the wire."""
        for state in self.states.values():
            if state.spec is None or state.last_active is None:
                continue
            try:
                await self._parts.status.write(state, {"lastActiveTime": write_time(state.last_active)})
            except KubeError as error:
                log.warning("last activity was not written", extra=about(state) | {"error": str(error)})

    def _on_scaled_job(self, old: Obj | None, new: Obj | None) -> None:
        key = key_of(new or old or {})
        if new is not None:
            state = self.states.get(key)
            if state is None or state.uid != new["metadata"]["uid"]:
                state = self.states[key] = ScaledJobState(key=key, uid=new["metadata"]["uid"])
            state.follow(old, new)
            if state.fingerprint == fingerprint_of(new) and not new["metadata"].get("deletionTimestamp"):
                return
        self.queue.add(key)

    def _on_job(self, old: Obj | None, new: Obj | None) -> None:
        job = new or old or {}
        state = self.states.get(owner_key(job))
        if state is not None:
            self._ledger.note(state, job, gone=new is None)

    async def _work(self, key: Key) -> None:
        state, live = self.states.get(key), self._parts.caches.scaled_jobs.get(*key)
        if state is None:
            return
        if live is None:
            await self._forget(state)
            return
        delay = await self._attempt(state, live)
        if delay is not None:
            self.queue.add(key, delay)

    async def _attempt(self, state: ScaledJobState, live: Obj) -> float | None:
        """Reconcile and look as far as due; seconds until the next time, None: when something changes."""
        deleting = bool(live["metadata"].get("deletionTimestamp"))
        try:
            if deleting:
                await self._finalize(state, live)
                return None
            await self._renew_stale(state)
            if state.fingerprint != fingerprint_of(live):
                async with self._workers.one():
                    await self._reconciler.reconcile(state, live)
            # A timer may fire a hair early; a look is then due all the same.
            if state.spec is not None and self._parts.clock.monotonic() >= state.next_look - 0.0005:
                self._parts.note_lateness(state)
                await self._loop.look(state)
        except JobStepError as error:
            return self._after_failed_step(state, error, live)
        except (KubeError, ScalerError) as error:
            log_trouble(log, state, "work on scaledjob was interrupted", about(state), error)
            if isinstance(error, Forbidden | Invalid) and not state.attempts and not deleting:
                self._parts.tell(live, "Warning", "ScaledJobUpdateFailed", str(error))
            return FIRST_RETRY_SECONDS if deleting else self._back_off(state)
        except Exception as error:  # noqa: BLE001 - one bad object must not end the others; it is logged as a bug
            log_trouble(log, state, "work on scaledjob failed", about(state), error)
            return self._back_off(state)
        state.attempts = 0
        log_recovery(log, state, about(state))
        return max(state.next_look - self._parts.clock.monotonic(), 0.0) if state.spec is not None else None

    async def _renew_stale(self, state: ScaledJobState) -> None:
        stale, state.stale = state.stale, set()
        if stale and await self._parts.readings.renew(state.key, stale):
            state.next_look = 0.0
            if self._parts.readings.built(state.key) is None:
                state.fingerprint = None

    def _after_failed_step(self, state: ScaledJobState, error: JobStepError, live: Obj) -> float | None:
        """A ConfigError waits for its object to change; the rest is retried."""
        if isinstance(error.cause, ConfigError):
            state.fingerprint = fingerprint_of(live)
            return None
        return self._back_off(state)

    def _back_off(self, state: ScaledJobState) -> float:
        """Longer with each failure in a row, but a running loop never waits longer than its polling interval."""
        longest = state.spec.polling_interval.total_seconds() if state.spec else LAST_RETRY_SECONDS
        delay = min(FIRST_RETRY_SECONDS * 2.0**state.attempts, longest, LAST_RETRY_SECONDS)
        state.attempts = min(state.attempts + 1, 10)
        self._workers.note_retry()
        return delay

    async def _finalize(self, state: ScaledJobState, live: Obj) -> None:
        """Stop and let go; the Jobs follow through their ownerReferences. Raises KubeError."""
        was_running = state.spec is not None
        state.stop()
        await self._parts.readings.forget(state.key)
        if await remove_finalizer(self._parts.client, SCALED_JOBS, live):
            if was_running:
                self._parts.events.record(live, *WATCH_STOPPED)
            self._parts.tell(live, "Warning", "ScaledJobDeleted", "ScaledJob was deleted")
            log.info("scaledjob deleted", extra=about(state))

    async def _forget(self, state: ScaledJobState) -> None:
        state.stop()
        self.queue.discard(state.key)
        await self._parts.readings.forget(state.key)
        self._parts.resolver.forget(state.key)
        self._parts.instruments.forget(state.key, SCALED_JOBS.kind)
        self._parts.record.forget((SCALED_JOBS.kind, *state.key))
        self.states.pop(state.key, None)
