"""References to other objects: credentials, what holds them, and the workload whose environment is read.

Found by the names of the fields, as Kubernetes and KEDA call them; what the files lack is fetched from a cluster.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import (
    CLUSTER_TRIGGER_AUTHENTICATIONS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    SECRETS,
    SERVICE_ACCOUNTS,
    STATEFUL_SETS,
    TRIGGER_AUTHENTICATIONS,
    Obj,
    Resource,
)

NEEDED: Mapping[str, Resource] = {
    resource.kind: resource
    for resource in (
        CONFIG_MAPS,
        SECRETS,
        SERVICE_ACCOUNTS,
        DEPLOYMENTS,
        STATEFUL_SETS,
        TRIGGER_AUTHENTICATIONS,
        CLUSTER_TRIGGER_AUTHENTICATIONS,
    )
}
"""Kinds that a trigger is built from, by name."""

_FIELDS = {
    "secretKeyRef": SECRETS,
    "secretRef": SECRETS,
    "secretTargetRef": SECRETS,
    "configMapKeyRef": CONFIG_MAPS,
    "configMapRef": CONFIG_MAPS,
    "configMapTargetRef": CONFIG_MAPS,
    "authenticationRef": TRIGGER_AUTHENTICATIONS,
    "scaleTargetRef": DEPLOYMENTS,
}
_MOST = 100
"""Objects that are fetched for one trigger."""

Fetch = Callable[[Resource, str, str], Awaitable[Obj | None]]
"""An object of a cluster, None if it does not exist. Raises KubeError."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An object by name; `namespace` is "" for what is in none."""

    resource: Resource
    namespace: str
    name: str

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.resource.kind, self.namespace, self.name)


async def with_references(subject: Obj, given: Sequence[Obj], namespace: str, fetch: Fetch) -> list[Obj]:
    """Add to the given objects what `subject` and they refer to. Raises KubeError."""
    found = {key_of(one, namespace): one for one in given if one.get("kind") in NEEDED}
    left = [*references_in(subject, namespace)]
    for one in found.values():
        left += references_in(one, namespace)
    requested: set[ObjectKey] = set()
    # References of fetched objects are followed too; the bound ends circles and manifests that name everything.
    while left and len(requested) < _MOST:
        reference = left.pop()
        if reference.key in found or reference.key in requested:
            continue
        requested.add(reference.key)
        live = await fetch(reference.resource, reference.namespace, reference.name)
        if live is not None:
            found[reference.key] = live | {"apiVersion": reference.resource.api_version, "kind": reference.key.kind}
            left += references_in(live, namespace)
    return list(found.values())


def references_in(obj: Mapping[str, Any], namespace: str) -> Iterator[Reference]:
    """Every reference in an object, at any depth; one of a workload or an authentication says its kind."""
    for field, value in obj.items():
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, dict):
                continue
            if field in _FIELDS and isinstance(one.get("name"), str):
                yield from _reference(_FIELDS[field], one, namespace)
            yield from references_in(one, namespace)


def key_of(obj: Obj, namespace: str) -> ObjectKey:
    """Key of an object; the command's namespace counts where the object names none."""
    resource, metadata = NEEDED[obj["kind"]], obj["metadata"]
    where = metadata.get("namespace") or namespace
    return ObjectKey(resource.kind, where if resource.namespaced else "", metadata["name"])


def _reference(usual: Resource, one: Mapping[str, Any], namespace: str) -> Iterator[Reference]:
    resource = NEEDED.get(one.get("kind") or usual.kind)
    if resource is not None:
        yield Reference(resource, namespace if resource.namespaced else "", one["name"])
