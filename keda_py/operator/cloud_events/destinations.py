"""A CloudEventSource's spec -> the sink that it names."""

import httpx

from keda_py.apis.cloud_event_source import CloudEventSource, CloudEventSourceSpec
from keda_py.apis.parsing import parse_object
from keda_py.core.cloud_events import Origin
from keda_py.errors import ConfigError
from keda_py.kube.resources import Obj
from keda_py.operator.cloud_events.sinks import Sink, open_http_sink
from keda_py.operator.queue import Key
from keda_py.settings import ClusterSettings


def read_spec(live: Obj) -> CloudEventSourceSpec:
    """Of either kind; they have the same shape. Raises ConfigError."""
    return parse_object(CloudEventSource, live).spec


class Destinations:
    """Opens sinks."""

    def __init__(self, http: httpx.AsyncClient, cluster: ClusterSettings) -> None:
        self._http, self._cluster = http, cluster

    async def open(self, live: Obj) -> Sink:
        """The sink of a source. Raises ConfigError for a destination that cannot be used, KubeError."""
        spec = read_spec(live)
        origin = Origin(cluster=spec.cluster_name or self._cluster.name, namespace=self._cluster.object_namespace)
        if spec.destination.http is not None:
            return open_http_sink(self._http, spec.destination.http.uri, origin)
        if spec.destination.azure_event_grid_topic is not None:
            raise ConfigError("spec.destination.azureEventGridTopic: is not supported; use http")
        raise ConfigError("spec.destination: is empty; give http.uri or azureEventGridTopic", field="spec.destination")

    def forget(self, key: Key) -> None:
        """The source is gone."""
