"""ScaledObjects of made-up triggers, and what a round of given outcomes means for them."""

from datetime import UTC, datetime

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.evaluation import Evaluation, MetricValue, evaluate
from keda_py.core.fallback import FallbackState
from keda_py.core.metric_names import MetricSet, name_metrics
from keda_py.core.metric_specs import ExternalMetric, ResourceMetric
from keda_py.core.reading import MetricReading, Round
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.errors import ScalerError
from keda_py.sdk.scaler import Reading

NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)
DOWN = ScalerError("down")
FALLBACK = {"failureThreshold": 3, "replicas": 6}
CPU = ResourceMetric(name="cpu", target_type="Utilization", target="50")


def spec_with(*types: str, **spec) -> ScalingSpec:
    triggers = [{"type": one, "metadata": {}} for one in types or ("redis",)]
    body = {"scaleTargetRef": {"name": "app"}, "triggers": triggers, **spec}
    return build_spec(ScaledObject.model_validate({"metadata": {"name": "app", "namespace": "shop"}, "spec": body}))


def metrics_of(spec: ScalingSpec) -> MetricSet:
    listed = [[CPU] if one.type == "cpu" else [ExternalMetric(name=one.type, target=5)] for one in spec.triggers]
    return name_metrics(spec, listed)


def see(spec: ScalingSpec, *outcomes, failures=0, replicas=None, ready_pods=None) -> Evaluation:
    metrics = metrics_of(spec)
    readings = tuple(
        MetricReading(metric=metric, outcome=outcome, taken_at=NOW)
        for metric, outcome in zip(metrics.external, outcomes, strict=False)
    )
    health = {metric.name: FallbackState(failures=failures) for metric in metrics.external}
    return evaluate(spec, metrics, Round(readings=readings), health, replicas, ready_pods)


def read(value: float, *, active: bool = True, **more) -> Reading:
    return Reading(value=value, active=active, **more)


def composite(milli: int) -> tuple[MetricValue, ...]:
    return (MetricValue(name="composite-metric", milli=milli),)
