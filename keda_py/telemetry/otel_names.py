"""KEDA's OpenTelemetry names: the Prometheus series behind each, and how its attributes differ from the labels.

Data only; `otel.py` exports it. Behaviour reference, section 14.2.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Labels = Mapping[str, str]
Attributes = Mapping[str, str | bool]

HTTP_SECONDS = "keda.scaler.http.request.duration.seconds"
HTTP_SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


def _unchanged(labels: Labels) -> Attributes:
    return labels


def _scaler(labels: Labels) -> Attributes:
    """Return KEDA's attributes of a trigger, whose names depend on the kind of its object."""
    is_job = labels["type"] == "scaledjob"
    return {
        "namespace": labels["namespace"],
        "scaledJob" if is_job else "scaledObject": labels["scaledObject"],
        "scaler": labels["scaler"],
        "triggerIndex" if is_job else "scalerIndex": labels["triggerIndex"],
        "metric": labels["metric"],
    }


def _loop(labels: Labels) -> Attributes:
    return {"namespace": labels["namespace"], "type": labels["type"], "name": labels["resource"]}


def _registered(labels: Labels) -> Attributes:
    return {"namespace": labels["namespace"] or "default", "type": labels["type"]}


def _empty(labels: Labels) -> Attributes:
    return {
        "namespace": labels["namespace"],
        "scaledResource": labels["scaledResource"],
        "triggerName": labels["triggerName"],
        "metricName": labels["metricName"],
        "isScaledObject": labels["resourceType"] == "ScaledObject",
        "ignoreNullValues": labels["ignoreNullValues"] == "true",
    }


def _emitted(labels: Labels) -> Attributes:
    renamed = {"cloudeventsource": "cloudEventSource"}
    return {renamed.get(name, name): value for name, value in labels.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedMetric:
    """One OpenTelemetry name; `scale` is 1000 if KEDA counts milliseconds."""

    name: str
    series: str
    kind: Literal["gauge", "counter", "updown"]
    attributes: Callable[[Labels], Attributes] = _unchanged
    description: str = ""
    unit: str = ""
    scale: float = 1.0

    def value(self, shown: float) -> float:
        """Convert a series' value; KEDA sends whole milliseconds, so that 0.9 ms is 0."""
        if self.scale != 1:
            return float(int(shown * self.scale))
        return int(shown) if self.kind != "gauge" or self.name == "keda.build.info" else shown


def _gauge(
    name: str, series: str, attributes: Callable[[Labels], Attributes], description: str, unit: str = ""
) -> ExportedMetric:
    return ExportedMetric(
        name=name, series=series, kind="gauge", attributes=attributes, description=description, unit=unit
    )


def _in_milliseconds(name: str, series: str, attributes: Callable[[Labels], Attributes]) -> ExportedMetric:
    text = f"deprecated, use {name}.seconds"
    return ExportedMetric(name=name, series=series, kind="gauge", attributes=attributes, description=text, scale=1000)


def _counter(
    name: str, series: str, description: str, attributes: Callable[[Labels], Attributes] = _unchanged
) -> ExportedMetric:
    return ExportedMetric(name=name, series=series, kind="counter", attributes=attributes, description=description)


def _up_down(
    name: str, series: str, description: str, attributes: Callable[[Labels], Attributes] = _unchanged
) -> ExportedMetric:
    return ExportedMetric(name=name, series=series, kind="updown", attributes=attributes, description=description)


_LATENCY = "keda_scaler_metrics_latency_seconds"
_LOOP = "keda_internal_scale_loop_latency_seconds"
_TRIGGERS = "keda_trigger_registered_total"
_RESOURCES = "keda_resource_registered_total"

EXPORTED = (
    _counter("keda.scaler.errors", "keda_scaler_detail_errors_total", "failed readings of a metric", _scaler),
    _counter("keda.scaledobject.errors", "keda_scaled_object_errors_total", "failures of a ScaledObject"),
    _counter("keda.scaledjob.errors", "keda_scaled_job_errors_total", "failures of a ScaledJob"),
    _up_down("keda.trigger.totals", _TRIGGERS, "deprecated, use keda.trigger.registered.count"),
    _up_down("keda.trigger.registered.count", _TRIGGERS, "triggers by type"),
    _up_down("keda.resource.totals", _RESOURCES, "deprecated, use keda.resource.registered.count", _registered),
    _up_down("keda.resource.registered.count", _RESOURCES, "objects by type and namespace", _registered),
    _counter(
        "keda.scaler.empty.upstream.responses",
        "keda_scaler_empty_upstream_responses_total",
        "answers with nothing in them",
        _empty,
    ),
    _gauge("keda.scaler.metrics.value", "keda_scaler_metrics_value", _scaler, "last value of a metric"),
    _gauge("keda.scaler.metrics.latency.seconds", _LATENCY, _scaler, "how long the source took to answer", "s"),
    _in_milliseconds("keda.scaler.metrics.latency", _LATENCY, _scaler),
    _gauge("keda.internal.scale.loop.latency.seconds", _LOOP, _loop, "how late a scale loop began", "s"),
    _in_milliseconds("keda.internal.scale.loop.latency", _LOOP, _loop),
    _gauge("keda.scaler.active", "keda_scaler_active", _scaler, "1 while a trigger is active"),
    _gauge("keda.scaled.object.paused", "keda_scaled_object_paused", _unchanged, "1 while paused"),
    _gauge("keda.build.info", "keda_build_info", _unchanged, "version and platform; always 1"),
    _counter(
        "keda.cloudeventsource.events.emitted.count",
        "keda_cloudeventsource_events_emitted_total",
        "CloudEvents sent, or not, to a sink",
        _emitted,
    ),
    _gauge(
        "keda.cloudeventsource.events.queued", "keda_cloudeventsource_events_queued", _unchanged, "CloudEvents waiting"
    ),
    _counter("keda.scaler.http.requests.count", "keda_scaler_http_requests_total", "HTTP requests of a trigger"),
)
