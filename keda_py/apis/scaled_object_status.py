"""The status of a ScaledObject, and the parts of a status that are keda-py's own, for ScaledJobs as well.

`kedaPy`, `kedaPySavings` and `kedaPyHistory` say why the replicas are what they are; the rest is KEDA's.
"""

from typing import Annotated

from pydantic import Field

from keda_py.apis.schema_marks import Timestamp
from keda_py.apis.wire import Condition, Int32, Int64, Wire


class GroupVersionKindResource(Wire):
    """Resolved scale target."""

    group: str = ""
    version: str
    kind: str
    resource: str


class HealthStatus(Wire):
    """Consecutive failures of one metric; present only with a valid fallback."""

    number_of_failures: Int32 = 0
    status: str = ""
    """Happy or Failing."""


class TriggerActivity(Wire):
    """Whether a metric was active at the last poll."""

    is_active: bool = False


class HeldBackStatus(Wire):
    """Hold on an object that was being worked on when a process of the operator died; no replica works on it."""

    deaths: Int32 = 0
    """Deaths of processes attributed to it."""
    generation: Int64 = 0
    """Generation of the spec that is held back; another one is tried at once."""
    until: Timestamp = ""
    """Time of the next attempt."""


class SavingsMonth(Wire):
    """Accounts of a month in UTC."""

    name: str = ""
    """For example 2026-11."""
    seconds: Int64 = 0
    """Seconds for which it was observed."""
    asleep_seconds: Int64 = 0
    replica_seconds: Int64 = 0
    saved_seconds: Int64 = 0
    """Replica-seconds that an HPA without keda-py would have used while it slept."""
    failing_seconds: Int64 = 0
    """Seconds for which it had replicas because its sources failed."""


class SavingsDay(Wire):
    """Accounts of a day in UTC, with fewer figures than a month's."""

    name: str = ""
    """For example 2026-11-20."""
    seconds: Int64 = 0
    asleep_seconds: Int64 = 0
    replica_seconds: Int64 = 0


class SavingsStatus(Wire):
    """Savings against an HPA alone, which never has less than minReplicaCount, and at least 1."""

    at: Timestamp = ""
    """Time up to which it is accounted."""
    replicas: Int32 = 0
    """Replicas since then."""
    instead: Int32 = 0
    """Replicas that an HPA alone would have at least."""
    failing: bool = False
    """Whether it has replicas because its sources fail."""
    month: SavingsMonth | None = None
    previous: SavingsMonth | None = None
    days: list[SavingsDay] = []
    """At most fifteen, the oldest first."""
    total_replica_seconds: Int64 = 0
    total_saved_seconds: Int64 = 0


class TriggerChange(Wire):
    """Value and state of one trigger at a change."""

    metric: str = ""
    value: float | None = None
    active: bool = False
    fallback: bool = False
    error: str = ""


class ReplicaChange(Wire):
    """Replicas of the workload before and after; absent if they could not be read."""

    before: Int32 | None = None
    after: Int32 | None = None


class JobChange(Wire):
    """Unfinished Jobs before a change, and Jobs created."""

    running: Int32 = 0
    created: Int32 = 0


class ChangeStatus(Wire):
    """Decision that differed from the previous one, or scaled."""

    time: Timestamp = ""
    reason: str = ""
    triggers: list[TriggerChange] = []
    """Triggers that were active or failed, at most three."""
    replicas: ReplicaChange | None = None
    jobs: JobChange | None = None
    notes: list[str] = []
    """For a sleep, or a wake without a trigger, the user who asked for it."""
    error: str = ""


class DecisionStatus(Wire):
    """Reason for the current replicas."""

    reason: str = ""
    since: Timestamp = ""
    """Time when this reason began."""
    next_change: Timestamp = ""
    """Time of the next automatic change of replicas, if known."""
    values: dict[str, str] = {}
    """Last value of each metric."""
    notes: list[str] = []
    """Errors of triggers, and why a value differs from its source's, at the time when this reason began."""
    ruled_by: str = ""
    """Environment, Override or ScalingSchedule that overrides the manifest, and until when."""
    held_back: HeldBackStatus | None = None


class ScaledObjectStatus(Wire):
    """Observed state, and what keda-py did; `kedaPy`, `kedaPySavings` and `kedaPyHistory` are not KEDA's."""

    scale_target_kind: str = ""
    scale_target_gvkr: Annotated[GroupVersionKindResource | None, Field(alias="scaleTargetGVKR")] = None
    original_replica_count: Int32 | None = None
    """Replicas of the workload when it was first seen."""
    last_active_time: Timestamp = ""
    external_metric_names: list[str] = []
    resource_metric_names: list[str] = []
    composite_scaler_name: str = ""
    conditions: list[Condition] = []
    health: dict[str, HealthStatus] = {}
    triggers_activity: dict[str, TriggerActivity] = {}
    paused_replica_count: Int32 | None = None
    hpa_name: str = ""
    triggers_types: str = ""
    authentications_types: str = ""
    keda_py: DecisionStatus | None = None
    keda_py_savings: SavingsStatus | None = None
    keda_py_history: list[ChangeStatus] = []
    """Changes of the last day, bounded, for `keda-py explain --since`; up to five minutes late."""
