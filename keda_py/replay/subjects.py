"""The objects that a namespace's replay moves: ScaledObjects with what lies over their specs, and members. Pure."""

from dataclasses import dataclass
from datetime import datetime

from keda_py.core.environment.decision.members import Action, Overlay, Resume, SetReplicas, Suspend
from keda_py.core.environment.decision.observation import MemberSeen, Role, is_ready
from keda_py.core.environment.overrides import TargetKey
from keda_py.core.environment.scaling.overlays import lay_over
from keda_py.core.environment.scaling.schedules import BoundsSpec, lay_bounds_over
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.spec import ScalingSpec, without_ended_pause
from keda_py.replay.objects import LayeredSpec, ScaledObjectReplay
from keda_py.replay.plan import MemberPlan
from keda_py.replay.timeline import Step


@dataclass(slots=True)
class Governed:
    """A ScaledObject, and the schedule's bounds and the overlay that lie over its spec now."""

    replay: ScaledObjectReplay
    bounds: BoundsSpec | None = None
    overlay: Overlay | None = None
    laid: LayeredSpec | None = None
    resumed: bool = False
    """Its own pause had an end that has come."""

    def relay(self, because: str, now: datetime) -> None:
        """Lay bounds and overlay over the written spec anew; `because` says what changed."""
        scheduled = lay_bounds_over(self.written_at(now), self.bounds)
        self.laid = LayeredSpec(lay_over(scheduled, self.overlay), because)

    def written_at(self, now: datetime) -> ScalingSpec:
        """Return the spec as it is written; without a pause of its owner that is over."""
        return without_ended_pause(self.replay.written, now)

    def seen(self, spec: EnvironmentSpec, *, asleep: bool) -> MemberSeen:
        """As its Environment sees it: pods are ready at once."""
        written, count = self.replay.written, self.replay.replicas
        return MemberSeen(
            key=self.key,
            role=Role.SCALED_OBJECT,
            created=written.created,
            count=count,
            ready=is_ready(count, count, minimum=first_count(written), asleep=asleep),
            wave=spec.wave_of(written.labels),
            triggers_active=self.replay.active,
            targets=targets_of(written),
        )

    @property
    def key(self) -> str:
        """KIND/NAME."""
        return f"ScaledObject/{self.replay.written.name}"


@dataclass(slots=True)
class Member:
    """A workload or CronJob with the count that it has now."""

    plan: MemberPlan
    replicas: int
    steps: list[Step]

    def act(self, action: Action, now: datetime, reason: str, because: str) -> bool:
        """Do what an Environment decides; return whether that changes the count."""
        match action:
            case SetReplicas(replicas=wanted):
                pass
            case Suspend() | Resume():
                wanted = int(isinstance(action, Resume))
            case _:
                return False
        if wanted == self.replicas:
            return False
        before = self.replicas
        self.steps.append(Step(at=now, before=before, replicas=wanted, reason=reason, because=because, ruled=True))
        self.replicas = wanted
        return True

    def seen(self, spec: EnvironmentSpec) -> MemberSeen:
        """As its Environment sees it: pods are ready at once."""
        return MemberSeen(
            key=self.key,
            role=self.plan.role,
            created=self.plan.created,
            count=self.replicas,
            ready=is_ready(self.replicas, self.replicas),
            wave=spec.wave_of(self.plan.labels),
            targets=(TargetKey(self.plan.kind, self.plan.name),),
        )

    @property
    def key(self) -> str:
        """KIND/NAME."""
        return f"{self.plan.kind}/{self.plan.name}"


def first_count(spec: ScalingSpec) -> int:
    """Return the lowest count of a ScaledObject that is awake."""
    return spec.min_replicas if spec.idle_replicas is None else spec.idle_replicas


def targets_of(spec: ScalingSpec) -> tuple[TargetKey, ...]:
    """Return the targets by which an Override may name a ScaledObject."""
    return TargetKey("ScaledObject", spec.name), TargetKey(spec.target.kind, spec.target.name)
