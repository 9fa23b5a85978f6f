"""One look at one ScaledJob: read its triggers, count its Jobs, create what is missing, write down what came of it.

The counterpart of `operator/scaled_objects/look.py`; it reads caches and scalers, never the API server, and writes only
where something changed. `core/jobs/decision.py` decides, `report.py` makes of the look what people see. Behaviour
reference, sections 10.5 and 10.6.
"""

import logging

import re2

from keda_py.core.jobs.decision import JobObservation, JobOutcome, decide_jobs
from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.errors import KubeError
from keda_py.operator.controller.after_look import note_decision, record_events, schedule_next
from keda_py.operator.controller.state import about
from keda_py.operator.decisions.record import Entry
from keda_py.operator.scaled_jobs.cleanup import trim_history
from keda_py.operator.scaled_jobs.dependencies import ScaledJobDependencies
from keda_py.operator.scaled_jobs.job_tracker import JobTracker
from keda_py.operator.scaled_jobs.report import JobLook, entry_of, events_of, status_of
from keda_py.operator.scaled_jobs.state import ScaledJobState

log = logging.getLogger(__name__)


class JobScaleLoop:
    """Looks at ScaledJobs whose reconcile has started a loop (`state.spec` is set)."""

    def __init__(self, parts: ScaledJobDependencies, tracker: JobTracker) -> None:
        self._parts, self._tracker = parts, tracker
        self._shared = parts.shared

    async def look(self, state: ScaledJobState) -> None:
        """One round. Raises KubeError when Jobs could not be counted or the status not be written."""
        spec = state.spec
        if spec is None:
            return
        state.due.looking = True
        try:
            seen = await self._observe(state, spec)
            if seen is None:
                return
            look = await self._act(state, spec, seen)
            self._note(state, entry_of(look))
            record_events(self._shared, state, self._parts.caches.scaled_jobs, events_of(look))
            state.failures, state.last_active = look.errors, look.decision.last_active
            self._shared.readings.note_idle(state.key, idle=not look.is_active)
            await self._shared.status.write(state, status_of(look))
            schedule_next(self._shared, state, seen.round, look.decision.look_again_at)
        finally:
            state.due.looking = False

    async def _observe(self, state: ScaledJobState, spec: JobScalingSpec) -> JobObservation | None:
        """Read the triggers and count the Jobs; None if the object was changed meanwhile."""
        seen = await self._shared.status.meanwhile(
            state, self._shared.readings.poll(state.key, state.changed, ahead=state.due.take_answers())
        )
        if seen is None:
            return None
        await self._tracker.settle(state)
        if state.spec is not spec:
            return None
        return JobObservation(
            round=seen,
            tally=self._tracker.tally(state, spec),
            known=self._parts.caches.in_contact(),
            last_active=state.last_active,
        )

    async def _act(self, state: ScaledJobState, spec: JobScalingSpec, seen: JobObservation) -> JobLook:
        """Decide, create what is missing and delete what is past; a refusal is an outcome."""
        now = self._shared.clock.now()
        decision = decide_jobs(spec, seen, now)
        tried = await self._tracker.create(state, spec, decision.create)
        if seen.known:
            await trim_history(self._tracker, state, spec)
        refusals = tuple(_told(error, spec.name) for error in tried if error is not None)
        return JobLook(
            spec=spec,
            at=now,
            seen=seen,
            decision=decision,
            outcome=JobOutcome(created=len(tried) - len(refusals), refusals=refusals),
            metric_names=state.metrics.external_names if state.metrics else (),
            status=state.status,
            known_failures=state.failures,
        )

    def _note(self, state: ScaledJobState, entry: Entry) -> None:
        """Count and record it, and log what was done; a reason why Jobs are not created is logged once."""
        before = self._shared.record.last(state.key)
        self._shared.instruments.process.record_decision(entry.reason.value)
        note_decision(self._shared, state, entry)
        if entry.jobs is not None and entry.jobs.created:
            log.info("created jobs", extra=about(state) | {"jobs": entry.jobs.created})
        if entry.error and (before is None or before.error != entry.error):
            log.warning("jobs were not created", extra=about(state) | {"error": entry.error})


def _told(error: KubeError, name: str) -> str:
    """Write a refusal without the name that the API server has made up for the Job, which is another one at each try.

    With it each poll would record one more Event and log one more line.
    """
    prefix = f"{name}-"[:_LONGEST_PREFIX]
    told: str = re2.sub(f'"{re2.escape(prefix)}[a-z0-9]{{5}}"', f'"{prefix}"', str(error))
    return told


_LONGEST_PREFIX = 58
"""Characters of a generateName that an API server keeps."""
