"""Plans: the objects of one namespace as they are written, and what rules them. Values alone.

`replay/reading/manifests.py` makes it; `namespaces.py` lets time pass over it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.decision.observation import Role
from keda_py.core.environment.decision.state import EnvironmentState
from keda_py.core.environment.overrides import OverrideSpec
from keda_py.core.environment.scaling.schedules import ScheduleSpec
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.spec import ScalingSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPlan:
    """A ScaledObject, the findings of `core/meaning` about it, and what else is worth knowing."""

    spec: ScalingSpec
    findings: tuple[AdmissionWarning, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPlan:
    """A workload or CronJob that no ScaledObject scales; `replicas` are those while it is awake, a CronJob's 1 or 0.

    `scaled_to_zero`: an HPA of its owner has it there without work.
    """

    kind: str
    name: str
    role: Role
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    created: datetime
    replicas: int
    remarks: tuple[str, ...] = ()
    scaled_to_zero: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentState:
    """The state of a ScaledObject or member: its count, and when a trigger was active last (None: not known)."""

    replicas: int
    last_active: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentPlan:
    """`problem` says why `calendar` is None. Only how long wakes took is used of `state`, unless the plan knows `now`.

    `remarks` are sentences. `policy` is the ClusterEnvironment that writes it, "" for none.
    """

    spec: EnvironmentSpec
    calendar: Calendar | None
    problem: str = ""
    state: EnvironmentState = field(default_factory=EnvironmentState)
    remarks: tuple[str, ...] = ()
    policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespacePlan:
    """`problems` are sentences about what cannot be previewed, each with its object, field and remedy.

    `warnings` are about what is previewed and may be meant otherwise; each ends in its code, if it has one.
    `now` by KIND/NAME: the replay begins with the period, with these counts and with what Environments remember. None:
    it begins long enough before the period for what was then to be felt in it, with everything awake.
    """

    name: str
    objects: tuple[ObjectPlan, ...] = ()
    members: tuple[MemberPlan, ...] = ()
    environments: tuple[EnvironmentPlan, ...] = ()
    overrides: tuple[OverrideSpec, ...] = ()
    schedules: tuple[ScheduleSpec, ...] = ()
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    now: Mapping[str, CurrentState] | None = None

    @property
    def is_ruled(self) -> bool:
        """True if anything but its triggers may change a ScaledObject."""
        return bool(self.environments or self.schedules or self.overrides)
