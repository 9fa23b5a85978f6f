"""CloudEventSource and ClusterCloudEventSource: receivers of our events besides Kubernetes. Behaviour reference, 16."""

from typing import Literal

from keda_py.apis.wire import AuthenticationRef, Condition, ObjectMeta, Wire

CloudEventType = Literal[
    "keda.scaledobject.ready.v1",
    "keda.scaledobject.failed.v1",
    "keda.scaledobject.removed.v1",
    "keda.scaledobject.paused.v1",
    "keda.scaledobject.unpaused.v1",
    "keda.scaledjob.ready.v1",
    "keda.scaledjob.failed.v1",
    "keda.scaledjob.removed.v1",
    "keda.scaledjob.paused.v1",
    "keda.scaledjob.unpaused.v1",
    "keda.scaledjob.rolloutcleanup.started.v1",
    "keda.scaledjob.rolloutcleanup.completed.v1",
    "keda.scaledjob.rolloutcleanup.failed.v1",
    "keda.authentication.triggerauthentication.created.v1",
    "keda.authentication.triggerauthentication.updated.v1",
    "keda.authentication.triggerauthentication.removed.v1",
    "keda.authentication.clustertriggerauthentication.created.v1",
    "keda.authentication.clustertriggerauthentication.updated.v1",
    "keda.authentication.clustertriggerauthentication.removed.v1",
    "keda-py.environment.waking.v1",
    "keda-py.environment.awake.v1",
    "keda-py.environment.fallingasleep.v1",
    "keda-py.environment.asleep.v1",
    "keda-py.environment.contested.v1",
    "keda-py.environment.wavetimedout.v1",
    "keda-py.environment.invalid.v1",
    "keda-py.environment.conflict.v1",
    "keda-py.environment.heldup.v1",
    "keda-py.environment.deletionannounced.v1",
    "keda-py.environment.deletionwithdrawn.v1",
    "keda-py.environment.namespacedeleted.v1",
]


class HttpDestination(Wire):
    """CloudEvents receiver over HTTP."""

    uri: str


class AzureEventGridTopic(Wire):
    """Custom topic of Azure Event Grid."""

    endpoint: str


class Destination(Wire):
    """Receiver of the events; http takes precedence if both are given."""

    http: HttpDestination | None = None
    azure_event_grid_topic: AzureEventGridTopic | None = None


class EventSubscription(Wire):
    """Types of events that are sent: those included, or all but those excluded."""

    included_event_types: list[CloudEventType] = []
    excluded_event_types: list[CloudEventType] = []


class CloudEventSourceSpec(Wire):
    """Types of events, and their receiver."""

    cluster_name: str = ""
    """Part of the events' source; --k8s-cluster-name by default."""
    destination: Destination
    authentication_ref: AuthenticationRef | None = None
    event_subscription: EventSubscription | None = None


class CloudEventSourceStatus(Wire):
    """Conditions that tell whether events can be sent."""

    conditions: list[Condition] = []


class CloudEventSource(Wire):
    """Sends the events of a namespace to a CloudEvents receiver."""

    metadata: ObjectMeta
    spec: CloudEventSourceSpec
    status: CloudEventSourceStatus = CloudEventSourceStatus()


class ClusterCloudEventSource(Wire):
    """Sends the events of the cluster to a CloudEvents receiver."""

    metadata: ObjectMeta
    spec: CloudEventSourceSpec
    status: CloudEventSourceStatus = CloudEventSourceStatus()
