"""The whole-state pass over one ScaledJob: idempotent, from what is wanted to a scale loop that creates Jobs.

Runs when the object changed; the counterpart of `operator/scaled_objects/reconcile.py`. A step that fails is named in
the Ready condition. Behaviour reference, section 10.4. Next in the flow: `look.py`.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from keda_py.core.conditions import ConditionValue, read_condition, with_conditions
from keda_py.core.jobs import conditions as job_conditions
from keda_py.core.jobs.spec import JobScalingSpec, check_metric_types
from keda_py.core.metric_names import MetricSet
from keda_py.core.spec_rules import check_triggers
from keda_py.errors import ConfigError, Forbidden, Invalid, NotFound, ScalerError
from keda_py.kube.resources import SCALED_JOBS, Obj
from keda_py.operator.controller.dependencies import WATCH_STARTED, WATCH_STOPPED
from keda_py.operator.controller.finalizer import ensure_finalizer
from keda_py.operator.controller.scalers import build_scalers, used_types
from keda_py.operator.controller.state import about
from keda_py.operator.controller.troubles import StepError
from keda_py.operator.defaults.report import report_bounds
from keda_py.operator.scaled_jobs.cleanup import delete_earlier_generations
from keda_py.operator.scaled_jobs.dependencies import ScaledJobDependencies
from keda_py.operator.scaled_jobs.job_tracker import JobTracker
from keda_py.operator.scaled_jobs.state import ScaledJobState

STEP_READ = "ScaledJob cannot be read"
STEP_NO_JOB = "ScaledJob.spec.jobTargetRef not found"
STEP_TRIGGERS = "ScaledJob doesn't have correct triggers specification"
STEP_JOBS = "Jobs cannot be counted, so none is created"
STEP_BUILD = "Failed to ensure ScaledJob is correctly created"
STEP_METRIC_TYPE = "Cannot set metricType in ScaledJob triggers"

log = logging.getLogger(__name__)


@dataclass(slots=True)
class StatusChange:
    """The status that a pass has found out so far; written even if a later step fails, to show how far it came."""

    fields: dict[str, Any] = field(default_factory=dict)
    conditions: dict[str, ConditionValue] = field(default_factory=dict)


class JobReconciler:
    """Brings one ScaledJob at a time to what its spec says."""

    def __init__(self, parts: ScaledJobDependencies, tracker: JobTracker) -> None:
        self._parts, self._tracker = parts, tracker
        self._shared = parts.shared

    async def reconcile(self, state: ScaledJobState, live: Obj) -> None:
        """Take all steps for a live, not deleted object. Raises StepError (status and Event written) and KubeError."""
        was_running = state.spec is not None
        change = StatusChange()
        try:
            await ensure_finalizer(self._shared.client, SCALED_JOBS, live)
            with _step(STEP_READ if "jobTargetRef" in live["spec"] else STEP_NO_JOB):
                spec = self._parts.specs.read(live)
            state.resumes_at = spec.pause.until
            if spec.pause.stopped:
                await self._pause(state, spec, live, change)
            else:
                self._unpause(state, live, change)
                await self._prepare(state, spec, live, change)
        except StepError as error:
            await self._report_failure(state, live, change, error)
            raise
        state.attempts, state.failures = 0, ()
        state.reconciled.finish(live)
        change.conditions |= report_bounds(self._shared, state, spec, live)
        self._report_success(state, live, change, was_running=was_running and not spec.pause.stopped)

    async def _prepare(self, state: ScaledJobState, spec: JobScalingSpec, live: Obj, change: StatusChange) -> None:
        """Take the steps between a spec and a scale loop that may run."""
        with _step(STEP_TRIGGERS):
            check_triggers(spec.triggers)
        change.fields |= used_types(spec)
        try:
            await self._parts.caches.readable()
        except Forbidden as error:  # KEDA has no words for it, so the condition can say all
            raise StepError(f"{STEP_JOBS}: {error}", error) from error
        # Before the loop starts: it would count the Jobs of the earlier generation, and create too few.
        await delete_earlier_generations(self._parts, self._tracker, state, spec, live)
        self._stage(state, change)
        with _step(STEP_BUILD):
            metrics = await build_scalers(self._shared, state, spec, live)
        with _step(STEP_METRIC_TYPE):
            check_metric_types(spec)
        self._start_loop(state, spec, metrics, live)

    def _start_loop(self, state: ScaledJobState, spec: JobScalingSpec, metrics: MetricSet, live: Obj) -> None:
        if state.spec is None:
            self._shared.events.record(live, *WATCH_STARTED)
        state.spec, state.metrics = spec, metrics
        state.due.look_at(0.0)  # at once: a new spec ends what was planned

    async def _pause(self, state: ScaledJobState, spec: JobScalingSpec, live: Obj, change: StatusChange) -> None:
        """Create no Job any more; those that run go on."""
        paused = job_conditions.paused(spec.pause.because)
        if read_condition(state.status.get("conditions") or (), "Paused").status != "True":
            self._shared.tell(live, "Normal", "ScaledJobPaused", paused.message)
        if state.spec is not None:
            self._shared.events.record(live, *WATCH_STOPPED)
        change.conditions["Paused"] = paused
        state.stop()
        await self._shared.readings.forget(state.key)

    def _unpause(self, state: ScaledJobState, live: Obj, change: StatusChange) -> None:
        if read_condition(state.status.get("conditions") or (), "Paused").status == "True":
            change.conditions["Paused"] = job_conditions.UNPAUSED
            self._shared.tell(live, "Normal", "ScaledJobUnpaused", job_conditions.UNPAUSED.message)

    def _report_success(self, state: ScaledJobState, live: Obj, change: StatusChange, *, was_running: bool) -> None:
        if read_condition(state.status.get("conditions") or (), "Ready").status != "True":
            self._shared.tell(live, "Normal", "ScaledJobReady", "ScaledJob is ready for scaling")
        # The Ready condition of a running loop may name failing triggers: the next look changes it, not a reconcile.
        if not was_running:
            change.conditions["Ready"] = job_conditions.DEFINED if state.spec else job_conditions.PAUSED_READY
        self._stage(state, change)

    async def _report_failure(self, state: ScaledJobState, live: Obj, change: StatusChange, error: StepError) -> None:
        ready, cause = job_conditions.check_failed(str(error)), str(error.cause)
        if read_condition(state.status.get("conditions") or (), "Ready") != ready:
            self._shared.tell(live, "Warning", "ScaledJobCheckFailed", str(error))
        if cause not in state.failures:
            # The condition holds the step alone; this Event says what to do about it.
            self._shared.events.record(live, "Warning", "KEDAScalerFailed", cause)
            log.warning("scaledjob check failed", extra=about(state) | {"step": str(error), "error": cause})
        state.stop()
        state.failures = (cause,)
        if isinstance(error.cause, ConfigError):
            await self._shared.readings.forget(state.key)
        change.conditions |= {"Ready": ready, "Active": job_conditions.CHECK_FAILED_ACTIVE}
        self._stage(state, change)
        await self._shared.status.settle(state)

    def _stage(self, state: ScaledJobState, change: StatusChange) -> None:
        listed = with_conditions(state.status.get("conditions") or (), change.conditions)
        self._shared.status.stage(state, {**change.fields, "conditions": listed})


@contextmanager
def _step(text: str) -> Iterator[None]:
    """Turn errors inside into a StepError of that step; an API server that does not answer fails no step."""
    try:
        yield
    except (ConfigError, ScalerError, Forbidden, Invalid, NotFound) as error:
        raise StepError(text, error) from error
