"""ScaledJobs as a shadow works on them: triggers read and decided on, Jobs counted, and none created."""

from dataclasses import dataclass

from keda_py.core.jobs.decision import JobObservation, JobOutcome, decide_jobs
from keda_py.core.jobs.spec import JobScalingSpec, check_metric_types
from keda_py.core.reading import Round
from keda_py.core.shadow.comparison import Theirs, compare_broken
from keda_py.core.shadow.jobs import MissingJobs, compare_jobs
from keda_py.core.spec_rules import check_triggers
from keda_py.errors import ConfigError, KubeError, ScalerError
from keda_py.kube.resources import Obj
from keda_py.operator.controller.after_look import note_decision, schedule_next
from keda_py.operator.controller.finalizer import end_loop
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.scalers import build_scalers
from keda_py.operator.controller.state import fingerprint_of
from keda_py.operator.controller.steps import StepError
from keda_py.operator.scaled_jobs.dependencies import ScaledJobDependencies
from keda_py.operator.scaled_jobs.job_tracker import JobTracker
from keda_py.operator.scaled_jobs.report import JobLook, entry_of
from keda_py.operator.scaled_jobs.state import ScaledJobState
from keda_py.operator.shadow.comparisons import PAUSED, SLACK, Comparisons


@dataclass(slots=True)
class ShadowJobState(ScaledJobState):
    """`missing` is what we would have created at the look before."""

    missing: MissingJobs | None = None


class ShadowedJobs(Kind[ShadowJobState]):
    """The kind for `Controller`."""

    new = ShadowJobState

    def __init__(self, parts: ScaledJobDependencies, told: Comparisons) -> None:
        self._parts, self._told = parts, told
        self._tracker = JobTracker(parts.client, parts.caches)
        self.live = parts.caches.scaled_jobs

    async def reconcile(self, state: ShadowJobState, live: Obj) -> None:
        """From a spec to a loop. Raises StepError, KubeError."""
        fingerprint = fingerprint_of(live)
        try:
            await self._prepare(state, live)
        except (ConfigError, ScalerError, KubeError) as error:
            state.stop()
            await self._parts.readings.forget(state.key)
            theirs = Theirs(replicas=None, status=state.status, hpa=None)
            self._told.note(state, compare_broken(str(error), theirs), SLACK)
            raise StepError(f"a shadow cannot follow it: {error}", error) from error
        state.fingerprint = fingerprint

    async def _prepare(self, state: ShadowJobState, live: Obj) -> None:
        spec = self._parts.specs.read(live)
        if spec.paused:
            state.stop()
            await self._parts.readings.forget(state.key)
            self._told.skip(state, PAUSED)
            return
        check_triggers(spec.triggers)
        metrics = await build_scalers(self._parts, state, spec, live)
        check_metric_types(spec)
        state.spec, state.metrics, state.next_look, state.missing = spec, metrics, 0.0, None

    async def look(self, state: ShadowJobState) -> None:
        """Observe, decide, and compare in place of creating. Raises KubeError."""
        spec = state.spec
        if spec is None:
            return
        state.looking = True
        try:
            seen = await self._parts.readings.poll(state.key, state.changed, ahead=state.take_ahead())
            if seen is None or state.spec is not spec:
                return
            look = self._decide(state, spec, seen)
            note_decision(self._parts, state, entry_of(look))
            self._parts.instruments.process.record_decision(look.decision.reason.value)
            self._parts.readings.note_idle(state.key, idle=not look.is_active)
            self._compare(state, look)
            schedule_next(self._parts, state, seen, look.decision.look_again_at)
        finally:
            state.looking = False

    def _decide(self, state: ShadowJobState, spec: JobScalingSpec, seen: Round) -> JobLook:
        now = self._parts.clock.now()
        observed = JobObservation(
            round=seen,
            tally=self._tracker.tally(state, spec.strategy.pending_conditions),
            known=self._parts.caches.known(),
            last_active=state.last_active,
        )
        decision = decide_jobs(spec, observed, now)
        state.last_active = decision.last_active
        return JobLook(
            spec=spec,
            at=now,
            seen=observed,
            decision=decision,
            outcome=JobOutcome(),
            metric_names=state.metrics.external_names if state.metrics else (),
            status=state.status,
            told=(),
        )

    def _compare(self, state: ShadowJobState, look: JobLook) -> None:
        there = frozenset(job["metadata"]["uid"] for job in self._tracker.jobs(state))
        said = [f"{one.metric} {one.error or f'{one.value:g}'}" for one in entry_of(look).triggers]
        why = "; ".join((look.decision.reason.value, *said))
        claims = tuple(compare_jobs(look.decision, why, state.missing, there, state.status))
        state.missing = MissingJobs(wanted=look.decision.create, there=there)
        self._told.note(state, claims, look.spec.polling_interval + SLACK, look.seen.round)

    async def finalize(self, state: ShadowJobState, live: Obj) -> None:
        """It is the other side's to let go; we only stop."""
        await end_loop(self._parts, state)

    def forget(self, state: ShadowJobState) -> None:
        """Its disagreements are over."""
        self._told.forget(state)
