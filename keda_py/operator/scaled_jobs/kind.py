"""ScaledJobs, as the controller works on them: reconciled, looked at, finalized.

Next in the flow: `reconcile.py`, then `look.py`.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from keda_py.core.values.times import write_time
from keda_py.kube.resources import SCALED_JOBS, Obj
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.dependencies import WATCH_STOPPED
from keda_py.operator.controller.finalizer import end_loop, remove_finalizer
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.state import about
from keda_py.operator.scaled_jobs.caches import owner_key
from keda_py.operator.scaled_jobs.dependencies import ScaledJobDependencies
from keda_py.operator.scaled_jobs.job_tracker import JobTracker
from keda_py.operator.scaled_jobs.look import JobScaleLoop
from keda_py.operator.scaled_jobs.reconcile import JobReconciler
from keda_py.operator.scaled_jobs.state import ScaledJobState

log = logging.getLogger(__name__)


class ScaledJobs(Kind[ScaledJobState]):
    """The kind for `Controller`."""

    new = ScaledJobState

    def __init__(self, parts: ScaledJobDependencies) -> None:
        self._parts, self._shared = parts, parts.shared
        self.live = parts.caches.scaled_jobs
        self._tracker = JobTracker(parts.shared.client, parts.caches)
        self._reconciler = JobReconciler(parts, self._tracker)
        self._loop = JobScaleLoop(parts, self._tracker)
        self._catching_up, self._caught_up = asyncio.Lock(), -1

    async def take_over(self, state: ScaledJobState) -> None:
        """Wait until all Jobs that the last owner created have been seen, once for all objects that came with them."""
        epoch = state.tenure.epoch
        if epoch <= self._caught_up:
            return
        async with self._catching_up:
            # Where Jobs may not be listed, none is created either: reconcile says so, and this is tried again.
            if epoch > self._caught_up and await self._parts.caches.caught_up():
                self._caught_up = epoch

    async def reconcile(self, state: ScaledJobState, live: Obj) -> None:
        """All steps. Raises StepError and KubeError."""
        await self._reconciler.reconcile(state, live)

    async def look(self, state: ScaledJobState) -> None:
        """One look. Raises KubeError."""
        await self._loop.look(state)

    async def finalize(self, state: ScaledJobState, live: Obj) -> None:
        """Stop, and remove the finalizer; the Jobs follow through their ownerReferences. Raises KubeError."""
        was_running = await end_loop(self._shared, state)
        if await remove_finalizer(self._shared.client, SCALED_JOBS, live):
            if was_running:
                self._shared.events.record(live, *WATCH_STOPPED)
            self._shared.tell(live, "Warning", "ScaledJobDeleted", "ScaledJob was deleted")
            log.info("scaledjob deleted", extra=about(state))

    def last_words(self, state: ScaledJobState) -> Mapping[str, Any]:
        """Write the time of its last look with work."""
        return {} if state.last_active is None else {"lastActiveTime": write_time(state.last_active)}

    def watches(self, controller: Controller[ScaledJobState]) -> Iterable[Callable[[], None]]:
        """Follow their Jobs, which are counted and make nothing due."""
        self._tracker.follow(controller.states)
        yield self._parts.caches.jobs.follow(partial(self._on_job, controller))

    def _on_job(self, controller: Controller[ScaledJobState], old: Obj | None, new: Obj | None) -> None:
        job = new or old or {}
        state = controller.states.get(owner_key(job))
        if state is not None:
            self._tracker.note(state, job, gone=new is None)
