"""What the caches know of an object's namespace, for admission: by index, never by a list of everything.

A scale target that the cache does not hold may have been created a moment ago, by the same `kubectl apply`; for cpu and
memory triggers it is therefore asked for once, by name.
"""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.apis.workloads import Container, HorizontalPodAutoscaler, LimitRange, Workload
from keda_py.core.admission import Neighbourhood
from keda_py.core.admission_resources import reads_containers
from keda_py.core.spec import ScalingSpec, TargetSpec, build_spec
from keda_py.errors import ConfigError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS, STATEFUL_SETS, Obj
from keda_py.operator.caches import BY_HPA, BY_TARGET, Caches, target_key

M = TypeVar("M", bound=BaseModel)
_RESOURCES = {resource.kind: resource for resource in (DEPLOYMENTS, STATEFUL_SETS)}


class Neighbours:
    """Finds the `Neighbourhood` of a ScaledObject."""

    def __init__(self, client: KubeClient, caches: Caches) -> None:
        self._client, self._caches = client, caches

    async def around(self, obj: ScaledObject) -> Neighbourhood:
        """Whatever could collide with it. Raises KubeError when its target cannot be asked for."""
        spec, caches = build_spec(obj), self._caches
        target = target_key(spec.namespace, spec.target.api_version, spec.target.kind, spec.target.name)
        others = caches.scaled_objects.by_index(BY_TARGET, target)
        others += caches.scaled_objects.by_index(BY_HPA, f"{spec.namespace}/{spec.hpa_name}")
        return Neighbourhood(
            scaled_objects=_parsed(ScaledObject, others),
            hpas=_parsed(HorizontalPodAutoscaler, caches.hpas.by_index(BY_TARGET, target)),
            limit_ranges=self._limit_ranges(spec.namespace),
            containers=await self._containers(spec) if reads_containers(spec) else None,
        )

    def _limit_ranges(self, namespace: str) -> Sequence[LimitRange] | None:
        informer = self._caches.limit_ranges
        return _parsed(LimitRange, informer.objects(namespace)) if informer.synced else None

    async def _containers(self, spec: ScalingSpec) -> Sequence[Container] | None:
        live = await self._target(spec.namespace, spec.target)
        found = _parsed(Workload, [live]) if live is not None else ()
        return found[0].spec.template.spec.containers if found else None

    async def _target(self, namespace: str, target: TargetSpec) -> Obj | None:
        resource = _RESOURCES[target.kind]
        cached = self._caches.workloads[resource.plural].get(namespace, target.name)
        if cached is not None:
            return cached
        try:
            return await self._client.get(resource.named(namespace, target.name))
        except (NotFound, ConfigError):  # ConfigError: no object can have that name
            return None


def _parsed(model: type[M], live: Sequence[Obj]) -> tuple[M, ...]:
    """Those that can be read; an object of somebody else's making must not decide over ours."""
    found = []
    for one in live:
        try:
            found.append(parse_object(model, one))
        except ConfigError:
            continue
    return tuple(found)
