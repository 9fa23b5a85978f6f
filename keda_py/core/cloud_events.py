"""CloudEvents 1.0: which Kubernetes Events become one, which sources want it, and its form on the wire.

Pure. `operator/cloud_events` makes them of our Kubernetes Events and sends them. Behaviour reference, section 16. Id
and time are those of the occurrence, not of the attempt to send it: a receiver can tell a repeat from a new event.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from keda_py.apis.cloud_event_source import CloudEventType, EventSubscription

TYPES: Mapping[tuple[str, str], CloudEventType] = {
    ("ScaledObject", "ScaledObjectReady"): "keda.scaledobject.ready.v1",
    ("ScaledObject", "ScaledObjectCheckFailed"): "keda.scaledobject.failed.v1",
    ("ScaledObject", "ScaledObjectUpdateFailed"): "keda.scaledobject.failed.v1",
    ("ScaledObject", "ScaledObjectDeleted"): "keda.scaledobject.removed.v1",
    ("ScaledObject", "ScaledObjectPaused"): "keda.scaledobject.paused.v1",
    ("ScaledObject", "ScaledObjectUnpaused"): "keda.scaledobject.unpaused.v1",
    ("ScaledJob", "ScaledJobReady"): "keda.scaledjob.ready.v1",
    ("ScaledJob", "ScaledJobCheckFailed"): "keda.scaledjob.failed.v1",
    ("ScaledJob", "ScaledJobUpdateFailed"): "keda.scaledjob.failed.v1",
    ("ScaledJob", "ScaledJobDeleted"): "keda.scaledjob.removed.v1",
    ("ScaledJob", "ScaledJobPaused"): "keda.scaledjob.paused.v1",
    ("ScaledJob", "ScaledJobUnpaused"): "keda.scaledjob.unpaused.v1",
    ("ScaledJob", "ScaledJobRolloutCleanupStarted"): "keda.scaledjob.rolloutcleanup.started.v1",
    ("ScaledJob", "ScaledJobRolloutCleanupCompleted"): "keda.scaledjob.rolloutcleanup.completed.v1",
    ("ScaledJob", "ScaledJobRolloutCleanupFailed"): "keda.scaledjob.rolloutcleanup.failed.v1",
    ("TriggerAuthentication", "TriggerAuthenticationAdded"): "keda.authentication.triggerauthentication.created.v1",
    # KEDA's reason for an update is the same for both kinds.
    (
        "TriggerAuthentication",
        "ClusterTriggerAuthenticationUpdated",
    ): "keda.authentication.triggerauthentication.updated.v1",
    ("TriggerAuthentication", "TriggerAuthenticationDeleted"): "keda.authentication.triggerauthentication.removed.v1",
    (
        "ClusterTriggerAuthentication",
        "ClusterTriggerAuthenticationAdded",
    ): "keda.authentication.clustertriggerauthentication.created.v1",
    (
        "ClusterTriggerAuthentication",
        "ClusterTriggerAuthenticationUpdated",
    ): "keda.authentication.clustertriggerauthentication.updated.v1",
    (
        "ClusterTriggerAuthentication",
        "ClusterTriggerAuthenticationDeleted",
    ): "keda.authentication.clustertriggerauthentication.removed.v1",
    ("Environment", "EnvironmentWaking"): "keda-py.environment.waking.v1",
    ("Environment", "EnvironmentAwake"): "keda-py.environment.awake.v1",
    ("Environment", "EnvironmentFallingAsleep"): "keda-py.environment.fallingasleep.v1",
    ("Environment", "EnvironmentAsleep"): "keda-py.environment.asleep.v1",
    ("Environment", "EnvironmentContested"): "keda-py.environment.contested.v1",
    ("Environment", "WaveTimedOut"): "keda-py.environment.wavetimedout.v1",
    ("Environment", "EnvironmentInvalid"): "keda-py.environment.invalid.v1",
    ("Environment", "EnvironmentConflict"): "keda-py.environment.conflict.v1",
    ("Environment", "EnvironmentHeldUp"): "keda-py.environment.heldup.v1",
    ("Environment", "NamespaceDeletionAnnounced"): "keda-py.environment.deletionannounced.v1",
    ("Environment", "NamespaceDeletionWithdrawn"): "keda-py.environment.deletionwithdrawn.v1",
    ("Environment", "NamespaceDeleted"): "keda-py.environment.namespacedeleted.v1",
}
"""Type by kind of object and reason of the Event; other Events are recorded in Kubernetes only."""

CONTENT_TYPE = "application/json"
BATCH_CONTENT_TYPE = "application/cloudevents-batch+json; charset=utf-8"
# Characters that a path may hold unencoded (RFC 3986); all others are percent-encoded.
_PATH = "/:@!$&'()*+,;="
# Characters that a header may hold unencoded: printable ASCII without blank, quote and percent (HTTP binding 1.0.2,
# 3.1.3.2).
_HEADER = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudEvent:
    """An occurrence to one object, for any receiver. `kind` and `name` are the object's, as they are written."""

    id: str
    type: CloudEventType
    time: datetime
    kind: str
    namespace: str
    name: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The sender: the cluster's name, from the CloudEventSource or --k8s-cluster-name, and KEDA's namespace."""

    cluster: str
    namespace: str


def reaches(event: CloudEvent, namespace: str) -> bool:
    """Whether a source of this namespace may get an event: a cluster-wide one ("") gets all, others their own."""
    return namespace in ("", event.namespace)


def is_wanted(kind: CloudEventType, subscription: EventSubscription | None) -> bool:
    """Whether the subscription includes the type: only the included types if any, else all but those excluded."""
    if subscription is None:
        return True
    if subscription.included_event_types:
        return kind in subscription.included_event_types
    return kind not in subscription.excluded_event_types


def write_attributes(event: CloudEvent, origin: Origin) -> dict[str, str]:
    """Return the context attributes; `source` is a URI reference, so a cluster's name is percent-encoded in it."""
    return {
        "specversion": "1.0",
        "id": event.id,
        "source": quote(f"/{origin.cluster}/{origin.namespace}/keda", safe=_PATH),
        "type": event.type,
        "subject": f"/{origin.cluster}/{event.namespace}/{event.kind.lower()}/{event.name.lower()}",
        "time": event.time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
    }


def write_data(event: CloudEvent) -> dict[str, str]:
    """Return the event's data, which receivers read."""
    return {"reason": event.reason, "message": event.message}


def write_http(event: CloudEvent, origin: Origin) -> tuple[dict[str, str], bytes]:
    """Return headers and body of HTTP's binary mode.

    As Go's SDK does, a source that is percent-encoded already is not encoded again for the header. Other characters
    that a header cannot hold are encoded, which the SDK omits to do.
    """
    attributes = write_attributes(event, origin)
    source = attributes.pop("source")
    headers = {f"ce-{name}": quote(value, safe=_HEADER) for name, value in attributes.items()}
    body = _to_json(write_data(event))
    return headers | {"ce-source": source, "content-type": CONTENT_TYPE}, body


def write_batch(event: CloudEvent, origin: Origin) -> tuple[dict[str, str], bytes]:
    """Return headers and body of a batch of one, in JSON, as Azure Event Grid takes it."""
    structured = {**write_attributes(event, origin), "datacontenttype": CONTENT_TYPE, "data": write_data(event)}
    return {"content-type": BATCH_CONTENT_TYPE}, _to_json([structured])


def _to_json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
