"""The neighbours of an object for admission: found by index, never by listing everything, and trimmed.

The webhook process asks (`webhook/inquiries.py`); the client behind it is not known, so the answer is bounded in size
and time for any content of the caches: a limited number of each kind, with only the fields that a check reads.

A scale target that is not in the cache may have been created a moment ago, by the same `kubectl apply`; for cpu and
memory triggers it is therefore read once, by name.
"""

from itertools import islice
from typing import Any

from keda_py.apis.foreign import map_at, maps_at
from keda_py.core.admission.scaled_object import NOT_OURS
from keda_py.core.defaults.building import layer_to_wire
from keda_py.core.defaults.filling import FindLayers
from keda_py.errors import ConfigError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import DEPLOYMENTS, STATEFUL_SETS, Obj
from keda_py.operator.admission.related_environments import RelatedEnvironments
from keda_py.operator.cluster.caches import BY_HPA, BY_TARGET, Caches, target_key, unpack_hpa
from keda_py.operator.environments.parts import EnvironmentParts

MOST_TOLD, MOST_CONTAINERS, MOST_LIMITS = 50, 500, 20
LONGEST_QUANTITY = 64
_MEASURED = ("cpu", "memory")
_RESOURCES = {resource.kind: resource for resource in (DEPLOYMENTS, STATEFUL_SETS)}


class RelatedObjects:
    """Answers questions of the webhook process about the namespace of an object."""

    def __init__(
        self, client: KubeClient, caches: Caches, environments: RelatedEnvironments, layers: FindLayers
    ) -> None:
        self._client, self.caches, self._environments, self._layers = client, caches, environments, layers

    async def around(self, question: Obj) -> Obj:
        """Return everything that could collide with the object. Raises KubeError if its target cannot be read."""
        match question:
            case {"overridesOf": namespace}:
                return self._environments.overrides_of(namespace)
            case {"defaultsOf": namespace}:
                return {"defaults": self._defaults(namespace)}
            case {"environmentOf": _}:
                return await self._environments.environment(question)
        namespace, caches = question["namespace"], self.caches
        target = target_key(namespace, question["apiVersion"], question["kind"], question["name"])
        others = caches.scaled_objects.by_index(BY_TARGET, target)[:MOST_TOLD]
        others += caches.scaled_objects.by_index(BY_HPA, f"{namespace}/{question['hpa']}")[:MOST_TOLD]
        return {
            "rivals": [_rival(one) for one in others],
            "hpas": [_hpa(unpack_hpa(one)) for one in caches.hpas.by_index(BY_TARGET, target)[:MOST_TOLD]],
            "limitRanges": self._limit_ranges(namespace),
            "containers": await self._containers(question) if question["containers"] else None,
            "defaults": self._defaults(namespace),
        }

    def _defaults(self, namespace: str) -> list[Obj]:
        return [layer_to_wire(layer) for layer in self._layers(namespace)]

    def _limit_ranges(self, namespace: str) -> list[Obj] | None:
        informer = self.caches.limit_ranges
        if not informer.synced:
            return None
        return [_limit_range(one) for one in informer.objects(namespace)[:MOST_TOLD]]

    async def _containers(self, question: Obj) -> list[Obj] | None:
        live = await self._target(question["namespace"], question["kind"] or "Deployment", question["name"])
        if live is None:
            return None
        return [
            _container(one) for one in islice(maps_at(live, "spec", "template", "spec", "containers"), MOST_CONTAINERS)
        ]

    async def _target(self, namespace: str, kind: str, name: str) -> Obj | None:
        resource = _RESOURCES[kind]
        cached = self.caches.workloads[resource.plural].get(namespace, name)
        if cached is not None:
            return cached
        try:
            return await self._client.get(resource.named(namespace, name))
        except (NotFound, ConfigError):  # ConfigError: no object can have that name
            return None


def related_objects(
    client: KubeClient, caches: Caches, environments: EnvironmentParts, layers: FindLayers
) -> RelatedObjects:
    """Put it together; `layers` are the defaults of a namespace, () if they are not known."""
    related = RelatedEnvironments(client, environments.dependencies.caches, environments.dependencies.owners)
    return RelatedObjects(client, caches, related, layers)


def _rival(live: Obj) -> Obj:
    target, own = (
        map_at(live, "spec", "scaleTargetRef"),
        map_at(live, "spec", "advanced", "horizontalPodAutoscalerConfig"),
    )
    name = live["metadata"]["name"]
    return {
        "name": name,
        "apiVersion": _text(target.get("apiVersion")),
        "kind": _text(target.get("kind")),
        "target": _text(target.get("name")),
        "hpa": _text(own.get("name")) or f"keda-hpa-{name}",
    }


def _hpa(live: Obj) -> Obj:
    owners = islice(maps_at(live, "metadata", "ownerReferences"), MOST_LIMITS)
    return {
        "metadata": {
            "name": live["metadata"]["name"],
            "annotations": {NOT_OURS: _text(map_at(live, "metadata", "annotations").get(NOT_OURS))},
            "ownerReferences": [{name: _text(owner.get(name)) for name in ("kind", "name")} for owner in owners],
        },
        "spec": {"scaleTargetRef": map_at(live, "spec", "scaleTargetRef")},
    }


def _limit_range(live: Obj) -> Obj:
    items = islice(maps_at(live, "spec", "limits"), MOST_LIMITS)
    limits = [
        {"type": "Container", "default": _amounts(item, "default"), "defaultRequest": _amounts(item, "defaultRequest")}
        for item in items
        if item.get("type") == "Container"
    ]
    return {"metadata": {"name": live["metadata"]["name"]}, "spec": {"limits": limits}}


def _container(one: Obj) -> Obj:
    resources = {part: _amounts(one, "resources", part) for part in ("requests", "limits")}
    return {"name": _text(one.get("name")), "resources": resources}


def _amounts(holder: Obj, *path: str) -> Obj:
    amounts = map_at(holder, *path)
    return {name: amounts[name] for name in _MEASURED if _is_quantity(amounts.get(name))}


def _is_quantity(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) <= LONGEST_QUANTITY)


def _text(value: Any) -> str:
    return value[:253] if isinstance(value, str) else ""
