"""The pod template of a scale target: from the operator's caches, or followed by name for other kinds."""

from collections.abc import Mapping
from typing import Protocol

from keda_py.auth.lookup import Lookup
from keda_py.auth.pod_template import PodTemplate, keep_pod, read_pod
from keda_py.core.spec import ScalingSpec
from keda_py.errors import NotFound
from keda_py.kube.discovery import Discovery
from keda_py.kube.informer import Informer
from keda_py.kube.named_watches import Reference
from keda_py.kube.resources import Resource

POD = "pod"
"""Where a cached workload keeps what `keep_pod` kept."""


class PodTemplates(Protocol):
    """Finds the pod template whose environment and ServiceAccount a trigger may use."""

    def container(self, spec: ScalingSpec) -> str:
        """The container whose environment triggers read, "" for the first."""
        ...

    async def find(self, lookup: Lookup) -> PodTemplate | None:
        """None for a target without one. Raises KubeError: NotFound where there is no target."""
        ...


class TargetPods:
    """Of a ScaledObject's target. `workloads` are informers by plural, of objects that keep their pod (see `POD`)."""

    def __init__(self, workloads: Mapping[str, Informer], discovery: Discovery) -> None:
        self._workloads, self._discovery = workloads, discovery

    def container(self, spec: ScalingSpec) -> str:
        """`envSourceContainerName`."""
        return spec.target.container

    async def find(self, lookup: Lookup) -> PodTemplate | None:
        """The template as it is now; the trigger is resolved again when it changes."""
        target, namespace = lookup.spec.target, lookup.spec.namespace
        resource = (await self._discovery.find(target.api_version, target.kind)).resource
        if (informer := self._cached(resource)) is None:
            live = await lookup.read(resource, namespace, target.name)
            if live is None:
                raise NotFound(f'{resource.plural} "{target.name}" not found', status=404, reason="NotFound")
            return read_pod(keep_pod(live))
        lookup.note(Reference(resource, namespace, target.name))
        cached = informer.get(namespace, target.name)
        if cached is None:  # younger than what the cache has heard of
            return read_pod(keep_pod(await lookup.around.client.get(resource.named(namespace, target.name))))
        return read_pod(cached[POD])

    def _cached(self, resource: Resource) -> Informer | None:
        informer = self._workloads.get(resource.plural)
        return informer if informer is not None and informer.spec.resource == resource else None
