"""Assembly of admission: what the webhook's process has to know of other objects and of people who ask."""

from keda_py.kube.client import KubeClient
from keda_py.kube.events import EventRecorder
from keda_py.operator.admission.related_environments import RelatedEnvironments
from keda_py.operator.admission.related_objects import RelatedObjects
from keda_py.operator.admission.requesters import Requesters
from keda_py.operator.admission.reviews import AdmissionServer
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.environments.parts import EnvironmentParts
from keda_py.settings.settings import Settings
from keda_py.telemetry.prometheus import OperatorMetrics


def assemble_admission(
    settings: Settings,
    client: KubeClient,
    events: EventRecorder,
    instruments: OperatorMetrics,
    caches: Caches,
    environments: EnvironmentParts,
) -> AdmissionServer:
    """Put it together; nothing runs yet."""
    related = RelatedEnvironments(client, environments.caches, environments.owners)
    neighbours = RelatedObjects(client, caches, related)
    requesters = Requesters(client, environments.caches.overrides)
    return AdmissionServer(settings, neighbours, events, instruments, requesters)
