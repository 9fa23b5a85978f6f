"""One look at one ScaledJob: read its triggers, count its Jobs, create what is missing, write down what came of it.

The counterpart of `operator/scaled_objects/look.py`; it reads caches and scalers, never the API server, and writes only
where something changed. Behaviour reference, sections 10.5 and 10.6.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from keda_py.core import conditions
from keda_py.core.conditions import read_condition, with_condition
from keda_py.core.hpa.manifest import target_milli
from keda_py.core.jobs import conditions as job_conditions
from keda_py.core.jobs.counts import Demand, Queue, combine, jobs_to_create
from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.core.values.quantity import to_milli
from keda_py.core.values.times import write_time
from keda_py.errors import ScalerError
from keda_py.kube.resources import SCALED_JOBS, Obj
from keda_py.operator.controller.record import Entry, JobCounts
from keda_py.operator.controller.state import about
from keda_py.operator.scaled_jobs.cleanup import trim_history
from keda_py.operator.scaled_jobs.dependencies import ScaledJobDependencies
from keda_py.operator.scaled_jobs.job_tracker import JobTracker
from keda_py.operator.scaled_jobs.record_entries import entry_of
from keda_py.operator.scaled_jobs.state import ScaledJobState
from keda_py.readings.readings import Round

MILLI = 0.001
log = logging.getLogger(__name__)


class JobScaleLoop:
    """Looks at ScaledJobs whose reconcile has started a loop (`state.spec` is set)."""

    def __init__(self, parts: ScaledJobDependencies, tracker: JobTracker) -> None:
        self._parts, self._tracker = parts, tracker

    async def look(self, state: ScaledJobState) -> None:
        """One round. Raises KubeError when Jobs could not be counted or the status not be written."""
        spec = state.spec
        if spec is None:
            return
        state.looking = True
        try:
            seen = await self._parts.readings.poll(state.key, state.changed)
            if seen is None:
                return
            await self._tracker.settle(state)
            if state.spec is not spec:
                return
            demand = combine(spec, list(_queues(seen)))
            known = self._parts.caches.known()
            counts, refusal = await self._create(state, spec, demand, known=known)
            if known:
                await trim_history(self._tracker, state, spec)
            self._note(state, entry_of(seen, demand, counts, known=known, error=refusal, at=self._parts.clock.now()))
            self._tell(state, seen, demand)
            await self._parts.status.write(state, self._status(state, seen, demand))
            self._schedule(state, seen)
        finally:
            state.looking = False

    async def _create(
        self, state: ScaledJobState, spec: JobScalingSpec, demand: Demand, *, known: bool
    ) -> tuple[JobCounts, str]:
        """Create what is missing, unless too little is known; the first refusal in words."""
        tally = self._tracker.tally(state, spec.strategy.pending_conditions)
        counts = JobCounts(running=tally.running, pending=tally.pending)
        count = jobs_to_create(spec, demand, tally) if known else 0
        if not count:
            return counts, ""
        live = self._live(state)
        tried = await self._tracker.create(state, spec, count)
        refusals = [error for error in tried if error is not None]
        for error in refusals:
            note = f"Failed to create job {spec.name}-: {error}"
            self._parts.events.record(live, "Warning", "KEDAJobCreateFailed", note)
        # As in KEDA the note counts what was tried.
        self._parts.events.record(live, "Normal", "KEDAJobsCreated", f"Created {count} jobs")
        told = replace(counts, created=len(tried) - len(refusals), refused=len(refusals))
        return told, str(refusals[0]) if refusals else ""

    def _note(self, state: ScaledJobState, entry: Entry) -> None:
        """Count it, record it, and log what was done, or why not: that once, as long as it stays the same."""
        before = self._parts.record.last(state.key)
        self._parts.instruments.process.record_decision(entry.reason.value)
        self._parts.record.note(state.key, entry)
        if entry.jobs is not None and entry.jobs.created:
            log.info("created jobs", extra=about(state) | {"jobs": entry.jobs.created})
        if entry.error and (before is None or before.error != entry.error):
            log.warning("jobs were not created", extra=about(state) | {"error": entry.error})

    def _tell(self, state: ScaledJobState, seen: Round, demand: Demand) -> None:
        """Begin and end of activity, and each new trigger error; it is not told again while it lasts."""
        live = self._live(state)
        if demand.active != self._was_active(state):
            reason = "ScaledJobActive" if demand.active else "ScaledJobInactive"
            self._parts.events.record(live, "Normal", reason, job_conditions.activity(active=demand.active).message)
        messages = tuple(str(error) for error in _errors(seen))
        for message in messages:
            if message not in state.failures:
                self._parts.events.record(live, "Warning", "KEDAScalerFailed", message)
        state.failures = messages

    def _status(self, state: ScaledJobState, seen: Round, demand: Demand) -> dict[str, Any]:
        failing = any(True for _ in _errors(seen))
        listed = state.status.get("conditions") or conditions.INITIAL
        listed = with_condition(listed, "Ready", job_conditions.ready(active=demand.active, failing=failing))
        listed = with_condition(listed, "Active", job_conditions.activity(active=demand.active))
        names = state.metrics.external_names if state.metrics else ()
        active = {reading.metric.name for reading in seen.readings if _is_active(reading.outcome)}
        fields: dict[str, Any] = {
            "conditions": list(listed),
            "triggersActivity": {name: {"isActive": name in active} for name in names} or None,
        }
        return fields | self._activity_field(state, demand)

    def _activity_field(self, state: ScaledJobState, demand: Demand) -> dict[str, Any]:
        """lastActiveTime goes to the wire when activity begins and when it ends, not with every poll."""
        was_active, before = self._was_active(state), state.last_active
        if demand.active:
            state.last_active = self._parts.clock.now()
        if demand.active == was_active and "lastActiveTime" in state.status:
            return {}
        last = state.last_active if demand.active else before
        return {"lastActiveTime": write_time(last)} if last else {}

    def _was_active(self, state: ScaledJobState) -> bool:
        return read_condition(state.status.get("conditions") or (), "Active").status == "True"

    def _schedule(self, state: ScaledJobState, seen: Round) -> None:
        """The next poll on its source's grid, or earlier where a change is known in advance."""
        clock = self._parts.clock
        delay = self._parts.readings.next_phase(state.key, clock.monotonic()) - clock.monotonic()
        for reading in seen.readings:
            if not isinstance(reading.outcome, ScalerError) and reading.outcome.changes_at is not None:
                delay = min(delay, max((reading.outcome.changes_at - clock.now()).total_seconds(), 0.0) + 0.001)
        state.next_look = clock.monotonic() + delay

    def _live(self, state: ScaledJobState) -> Obj:
        namespace, name = state.key.namespace, state.key.name
        known = self._parts.caches.scaled_jobs.get(namespace, name)
        about_it = {"namespace": namespace, "name": name, "uid": state.uid}
        return known or {"apiVersion": SCALED_JOBS.api_version, "kind": SCALED_JOBS.kind, "metadata": about_it}


def _queues(seen: Round) -> Iterator[Queue]:
    """What each good reading measured, to the thousandth, as KEDA's metrics are."""
    for reading in seen.readings:
        if isinstance(reading.outcome, ScalerError):
            continue
        # Of a metric that is compared as a whole, one Job's share is unknown.
        averaged = reading.metric.metric_type == "AverageValue"
        yield Queue(
            length=to_milli(reading.outcome.value) * MILLI,
            target=target_milli(reading.metric.target) * MILLI if averaged else 0.0,
            active=_is_active(reading.outcome),
        )


def _errors(seen: Round) -> Iterator[ScalerError]:
    return (reading.outcome for reading in seen.readings if isinstance(reading.outcome, ScalerError))


def _is_active(outcome: Any) -> bool:
    return not isinstance(outcome, ScalerError) and bool(outcome.active)
