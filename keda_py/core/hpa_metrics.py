"""One metric of a HorizontalPodAutoscaler: from what was measured to the replica count it asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from keda_py.core.hpa_pods import Pod


class TargetType(StrEnum):
    """`target.type` of autoscaling/v2."""

    VALUE = "Value"
    AVERAGE_VALUE = "AverageValue"
    UTILIZATION = "Utilization"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTarget:
    """What a metric should be: milli for Value and AverageValue, whole percent of the request for Utilization."""

    type: TargetType
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalSample:
    """An External metric and what external.metrics.k8s.io answered."""

    name: str
    target: MetricTarget
    match_labels: Mapping[str, str] = field(default_factory=dict)
    values: tuple[int, ...] = ()
    """Milli, one per series; they are summed."""
    error: str = ""
    """Why there is no answer, in the words of the client; "" when `values` hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSample:
    """A Resource metric, or a ContainerResource metric where `container` is set; the pods carry their usage."""

    resource: str
    target: MetricTarget
    container: str = ""
    error: str = ""
    """Why metrics.k8s.io gave no answer; "" when the samples of the pods hold."""


MetricSample = ExternalSample | ResourceSample


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far usage/target may be from 1 before anything changes."""

    scale_up: float = 0.1
    scale_down: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleTarget:
    """The workload, as its scale subresource and its pods show it."""

    namespace: str
    replicas: int
    """spec.replicas of the scale."""
    status_replicas: int
    """status.replicas of the scale; AverageValue of External metrics divides by it."""
    pods: tuple[Pod, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """`current` of one entry in status.currentMetrics; milli and percent, None where the entry lacks the field."""

    value: int | None = None
    average_value: int | None = None
    average_utilization: int | None = None
