"""Conversions of the built-in kinds that are served in two versions and stored in one.

Events are stored as core/v1 and also shown in events.k8s.io/v1. HorizontalPodAutoscalers are stored as autoscaling/v2
and also shown in v1, which keeps in annotations what it has no fields for. All other kinds are the same in each
version.
"""

from collections.abc import Callable

from keda_py.localkube.builtin.autoscaling_v1 import hpa_from_v1, hpa_to_v1
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


_Conversion = Callable[[Obj], Obj]
_SHOWN: dict[tuple[str, str, str], _Conversion] = {
    ("events.k8s.io", "v1", "Event"): _event_shown,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): hpa_to_v1,
}
_STORED: dict[tuple[str, str, str], _Conversion] = {
    ("events.k8s.io", "v1", "Event"): _event_stored,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): hpa_from_v1,
}
