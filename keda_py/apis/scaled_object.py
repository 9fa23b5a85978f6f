"""ScaledObject as users write it: what scales, on which triggers, between which bounds.

First of the seven files a newcomer reads; the next is `core/spec.py`, which makes of this wire model the frozen
`ScalingSpec` that everything else works with. `kinds/crds.py` generates the CRD from it; `wire.py` states the rules of
such models. Field names and bounds: behaviour reference, section 2.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from keda_py.apis.hpa_behavior import HorizontalPodAutoscalerBehavior
from keda_py.apis.schema_marks import SchemaOf, Timestamp, rule
from keda_py.apis.wire import AuthenticationRef, Condition, Count, Int32, Int64, Name, ObjectMeta, Positive, Wire

MOST_TRIGGERS = 500
"""Of one object: each is built, read and shown by itself."""

FallbackBehavior = Literal[
    "static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower", "scalingModifiers"
]


class ScaleTargetRef(Wire):
    """The workload to scale; anything with a scale subresource."""

    name: Name
    api_version: str = ""
    """apps/v1 where it is left out."""
    kind: str = ""
    """Deployment where it is left out."""
    env_source_container_name: str = ""
    """Container whose environment triggers read; the first where it is left out."""


class HorizontalPodAutoscalerConfig(Wire):
    """What the HPA that keda-py owns is to be like."""

    name: str = ""
    """keda-hpa-NAME where it is left out."""
    behavior: Annotated[dict[str, Any], SchemaOf(HorizontalPodAutoscalerBehavior)] | None = None


class ScalingModifiers(Wire):
    """One formula over all named triggers in place of each trigger's own target."""

    formula: str = ""
    """Expression over trigger names, such as (queue + backlog) / 2."""
    target: str = ""
    activation_target: str = ""
    metric_type: Literal["", "AverageValue", "Value"] = ""


class AdvancedConfig(Wire):
    """Everything a simple ScaledObject can do without."""

    horizontal_pod_autoscaler_config: HorizontalPodAutoscalerConfig | None = None
    restore_to_original_replica_count: bool = False
    """On deletion give the workload the replicas it had before."""
    scaling_modifiers: ScalingModifiers | None = None


class ScaleTrigger(Wire):
    """One source of load; `metadata` is read by the scaler of that `type`."""

    type: Name
    name: str = ""
    metadata: dict[str, str]
    use_cached_metrics: bool = False
    """Answer the HPA from the last poll."""
    authentication_ref: AuthenticationRef | None = None
    metric_type: str = ""
    """AverageValue, Value or Utilization."""


class Fallback(Wire):
    """How many replicas to have while a trigger cannot be read."""

    failure_threshold: Count
    """Failures in a row before the fallback begins."""
    replicas: Count
    behavior: FallbackBehavior = "static"


class ScaledObjectSpec(Wire):
    """What scales, on which triggers, between which bounds."""

    model_config = ConfigDict(
        json_schema_extra=rule(
            "!has(self.minReplicaCount) || "
            "self.minReplicaCount <= (has(self.maxReplicaCount) ? self.maxReplicaCount : 100)",
            "minReplicaCount must be less than or equal to maxReplicaCount",
        )
    )

    scale_target_ref: ScaleTargetRef
    polling_interval: Positive | None = None
    """Seconds between two looks at the triggers; 30 where it is left out."""
    initial_cooldown_period: Count | None = None
    """Seconds after creation before the first scale to zero."""
    cooldown_period: Count | None = None
    """Seconds from the last activity to zero; 300 where it is left out."""
    idle_replica_count: Count | None = None
    """Replicas while no trigger is active; lower than minReplicaCount."""
    min_replica_count: Count | None = None
    """0 where it is left out."""
    max_replica_count: Positive | None = None
    """100 where it is left out."""
    advanced: AdvancedConfig | None = None
    triggers: Annotated[list[ScaleTrigger], Field(min_length=1, max_length=MOST_TRIGGERS)]
    fallback: Fallback | None = None


class GroupVersionKindResource(Wire):
    """The resolved scale target."""

    group: str = ""
    version: str
    kind: str
    resource: str


class HealthStatus(Wire):
    """Failures of one metric in a row; kept only under a valid fallback."""

    number_of_failures: Int32 = 0
    status: str = ""
    """Happy or Failing."""


class TriggerActivity(Wire):
    """Whether one metric was active at the last look."""

    is_active: bool = False


class HeldBackStatus(Wire):
    """Work on the object was under way when a process of the operator died; every replica leaves it alone."""

    deaths: Int32 = 0
    """How many of them it is blamed for."""
    generation: Int64 = 0
    """The spec that this is about; another one is tried at once."""
    until: Timestamp = ""
    """When it is tried again."""


class SavingsMonth(Wire):
    """Sums of a month, UTC."""

    name: str = ""
    """Such as 2026-11."""
    seconds: Int64 = 0
    """How long it was observed."""
    asleep_seconds: Int64 = 0
    replica_seconds: Int64 = 0
    saved_seconds: Int64 = 0
    """Replica-seconds that the HPA alone would have had while it slept."""
    failing_seconds: Int64 = 0
    """How long it had replicas because its sources failed."""


class SavingsDay(Wire):
    """Sums of a day, UTC."""

    name: str = ""
    """Such as 2026-11-20."""
    seconds: Int64 = 0
    asleep_seconds: Int64 = 0
    replica_seconds: Int64 = 0


class SavingsStatus(Wire):
    """What was saved against the HPA alone, which has no less than minReplicaCount, and 1 at least."""

    at: Timestamp = ""
    """Up to when it is accounted."""
    replicas: Int32 = 0
    """Since then."""
    instead: Int32 = 0
    """What the HPA alone would have at least."""
    failing: bool = False
    """It has replicas because its sources fail."""
    month: SavingsMonth | None = None
    previous: SavingsMonth | None = None
    days: list[SavingsDay] = []
    """Fifteen at most, oldest first."""
    total_replica_seconds: Int64 = 0
    total_saved_seconds: Int64 = 0


class TriggerChange(Wire):
    """What one trigger said then."""

    metric: str = ""
    value: float | None = None
    active: bool = False
    fallback: bool = False
    error: str = ""


class ReplicaChange(Wire):
    """Replicas of the workload before and after; left out where they could not be read."""

    before: Int32 | None = None
    after: Int32 | None = None


class JobChange(Wire):
    """Unfinished Jobs before, and what was added."""

    running: Int32 = 0
    created: Int32 = 0


class ChangeStatus(Wire):
    """A decision that differed from the one before, or scaled."""

    time: Timestamp = ""
    reason: str = ""
    triggers: list[TriggerChange] = []
    """Those that were active or failed, three at most."""
    replicas: ReplicaChange | None = None
    jobs: JobChange | None = None
    notes: list[str] = []
    """Of a sleep or a wake that no trigger asked for, who did."""
    error: str = ""


class DecisionStatus(Wire):
    """Why the replicas are what they are."""

    reason: str = ""
    since: Timestamp = ""
    """When this reason began."""
    next_change: Timestamp = ""
    """When the replicas will change by themselves, as far as is known."""
    values: dict[str, str] = {}
    """Last value of each metric."""
    notes: list[str] = []
    """Errors of triggers, and why a value is not what its source said, when this reason began."""
    ruled_by: str = ""
    """The Environment, Override or ScalingSchedule that lies over the manifest, and until when."""
    held_back: HeldBackStatus | None = None


class ScaledObjectStatus(Wire):
    """What keda-py observed and did; `kedaPy`, `kedaPySavings` and `kedaPyHistory` are its own, the rest is KEDA's."""

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
    """The changes of the last day, bounded, as `keda-py explain --since` tells them; up to five minutes late."""


class ScaledObject(Wire):
    """Scales a workload on events, between zero and a maximum."""

    metadata: ObjectMeta
    spec: ScaledObjectSpec
    status: ScaledObjectStatus = ScaledObjectStatus()
