"""One version of a ScaledObject, ready to be replayed: its spec, its metrics, and the HPA that it would own."""

from dataclasses import dataclass

from keda_py.core.hpa.controller import HpaSpec
from keda_py.core.hpa.metrics import MetricTarget
from keda_py.core.metric_names import MetricSet
from keda_py.core.spec import ScalingSpec
from keda_py.sdk.registry import AnyScaler


@dataclass(frozen=True, slots=True, kw_only=True)
class HpaMetric:
    """One metric of the HPA: what it is called, what it should be, and of which container."""

    external: bool
    name: str
    target: MetricTarget
    container: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """`activations` run parallel to `metrics.external`, `scalers` to the triggers."""

    spec: ScalingSpec
    metrics: MetricSet
    scalers: tuple[AnyScaler, ...]
    activations: tuple[float, ...]
    hpa: HpaSpec
    hpa_metrics: tuple[HpaMetric, ...]
