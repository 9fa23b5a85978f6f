"""Turns what happens to ScaledJobs into work, as `operator/scaled_objects/controller.py` does for ScaledObjects.

Watch events, readings and timers make keys due; a due key is reconciled and looked at. The one place where what fails
is caught, so that one bad ScaledJob hurts nobody.
"""

import logging
from contextlib import ExitStack

from keda_py.errors import ConfigError, Forbidden, Invalid, KubeError, ScalerError
from keda_py.kube.resources import SCALED_JOBS, Obj
from keda_py.operator.controller.due_objects import DueObjects
from keda_py.operator.controller.finalizer import remove_finalizer
from keda_py.operator.controller.retries import FIRST_RETRY_SECONDS
from keda_py.operator.controller.state import about
from keda_py.operator.controller.troubles import log_recovery, log_trouble
from keda_py.operator.scaled_jobs.caches import owner_key
from keda_py.operator.scaled_jobs.dependencies import JobParts
from keda_py.operator.scaled_jobs.job_tracker import JobLedger
from keda_py.operator.scaled_jobs.look import JobScaleLoop
from keda_py.operator.scaled_jobs.reconcile import JobReconciler
from keda_py.operator.scaled_jobs.state import ScaledJobState
from keda_py.operator.scaled_jobs.steps import JobStepError
from keda_py.operator.scaled_objects.dependencies import WATCH_STOPPED
from keda_py.operator.scaled_objects.reconcile import fingerprint_of

log = logging.getLogger(__name__)


class JobEngine:
    """Works on the ScaledJobs that are due."""

    def __init__(self, parts: JobParts, reconcilers: int) -> None:
        self._parts = parts
        self._ledger = JobLedger(parts.client, parts.caches)
        self._reconciler = JobReconciler(parts, self._ledger)
        self._loop = JobScaleLoop(parts, self._ledger)
        self.objects = DueObjects(parts, parts.caches.scaled_jobs, ScaledJobState, self._attempt, reconcilers)

    async def run(self) -> None:
        """Work until cancelled; the caches must have synced. Of an earlier run nothing is remembered."""
        self.objects.begin()
        with ExitStack() as subscriptions:
            subscriptions.callback(self._parts.caches.scaled_jobs.subscribe(self.objects.on_change))
            subscriptions.callback(self._parts.caches.jobs.subscribe(self._on_job))
            await self.objects.queue.run()

    async def flush(self) -> None:
        """Before writing stops: put `lastActiveTime` of active ScaledJobs on the wire."""
        running = (state for state in self.objects.states.values() if state.spec is not None)
        await self.objects.write_activity((state, state.last_active) for state in running if state.last_active)

    def _on_job(self, old: Obj | None, new: Obj | None) -> None:
        job = new or old or {}
        state = self.objects.states.get(owner_key(job))
        if state is not None:
            self._ledger.note(state, job, gone=new is None)

    async def _attempt(self, state: ScaledJobState) -> float | None:
        """Reconcile and look as far as due; seconds until the next time, None: when something changes."""
        live = self._parts.caches.scaled_jobs.get(*state.key)
        if live is None:
            await self.objects.forget(state)
            return None
        deleting = bool(live["metadata"].get("deletionTimestamp"))
        try:
            if deleting:
                await self._finalize(state, live)
                return None
            if not await self.objects.holds_back(state, live):
                await self._advance(state, live)
        except JobStepError as error:
            return self._after_failed_step(state, error, live)
        except (KubeError, ScalerError) as error:
            log_trouble(log, state, "work on scaledjob was interrupted", error)
            if isinstance(error, Forbidden | Invalid) and not state.attempts and not deleting:
                self._parts.tell(live, "Warning", "ScaledJobUpdateFailed", str(error))
            return FIRST_RETRY_SECONDS if deleting else self.objects.back_off(state)
        except Exception as error:  # noqa: BLE001 - one bad object must not end the others; it is logged as a bug
            log_trouble(log, state, "work on scaledjob failed", error)
            return self.objects.back_off(state)
        state.attempts = 0
        log_recovery(log, state)
        return self.objects.next_delay(state)

    async def _advance(self, state: ScaledJobState, live: Obj) -> None:
        """Reconcile and look as far as due."""
        await self.objects.renew_stale(state)
        if state.fingerprint != fingerprint_of(live):
            async with self.objects.workers.one(state.key[0]) as state.without_worker:
                await self._reconciler.reconcile(state, live)
        if self.objects.begins_look(state):
            await self._loop.look(state)
        await self.objects.show_release(state)

    def _after_failed_step(self, state: ScaledJobState, error: JobStepError, live: Obj) -> float | None:
        """A ConfigError waits for its object to change; the rest is retried."""
        if isinstance(error.cause, ConfigError):
            state.fingerprint = fingerprint_of(live)
            return None
        return self.objects.back_off(state)

    async def _finalize(self, state: ScaledJobState, live: Obj) -> None:
        """Stop and let go; the Jobs follow through their ownerReferences. Raises KubeError."""
        was_running = state.spec is not None
        state.stop()
        await self._parts.readings.forget(state.key)
        self._parts.instruments.forget(state.key, state.kind)  # now: our watch tells later that it is gone
        if await remove_finalizer(self._parts.client, SCALED_JOBS, live):
            if was_running:
                self._parts.events.record(live, *WATCH_STOPPED)
            self._parts.tell(live, "Warning", "ScaledJobDeleted", "ScaledJob was deleted")
            log.info("scaledjob deleted", extra=about(state))
