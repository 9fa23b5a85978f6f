"""A CloudEventSource's spec -> the sink that it names, with the credentials of its authenticationRef.

As in KEDA an http destination uses no credentials. A changed credential makes its sources be opened again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

import httpx

from keda_py.answers.work_context import working
from keda_py.apis.cloud_event_source import AzureEventGridTopic, CloudEventSource, CloudEventSourceSpec
from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.auth.cluster_resolver import ClusterResolver
from keda_py.core.cloud_events import Origin
from keda_py.core.spec import TriggersSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.resources import CLOUD_EVENT_SOURCES, CLUSTER_CLOUD_EVENT_SOURCES, Obj
from keda_py.net.secret_texts import EMPTY
from keda_py.operator.cloud_events.sinks import ENDPOINT, URI, EventGridSink, HttpSink, Sink, check_address
from keda_py.settings.settings import ClusterSettings

_REFERENCE = "spec.authenticationRef"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec(TriggersSpec):
    """The part of a source that the resolver of credentials needs: one trigger without a scale target."""

    kind: ClassVar[str] = CLOUD_EVENT_SOURCES.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSourceSpec(SourceSpec):
    """The same for a ClusterCloudEventSource, which is in no namespace."""

    kind: ClassVar[str] = CLUSTER_CLOUD_EVENT_SOURCES.kind


def read_spec(live: Obj) -> CloudEventSourceSpec:
    """Parse the spec of either kind; they have the same shape. Raises ConfigError."""
    return parse_object(CloudEventSource, live).spec


class Destinations:
    """Opens the sinks of sources, with their credentials."""

    def __init__(self, http: httpx.AsyncClient, cluster: ClusterSettings, resolver: ClusterResolver) -> None:
        self._http, self._cluster, self._resolver = http, cluster, resolver

    def subscribe(self, notify: Callable[[ObjectKey], None]) -> None:
        """Call `notify` with each object whose credentials may have changed, also objects of other kinds."""
        self._resolver.subscribe(lambda key, _: notify(key))

    async def open(self, live: Obj) -> Sink:
        """Open the sink of a source.

        Raises ConfigError for a destination that cannot be used, KubeError, and ScalerError if a vault does not answer.
        """
        spec = read_spec(live)
        origin = Origin(cluster=spec.cluster_name or self._cluster.name, namespace=self._cluster.object_namespace)
        http, topic = spec.destination.http, spec.destination.azure_event_grid_topic
        if http is not None:
            check_address(http.uri, URI)
            return HttpSink(http=self._http, uri=http.uri, origin=origin)
        if topic is not None:
            return await self._open_topic(topic, _as_trigger(live, spec), origin)
        raise ConfigError("spec.destination: is empty; give http.uri or azureEventGridTopic", field="spec.destination")

    def forget(self, key: ObjectKey) -> None:
        self._resolver.forget(key)

    async def _open_topic(self, topic: AzureEventGridTopic, source: SourceSpec, origin: Origin) -> EventGridSink:
        check_address(topic.endpoint, ENDPOINT)
        with working(source.namespace):
            resolved = await self._resolver.resolve(source, 0)
        if (provider := resolved.pod_identity.provider) not in ("", "none"):
            text = f'{_REFERENCE}: podIdentity "{provider}" cannot be used here; give an accessKey'
            raise ConfigError(text, field=_REFERENCE)
        key = resolved.auth.get("accessKey", EMPTY).get_secret_value()
        if not (key and key.isascii() and key.isprintable()):
            text = f"{_REFERENCE}: no access key; refer to a TriggerAuthentication with parameter accessKey"
            raise ConfigError(text, field=_REFERENCE)
        return EventGridSink(http=self._http, endpoint=topic.endpoint, access_key=key, origin=origin)


def _as_trigger(live: Obj, spec: CloudEventSourceSpec) -> SourceSpec:
    meta = live["metadata"]
    trigger = ScaleTrigger(type="azureEventGridTopic", metadata={}, authentication_ref=spec.authentication_ref)
    kind = ClusterSourceSpec if not meta.get("namespace") else SourceSpec
    return kind(
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta.get("uid", ""),
        generation=meta.get("generation", 1),
        labels={},
        annotations={},
        triggers=(trigger,),
        polling_interval=timedelta(0),
    )
