"""Workloads that advice is about, and their histories."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from keda_py.advice.proposals.places import Place
from keda_py.apis.foreign import name_of, namespace_of
from keda_py.core.advice.candidates import NoCandidate
from keda_py.core.advice.history import History
from keda_py.core.savings.statement import ResourceRequest
from keda_py.errors import ConfigError
from keda_py.replay.engine.subject import Subject

KINDS = {"deployment": "Deployment", "statefulset": "StatefulSet", "scaledobject": "ScaledObject"}


@dataclass(frozen=True, slots=True, order=True)
class WorkloadKey:
    """What an Environment may put to sleep."""

    namespace: str
    kind: str
    name: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "WorkloadKey":
        """Return the key of a manifest."""
        return cls(namespace_of(body), body["kind"], name_of(body))

    @property
    def title(self) -> str:
        """NAMESPACE/NAME, and of another kind than Deployment that before it."""
        name = f"{self.namespace}/{self.name}"
        return name if self.kind == "Deployment" else f"{self.kind} {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerHistory:
    """What each trigger of a ScaledObject read, by its index, over the same steps."""

    subject: Subject
    histories: tuple[History, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A workload with its history; `problem` says why it is missing. `unit` is what a value counts."""

    workload: WorkloadKey
    history: History | None = None
    further: tuple[History, ...] = ()
    """Other kinds of use over the same steps: it is idle where all of them are."""
    problem: str = ""
    unit: str = "requests/s"
    source: str = ""
    replicas: int = 1
    request: ResourceRequest = field(default_factory=ResourceRequest)
    labels: Mapping[str, str] = field(default_factory=dict)
    triggers: TriggerHistory | NoCandidate | None = None
    """Of a ScaledObject that keeps more than one replica, or why that is not known; None: no Prometheus was asked."""
    by_triggers_alone: bool = False
    """Whether no use of it was recorded, so that the workload that it scales stands for it in an Environment."""

    @property
    def counts_requests(self) -> bool:
        """Whether a value times seconds is a number of requests."""
        return self.unit == "requests/s"


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerMinimum:
    """A ScaledObject with `minimum` replicas or more had no work for so many hours a week while it was awake."""

    minimum: int
    idle_a_week: float
    wakes_a_week: float

    @property
    def words(self) -> str:
        """What its triggers said, and what would have been saved."""
        saved = self.idle_a_week * self.minimum
        idle = f"its triggers had no work for {self.idle_a_week:.1f} h a week in which {self.minimum} replicas were up"
        wakes = f"work would have waited for a start {self.wakes_a_week:.1f} times a week"
        return f"{idle}: minReplicaCount 0 saves {saved:.1f} replica hours a week, and {wakes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """For `seconds` from `at` on up to `needed` replicas were asked for, where a schedule keeps `kept`."""

    at: datetime
    seconds: float
    kept: int
    needed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumSchedule:
    """A ScalingSchedule that lowers `minimum`, and its replay over [begins, ends); `..._instead`: without it."""

    body: Mapping[str, Any]
    minimum: int
    begins: datetime
    ends: datetime
    missing: float
    """The share of steps in which it is not known how many replicas were needed."""
    replica_hours: float
    replica_hours_instead: float
    seconds_short: float
    """In which fewer replicas were ready than the triggers asked for."""
    seconds_short_instead: float
    shortages: tuple[Shortage, ...] = ()
    place: Place | None = None

    @property
    def weeks(self) -> float:
        """How many were replayed."""
        return (self.ends - self.begins) / timedelta(days=7)

    @property
    def saved_a_week(self) -> float:
        """Replica hours, without an Environment that puts it to sleep."""
        return (self.replica_hours_instead - self.replica_hours) / self.weeks


def read_workload(text: str, namespace: str, where: str) -> WorkloadKey:
    """NAME, NAMESPACE/NAME or NAMESPACE/KIND/NAME. Raises ConfigError."""
    parts = text.split("/")
    kind = KINDS.get(parts[1].lower(), "") if len(parts) == 3 else "Deployment"
    if len(parts) > 3 or not all(parts) or not kind:
        kinds = ", ".join(KINDS.values())
        message = f'{where}: "{text[:80]}" names no workload'
        raise ConfigError(f"{message}; write NAME, NAMESPACE/NAME, or NAMESPACE/KIND/NAME with one of {kinds}")
    return WorkloadKey(parts[0] if len(parts) > 1 else namespace, kind, parts[-1])
