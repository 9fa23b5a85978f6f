"""Informers of namespaces and of the kinds that annotations can downscale, trimmed to what decisions read."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import NAMESPACES, Obj, Selection
from keda_py.operator.cluster.caches import BLIND_SECONDS
from keda_py.operator.downscaler.objects import DOWNSCALED, DOWNSCALED_BY_KIND, keep, keep_namespace


class DownscalerCaches:
    """Informers to `run`; `workloads` by plural name. If only some namespaces are watched, each has its own."""

    def __init__(self, client: KubeClient, namespaces: Sequence[str], included: Sequence[str]) -> None:
        where = tuple(namespaces) or ("",)
        self.workloads: Mapping[str, Informer] = {
            name: Informer(client, InformerSpec(resource=DOWNSCALED[name].resource, namespaces=where, transform=keep))
            for name in included
            if name in DOWNSCALED
        }
        self.namespaces = tuple(Informer(client, _namespace_spec(name)) for name in where)

    @property
    def all(self) -> tuple[Informer, ...]:
        return (*self.namespaces, *self.workloads.values())

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self.all:
                tasks.create_task(informer.run(), name=f"informer downscaler {informer.spec.resource.plural}")

    async def tried(self) -> None:
        """Return once each kind is known, or could not be listed."""
        for informer in self.all:
            await informer.wait_tried()

    def in_contact(self) -> bool:
        """Whether all caches have synced and no watch has been out of contact for long."""
        return all(one.synced and one.down_for() < BLIND_SECONDS for one in self.all)

    def problem(self) -> str:
        """The first kind that cannot be watched, and why; "" if all can."""
        return next((f"{one.spec.resource.plural}: {one.error}" for one in self.all if one.error), "")

    def namespace(self, name: str) -> Obj | None:
        return next((found for informer in self.namespaces if (found := informer.get("", name)) is not None), None)

    def of_kind(self, kind: str) -> Informer:
        """The informer of a kind that annotations can downscale."""
        return self.workloads[DOWNSCALED_BY_KIND[kind].resource.plural]

    def every(self) -> Iterator[Obj]:
        for informer in self.workloads.values():
            yield from informer.objects()


def _namespace_spec(name: str) -> InformerSpec:
    selection = Selection(fields=f"metadata.name={name}" if name else "")
    return InformerSpec(resource=NAMESPACES, transform=keep_namespace, selection=selection)
