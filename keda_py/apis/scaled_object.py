"""ScaledObject as users write it: a workload, its triggers and its bounds.

First of the seven files a newcomer reads; the next is `core/spec.py`, which turns this wire model into the frozen
`ScalingSpec` that everything else works with. `kinds/crds.py` generates the CRD from it; `wire.py` states the rules of
such models. Field names and bounds: behaviour reference, section 2.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from keda_py.apis.hpa_behavior import HorizontalPodAutoscalerBehavior
from keda_py.apis.scaled_object_status import ScaledObjectStatus
from keda_py.apis.schema_marks import SchemaOf, rule
from keda_py.apis.wire import AuthenticationRef, Count, Name, ObjectMeta, Positive, Wire

# Triggers of one object: each is built, read and shown on its own, so their number bounds what one manifest costs.
MOST_TRIGGERS = 500

FallbackBehavior = Literal[
    "static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower", "scalingModifiers"
]


class ScaleTargetRef(Wire):
    """Workload to scale, of any kind with a scale subresource."""

    name: Name
    api_version: str = ""
    """apps/v1 by default."""
    kind: str = ""
    """Deployment by default."""
    env_source_container_name: str = ""
    """Container whose environment triggers read; the first by default."""


class HorizontalPodAutoscalerConfig(Wire):
    """Settings of the HPA that keda-py owns."""

    name: str = ""
    """keda-hpa-NAME by default."""
    behavior: Annotated[dict[str, Any], SchemaOf(HorizontalPodAutoscalerBehavior)] | None = None


class ScalingModifiers(Wire):
    """Formula over all named triggers, in place of each trigger's own target."""

    formula: str = ""
    """Expression over trigger names, such as (queue + backlog) / 2."""
    target: str = ""
    activation_target: str = ""
    metric_type: Literal["", "AverageValue", "Value"] = ""


class AdvancedConfig(Wire):
    """Settings that most ScaledObjects do not need."""

    horizontal_pod_autoscaler_config: HorizontalPodAutoscalerConfig | None = None
    restore_to_original_replica_count: bool = False
    """On deletion restore the replicas that the workload had before."""
    scaling_modifiers: ScalingModifiers | None = None


class ScaleTrigger(Wire):
    """Source of load; the scaler of `type` reads `metadata`."""

    type: Name
    name: str = ""
    metadata: dict[str, str]
    use_cached_metrics: bool = False
    """Answer the HPA from the last poll."""
    authentication_ref: AuthenticationRef | None = None
    metric_type: str = ""
    """AverageValue, Value or Utilization."""


class Fallback(Wire):
    """Replicas while a trigger cannot be read."""

    failure_threshold: Count
    """Consecutive failures before the fallback begins."""
    replicas: Count
    behavior: FallbackBehavior = "static"


class ScaledObjectSpec(Wire):
    """Workload, triggers and bounds."""

    model_config = ConfigDict(
        json_schema_extra=rule(
            "!has(self.minReplicaCount) || "
            "self.minReplicaCount <= (has(self.maxReplicaCount) ? self.maxReplicaCount : 100)",
            "minReplicaCount must be less than or equal to maxReplicaCount",
        )
    )

    scale_target_ref: ScaleTargetRef
    polling_interval: Positive | None = None
    """Seconds between two looks at the triggers; 30 by default."""
    initial_cooldown_period: Count | None = None
    """Seconds after creation before the first scale to zero."""
    cooldown_period: Count | None = None
    """Seconds from the last activity to zero; 300 by default."""
    idle_replica_count: Count | None = None
    """Replicas while no trigger is active; lower than minReplicaCount."""
    min_replica_count: Count | None = None
    """0 by default."""
    max_replica_count: Positive | None = None
    """100 by default."""
    advanced: AdvancedConfig | None = None
    triggers: Annotated[list[ScaleTrigger], Field(min_length=1, max_length=MOST_TRIGGERS)]
    fallback: Fallback | None = None


class ScaledObject(Wire):
    """Scales a workload on events, between zero and a maximum."""

    metadata: ObjectMeta
    spec: ScaledObjectSpec
    status: ScaledObjectStatus = ScaledObjectStatus()
