"""Pod template of a scale target: from the operator's caches, or followed by name for other kinds.

A ScaledJob contains its own.
"""

from collections.abc import Mapping

from keda_py.auth.lookup.lookup import Lookup
from keda_py.auth.lookup.pod_template import PodEnvironment, keep_pod, read_pod
from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.core.spec import ScalingSpec, TargetSpec, TriggersSpec
from keda_py.errors import NotFound
from keda_py.kube.discovery import Discovery
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.named_watches import Reference
from keda_py.kube.resources import Resource

POD = "pod"
"""Field of a cached workload that holds the bytes of `keep_pod`."""


class TargetPods:
    """Finder of pod templates. `workloads` are informers by plural, of objects that keep their pod (see `POD`)."""

    def __init__(self, workloads: Mapping[str, Informer], discovery: Discovery) -> None:
        self._workloads, self._discovery = workloads, discovery

    def container(self, spec: TriggersSpec) -> str:
        """Return `envSourceContainerName`, "" for the first container."""
        match spec:
            case ScalingSpec():
                return spec.target.container
            case JobScalingSpec():
                return spec.container
        return ""

    async def find(self, lookup: Lookup) -> PodEnvironment | None:
        """Return the template whose environment and ServiceAccount a trigger may use; None for a target without one.

        The trigger is resolved again when it changes. Raises KubeError: NotFound if there is no target.
        """
        match lookup.spec:
            case ScalingSpec() as spec:
                return await self._of_target(spec.target, lookup)
            case JobScalingSpec() as spec:
                return read_pod(keep_pod({"spec": dict(spec.job)}))
        return None

    async def _of_target(self, target: TargetSpec, lookup: Lookup) -> PodEnvironment | None:
        namespace = lookup.spec.namespace
        resource = (await self._discovery.find(target.api_version, target.kind)).resource
        if (informer := self._cached(resource)) is None:
            live = await lookup.read(resource, namespace, target.name)
            if live is None:
                raise NotFound(f'{resource.plural} "{target.name}" not found', status=404, reason="NotFound")
            return read_pod(keep_pod(live))
        # Cached workloads are followed by their informer, which reports a changed pod template.
        lookup.note(Reference(resource, namespace, target.name))
        cached = informer.get(namespace, target.name)
        if cached is None:  # the target may be newer than the cache
            return read_pod(keep_pod(await lookup.around.client.get(resource.named(namespace, target.name))))
        return read_pod(cached[POD])

    def _cached(self, resource: Resource) -> Informer | None:
        informer = self._workloads.get(resource.plural)
        return informer if informer is not None and informer.spec.resource == resource else None
