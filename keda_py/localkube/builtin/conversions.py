"""Conversions of the built-in kinds that are served in two versions and stored in one.

Events are stored as core/v1 and also shown in events.k8s.io/v1. HorizontalPodAutoscalers are stored as autoscaling/v2
and also shown in v1, which keeps in annotations what it has no fields for. All other kinds are the same in each
version.
"""

from collections.abc import Callable
from typing import Any

import orjson

from keda_py.schema.resources import Obj, Resource

# events.k8s.io/v1 name -> core/v1 name
_EVENT_FIELDS = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}


def from_storage(resource: Resource, obj: Obj) -> Obj:
    """Convert a stored object to this resource's version."""
    convert = _SHOWN.get((resource.group, resource.version, resource.kind))
    return convert(obj) if convert else obj


def to_storage(resource: Resource, obj: Obj) -> Obj:
    """Convert a client's object to the stored version."""
    convert = _STORED.get((resource.group, resource.version, resource.kind))
    return convert(obj) if convert else obj


def event_field(path: str) -> str:
    """Translate a field selector's path from events.k8s.io to the stored form."""
    head, dot, rest = path.partition(".")
    return _EVENT_FIELDS.get(head, head) + dot + rest


def _event_shown(event: Obj) -> Obj:
    names = {stored: shown for shown, stored in _EVENT_FIELDS.items()}
    return {names.get(key, key): value for key, value in event.items()}


def _event_stored(event: Obj) -> Obj:
    stored = {_EVENT_FIELDS.get(key, key): value for key, value in event.items()}
    return {**stored, "apiVersion": "v1", "kind": "Event"}


# The autoscaling/v1 view of a HorizontalPodAutoscaler: CPU utilisation has fields, all else is in annotations.
#
# The annotations are the real server's, so that an object survives a round trip through the other version.

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _BEHAVIOR = _PREFIX + "metrics", _PREFIX + "behavior"
_CURRENT, _CONDITIONS = _PREFIX + "current-metrics", _PREFIX + "conditions"


def hpa_to_v1(hpa: Obj) -> Obj:
    """Convert an autoscaling/v2 object to v1."""
    spec, status = dict(hpa.get("spec", {})), dict(hpa.get("status", {}))
    notes: dict[str, Any] = {}
    others = []
    for metric in spec.pop("metrics", None) or ():
        if (percent := _cpu_percent(metric)) is not None:
            spec["targetCPUUtilizationPercentage"] = percent
        else:
            others.append(metric)
    notes[_METRICS], notes[_BEHAVIOR] = others, spec.pop("behavior", None)
    notes[_CURRENT], notes[_CONDITIONS] = status.pop("currentMetrics", None), status.pop("conditions", None)
    added = {key: orjson.dumps(value).decode() for key, value in notes.items() if value}
    metadata = {**hpa["metadata"]}
    if added:
        metadata["annotations"] = {**metadata.get("annotations", {}), **added}
    # v1 has no omitempty on the counts, v2 leaves out a current count of 0.
    status = {"currentReplicas": 0, "desiredReplicas": 0, **status}
    return {**hpa, "metadata": metadata, "spec": spec, "status": status}


def hpa_from_v1(hpa: Obj) -> Obj:
    """Convert a v1 object to autoscaling/v2, the stored version."""
    spec, metadata = dict(hpa.get("spec", {})), dict(hpa["metadata"])
    annotations = dict(metadata.pop("annotations", None) or {})
    metrics = _read(annotations.pop(_METRICS, None)) or []
    if (percent := spec.pop("targetCPUUtilizationPercentage", None)) is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        metrics = [*metrics, {"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if metrics:
        spec["metrics"] = metrics
    if behavior := _read(annotations.pop(_BEHAVIOR, None)):
        spec["behavior"] = behavior
    status = {"currentMetrics": None, **(hpa.get("status") or {})}
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    for key, note in (("currentMetrics", _CURRENT), ("conditions", _CONDITIONS)):
        if value := _read(annotations.pop(note, None)):
            status[key] = value
    if annotations:
        metadata["annotations"] = annotations
    head = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    return {**head, "metadata": metadata, "spec": spec, "status": status}


def _cpu_percent(metric: Obj) -> int | None:
    resource = metric.get("resource") or {}
    target = resource.get("target") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu" or target.get("type") != "Utilization":
        return None
    percent: int | None = target.get("averageUtilization")
    return percent


def _read(text: str | None) -> Any:
    """Parse an annotation's JSON; malformed JSON counts as absent, as with the real server."""
    try:
        return orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return None


_Conversion = Callable[[Obj], Obj]
_SHOWN: dict[tuple[str, str, str], _Conversion] = {
    ("events.k8s.io", "v1", "Event"): _event_shown,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): hpa_to_v1,
}
_STORED: dict[tuple[str, str, str], _Conversion] = {
    ("events.k8s.io", "v1", "Event"): _event_stored,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): hpa_from_v1,
}
