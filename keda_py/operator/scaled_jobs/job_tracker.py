"""The Jobs of one ScaledJob as they are now: the cache, corrected by our own writes that it does not show yet.

Without the correction a poll that follows a creation too soon would create the same Jobs again. A creation that got no
answer is kept as expected until the Job is seen, or until asking for it by name says that it does not exist.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from random import choices

from keda_py.core.jobs.counts import Tally
from keda_py.core.jobs.manifest import build_job
from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import KubeError, NotFound, Unavailable
from keda_py.kube.client import KubeClient, Propagation
from keda_py.kube.resources import JOBS, Obj
from keda_py.operator.controller.state import about
from keda_py.operator.scaled_jobs.caches import JobCaches, owner_key
from keda_py.operator.scaled_jobs.state import ExpectedJob, ScaledJobState

AT_ONCE = 10
ASK_AFTER_SECONDS = 10.0
# The API server's own: without vowels and look-alikes.
LETTERS = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5

log = logging.getLogger(__name__)


class JobTracker:
    """Counts, creates and deletes Jobs."""

    def __init__(self, client: KubeClient, caches: JobCaches) -> None:
        self._client, self._caches, self._clock = client, caches, client.clock
        self._states: Mapping[ObjectKey, ScaledJobState] = {}

    def follow(self, states: Mapping[ObjectKey, ScaledJobState]) -> None:
        """Count what is being created for any of these, for bounds of a whole namespace."""
        self._states = states

    def note(self, state: ScaledJobState, job: Obj, *, gone: bool) -> None:
        """Note that a watch has shown a Job, or its end."""
        state.expected.pop(job["metadata"]["name"], None)
        if gone:
            state.removed.discard(job["metadata"]["uid"])

    def jobs(self, state: ScaledJobState) -> list[Obj]:
        """List the Jobs that the cache shows and that we have not deleted."""
        return [job for job in self._caches.jobs_of(state.key) if job["metadata"]["uid"] not in state.removed]

    def tally(self, state: ScaledJobState, spec: JobScalingSpec) -> Tally:
        """Count unfinished Jobs, and those of them that no pod works for yet; a Job that is only expected is both."""
        pending_conditions = spec.strategy.pending_conditions
        unfinished = [job for job in self.jobs(state) if not job["status"]["finished"]]
        pending = sum(1 for job in unfinished if not self._is_worked_on(job, pending_conditions))
        expected, elsewhere = len(state.expected), 0 if spec.most_jobs is None else self._elsewhere(state)
        return Tally(running=len(unfinished) + expected, pending=pending + expected, elsewhere=elsewhere)

    def _elsewhere(self, state: ScaledJobState) -> int:
        """Count the unfinished Jobs of other ScaledJobs of the namespace, and those that are being created now.

        What a look has decided counts from that moment on: two looks at once would both fill the room that is left.
        """
        namespace = state.key.namespace
        others = [one for key, one in self._states.items() if key.namespace == namespace and one is not state]
        removed = {uid for one in others for uid in one.removed}
        unfinished = sum(
            1
            for job in self._caches.jobs_in(namespace)
            if not job["status"]["finished"] and job["metadata"]["uid"] not in removed and owner_key(job) != state.key
        )
        return unfinished + sum(len(one.expected) + one.creating for one in others)

    def _is_worked_on(self, job: Obj, wanted: Sequence[str]) -> bool:
        statuses = [pod["status"] for pod in self._caches.pods_of(job)]
        if wanted:
            return any(set(wanted) <= set(status["conditions"]) for status in statuses)
        return any(status["phase"] in ("Running", "Succeeded") for status in statuses)

    async def settle(self, state: ScaledJobState) -> None:
        """Ask for Jobs that should have been seen by now. Raises KubeError, as their number is not known then."""
        now = self._clock.monotonic()
        for name, expected in list(state.expected.items()):
            if now < expected.ask_at:
                continue
            try:
                await self._client.get(JOBS.named(state.key.namespace, name))
            except NotFound:
                state.expected.pop(name, None)
            else:
                if name in state.expected:
                    state.expected[name] = ExpectedJob(generation=expected.generation, ask_at=now + ASK_AFTER_SECONDS)

    async def create(self, state: ScaledJobState, spec: JobScalingSpec, count: int) -> list[KubeError | None]:
        """Create Jobs, some at a time; return the refusal of each that was tried, None for one that was created.

        Stops when all of some are refused, because all others would be.
        """
        tried: list[KubeError | None] = []
        state.creating = count
        try:
            await self._create_all(state, spec, count, tried)
        finally:
            state.creating = 0
        return tried

    async def _create_all(
        self, state: ScaledJobState, spec: JobScalingSpec, count: int, tried: list[KubeError | None]
    ) -> None:
        for start in range(0, count, AT_ONCE):
            size = min(AT_ONCE, count - start)
            outcomes: list[KubeError | None] = []
            async with asyncio.TaskGroup() as tasks:
                for _ in range(size):
                    tasks.create_task(self._create(state, spec, outcomes))
            tried += outcomes
            if None not in outcomes:
                break

    async def _create(self, state: ScaledJobState, spec: JobScalingSpec, outcomes: list[KubeError | None]) -> None:
        suffix = "".join(choices(LETTERS, k=SUFFIX_LENGTH))
        manifest = build_job(spec, suffix)
        name = manifest["metadata"]["name"]
        now = self._clock.monotonic()
        # Before the request: the watch may show the Job before the answer arrives, and a poll meanwhile must count it
        # already.
        state.expected[name] = ExpectedJob(generation=spec.generation, ask_at=now + ASK_AFTER_SECONDS)
        state.creating -= 1
        try:
            await self._client.create(JOBS, manifest)
        except Unavailable as error:
            # It may have been created all the same: the next look asks for it.
            if name in state.expected:
                state.expected[name] = ExpectedJob(generation=spec.generation, ask_at=now)
            outcomes.append(error)
        except KubeError as error:
            state.expected.pop(name, None)
            outcomes.append(error)
        else:
            outcomes.append(None)

    async def delete(
        self, state: ScaledJobState, name: str, uid: str = "", propagation: Propagation = "Background"
    ) -> None:
        """Delete one Job; one that is gone already is no error. Raises KubeError."""
        try:
            await self._client.delete(JOBS.named(state.key.namespace, name), uid=uid, propagation=propagation)
        except NotFound:
            log.debug("job was gone already", extra=about(state) | {"job": name})
        state.expected.pop(name, None)
        shown = self._caches.jobs.get(state.key.namespace, name)
        # In the foreground a Job stays until its pods have ended, and counts until then.
        if shown is not None and propagation == "Background":
            # By uid: a new Job may get the name, and must count.
            state.removed.add(shown["metadata"]["uid"])
