"""What tests do in a cluster as its users do it: through the API, in a namespace of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keda_py.kube import resources
from keda_py.kube.client import KubeClient, PatchKind
from keda_py.kube.resources import SCALED_OBJECTS, Obj, ObjectPath, Resource

KINDS = {one.kind: one for one in vars(resources).values() if isinstance(one, Resource)}


def resource_of(body: Obj) -> Resource:
    """The resource of an object, known by its kind. KeyError: nothing in `kube/resources.py` is of that kind."""
    return KINDS[body["kind"]]


@dataclass(kw_only=True)
class Actor:
    """An administrator at work in one namespace, where no other is given; `name` is that of most built objects."""

    client: KubeClient
    namespace: str = "default"

    async def create(self, *objects: Obj, namespace: str = "") -> Obj:
        """Create objects where they say, or in `namespace`, or here; the last one as it was answered, {} without any."""
        created: Obj = {}
        for body in objects:
            resource = resource_of(body)
            where = {"namespace": namespace or self.namespace} if resource.namespaced else {}
            created = await self.client.create(resource, {**body, "metadata": where | body["metadata"]})
        return created

    async def patch(self, resource: Resource, change: Any, name: str = "app", namespace: str = "") -> Obj:
        """Merge `change` into an object; a list is a JSON patch."""
        kind = PatchKind.JSON if isinstance(change, list) else PatchKind.MERGE
        return await self.client.patch(self._path(resource, name, namespace), change, kind)

    async def annotate(self, annotations: Mapping[str, str | None], name: str = "app") -> None:
        """Change annotations of a ScaledObject; None takes one away."""
        await self.patch(SCALED_OBJECTS, {"metadata": {"annotations": dict(annotations)}}, name)

    async def delete(self, resource: Resource, name: str = "app", namespace: str = "") -> None:
        await self.client.delete(self._path(resource, name, namespace))

    def _path(self, resource: Resource, name: str, namespace: str) -> ObjectPath:
        return resource.named(namespace or self.namespace, name)
