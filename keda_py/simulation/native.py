"""An HPA that no ScaledObject owns, ready to be simulated: with HPAScaleToZero on, one of `minReplicas: 0` may wake.

Its metrics become those of a ScaledObject that nothing looks at, so that loads bind to them by their names; bounds and
behaviour are the HPA's own. Kept apart from `subject.py`, which makes what the operator makes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from keda_py.apis.foreign import map_at, maps_at, name_of, namespace_of, text_at
from keda_py.core.hpa.wire import WITHOUT_PODS, read_spec, read_target
from keda_py.core.metric_names import name_metrics
from keda_py.core.metric_specs import CPU, MEMORY, ExternalMetric, MetricSpec, ResourceMetric
from keda_py.core.spec import AS_WRITTEN
from keda_py.errors import ConfigError
from keda_py.kube.resources import HORIZONTAL_POD_AUTOSCALERS
from keda_py.replay.engine.subject import subject_of
from keda_py.simulation.subject import SimulatedObject

_RESOURCES = ("Resource", "ContainerResource")


def is_native(body: Mapping[str, Any]) -> bool:
    """Whether it is an HPA, and no ScaledObject."""
    return bool(body["kind"] == HORIZONTAL_POD_AUTOSCALERS.kind)


def goes_to_zero(body: Mapping[str, Any]) -> bool:
    """Whether it is an HPA that may go to zero."""
    return is_native(body) and map_at(body, "spec").get("minReplicas") == 0


def build_native(body: Mapping[str, Any]) -> SimulatedObject:
    """Build the HPA that this manifest is. Raises ConfigError for a metric that no load can stand for."""
    spec = AS_WRITTEN.read(_as_scaled_object(body))
    metrics = name_metrics(spec, [[_metric(one, at)] for at, one in enumerate(_metrics(body))])
    subject = subject_of(spec, metrics, (0.0 for _ in metrics.external))
    return SimulatedObject(subject=replace(subject, hpa=read_spec(body), native=True), scalers=())


def _metrics(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return iter(maps_at(map_at(body, "spec"), "metrics"))


def _as_scaled_object(body: Mapping[str, Any]) -> dict[str, Any]:
    spec = map_at(body, "spec")
    triggers = [
        {"type": _type_of(metric), "name": _name_of(metric), "metadata": {}, "metricType": _target_of(metric)["type"]}
        for metric in _metrics(body)
    ]
    bounds = {"minReplicaCount": spec.get("minReplicas", 1), "maxReplicaCount": spec.get("maxReplicas")}
    metadata = {"name": name_of(body), "namespace": namespace_of(body)}
    target = map_at(spec, "scaleTargetRef")
    return {
        "kind": "ScaledObject",
        "metadata": metadata,
        "spec": {"scaleTargetRef": target, **bounds, "triggers": triggers},
    }


def _metric(metric: Mapping[str, Any], at: int) -> MetricSpec:
    kind, target = text_at(metric, "type"), _target_of(metric)
    if kind in WITHOUT_PODS:
        return ExternalMetric(name=_name_of(metric), target=read_target(target).amount / 1000)
    name = _name_of(metric)
    if kind not in _RESOURCES or name not in (CPU, MEMORY):
        raise ConfigError(f"spec.metrics[{at}].type: {kind} {name} cannot be simulated, take it out of the file")
    percent = target.get("averageUtilization")
    return ResourceMetric(
        name=CPU if name == CPU else MEMORY,
        target_type="Utilization" if percent is not None else "AverageValue",
        target=str(percent if percent is not None else target["averageValue"]),
        container=text_at(_source_of(metric), "container"),
    )


def _type_of(metric: Mapping[str, Any]) -> str:
    return _name_of(metric) if text_at(metric, "type") in _RESOURCES else text_at(metric, "type").lower()


def _source_of(metric: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = text_at(metric, "type")
    return map_at(metric, kind[:1].lower() + kind[1:])


def _name_of(metric: Mapping[str, Any]) -> str:
    source = _source_of(metric)
    return text_at(source, "metric", "name") or text_at(source, "name")


def _target_of(metric: Mapping[str, Any]) -> Mapping[str, Any]:
    return map_at(_source_of(metric), "target")
