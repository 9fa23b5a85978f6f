"""ScaledObject as users write it: what scales, on which triggers, between which bounds.

First of the six files a newcomer reads; the next is `core/spec.py`, which makes of this wire model the frozen
`ScalingSpec` that everything else works with. Models only: no behaviour, no defaults that KEDA applies in code.
Field names and bounds: behaviour reference, section 2.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Wire(BaseModel):
    """A piece of a Kubernetes object: camelCase on the wire, unknown fields ignored, values never echoed."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )


Int32 = Annotated[int, Field(strict=True, ge=-(2**31), le=2**31 - 1)]
Count = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
Positive = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
Name = Annotated[str, Field(min_length=1)]


class ScaleTargetRef(Wire):
    """The workload to scale; a Deployment where apiVersion and kind are left out."""

    name: Name
    api_version: str = ""
    kind: str = ""
    env_source_container_name: str = ""


class HorizontalPodAutoscalerConfig(Wire):
    """What the HPA that keda-py owns is to be like."""

    name: str = ""
    behavior: dict[str, Any] | None = None


class ScalingModifiers(Wire):
    """One formula over all named triggers in place of each trigger's own target."""

    formula: str = ""
    target: str = ""
    activation_target: str = ""
    metric_type: Literal["", "AverageValue", "Value"] = ""


class AdvancedConfig(Wire):
    """Everything a simple ScaledObject can do without."""

    horizontal_pod_autoscaler_config: HorizontalPodAutoscalerConfig | None = None
    restore_to_original_replica_count: bool = False
    scaling_modifiers: ScalingModifiers | None = None


class AuthenticationRef(Wire):
    """Which (Cluster)TriggerAuthentication a trigger uses."""

    name: str
    kind: str = ""


class ScaleTrigger(Wire):
    """One source of load; `metadata` is read by the scaler of that `type`."""

    type: Name
    name: str = ""
    metadata: dict[str, str]
    use_cached_metrics: bool = False
    authentication_ref: AuthenticationRef | None = None
    metric_type: str = ""


class Fallback(Wire):
    """How many replicas to have while a trigger cannot be read."""

    failure_threshold: Count
    replicas: Count
    behavior: Literal[
        "static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower", "scalingModifiers"
    ] = "static"


class ScaledObjectSpec(Wire):
    """`spec` of a ScaledObject."""

    scale_target_ref: ScaleTargetRef
    polling_interval: Positive | None = None
    initial_cooldown_period: Count | None = None
    cooldown_period: Count | None = None
    idle_replica_count: Count | None = None
    min_replica_count: Count | None = None
    max_replica_count: Positive | None = None
    advanced: AdvancedConfig | None = None
    triggers: Annotated[list[ScaleTrigger], Field(min_length=1)]
    fallback: Fallback | None = None


class Condition(Wire):
    """One entry of `status.conditions`."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str = ""
    message: str = ""


class GroupVersionKindResource(Wire):
    """The resolved scale target."""

    group: str = ""
    version: str
    kind: str
    resource: str


class HealthStatus(Wire):
    """Failures of one metric in a row; kept only under a valid fallback."""

    number_of_failures: Int32 = 0
    status: Literal["Happy", "Failing"] = "Happy"


class TriggerActivity(Wire):
    """Whether one metric was active at the last look."""

    is_active: bool = False


class DecisionStatus(Wire):
    """Why the replicas are what they are (ours; KEDA has nothing like it)."""

    reason: str = ""
    since: str = ""
    next_change: str = ""
    values: dict[str, str] = {}


class ScaledObjectStatus(Wire):
    """`status` of a ScaledObject."""

    scale_target_kind: str = ""
    scale_target_gvkr: Annotated[GroupVersionKindResource | None, Field(alias="scaleTargetGVKR")] = None
    original_replica_count: Int32 | None = None
    last_active_time: str = ""
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


class ObjectMeta(Wire):
    """The part of `metadata` that decisions and manifests need."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []


class ScaledObject(Wire):
    """A ScaledObject, `keda.sh/v1alpha1`."""

    metadata: ObjectMeta
    spec: ScaledObjectSpec
    status: ScaledObjectStatus = ScaledObjectStatus()
