"""ScaledJobs as a shadow works on them: triggers read and decided on, Jobs counted, and none created."""

from dataclasses import dataclass

from keda_py.core.jobs.decision import JobObservation, JobOutcome, decide_jobs
from keda_py.core.jobs.spec import JobScalingSpec, check_metric_types
from keda_py.core.reading import Round
from keda_py.core.shadow.comparison import Claim, MissingJobs, OtherSide, compare_jobs
from keda_py.core.spec_rules import check_triggers
from keda_py.kube.resources import Obj
from keda_py.operator.controller.scalers import build_scalers
from keda_py.operator.scaled_jobs.dependencies import ScaledJobDependencies
from keda_py.operator.scaled_jobs.job_tracker import JobTracker
from keda_py.operator.scaled_jobs.report import JobLook, entry_of
from keda_py.operator.scaled_jobs.state import ScaledJobState
from keda_py.operator.shadow.comparisons import SLACK, Comparisons
from keda_py.operator.shadow.kind import ShadowedKind, ShadowLook


@dataclass(slots=True)
class ShadowJobState(ScaledJobState):
    """`missing` is what we would have created at the look before."""

    missing: MissingJobs | None = None


class ShadowedJobs(ShadowedKind[ShadowJobState]):
    """The kind for `Controller`."""

    new = ShadowJobState

    def __init__(self, parts: ScaledJobDependencies, comparisons: Comparisons) -> None:
        super().__init__(parts.shared, comparisons, parts.caches.scaled_jobs)
        self._parts = parts
        self._tracker = JobTracker(parts.shared.client, parts.caches)

    async def _prepare(self, state: ShadowJobState, live: Obj) -> bool:
        spec = self._parts.specs.read(live)
        if spec.pause.stopped:
            return False
        check_triggers(spec.triggers)
        metrics = await build_scalers(self._parts.shared, state, spec, live)
        check_metric_types(spec)
        state.spec, state.metrics, state.missing = spec, metrics, None
        state.due.look_now()
        return True

    async def _compare(self, state: ShadowJobState, readings: Round) -> ShadowLook | None:
        if (spec := state.spec) is None:
            return None
        look = self._decide(state, spec, readings)
        return ShadowLook(
            entry=entry_of(look),
            claims=self._claims(state, look),
            patience=spec.polling_interval + SLACK,
            idle=not look.is_active,
            look_again_at=look.decision.look_again_at,
        )

    def _decide(self, state: ShadowJobState, spec: JobScalingSpec, seen: Round) -> JobLook:
        now = self._parts.shared.clock.now()
        observed = JobObservation(
            round=seen,
            tally=self._tracker.tally(state, spec),
            known=self._parts.caches.in_contact(),
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
            known_failures=(),
        )

    def _claims(self, state: ShadowJobState, look: JobLook) -> tuple[Claim, ...]:
        there = frozenset(job["metadata"]["uid"] for job in self._tracker.jobs(state))
        said = [f"{one.metric} {one.error or f'{one.value:g}'}" for one in entry_of(look).triggers]
        why = "; ".join((look.decision.reason.value, *said))
        claims = tuple(compare_jobs(look.decision, why, state.missing, there, state.status))
        state.missing = MissingJobs(wanted=look.decision.create, there=there)
        return claims

    def _other_side(self, state: ShadowJobState) -> OtherSide:
        return OtherSide(replicas=None, status=state.status, hpa=None)
