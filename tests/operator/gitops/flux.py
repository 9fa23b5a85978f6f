"""Flux as far as it fights: kustomize-controller at each interval, and a commit that is applied at once.

It applies the manifest by server-side apply with force, but for an object whose annotation in the cluster disables that.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from keda_py.kube.client import PatchKind
from keda_py.kube.resources import DEPLOYMENTS, Obj
from keda_py.kube.transport import Request
from tests.builders import deployment
from tests.operator.environments.builders import labelled
from tests.worlds.world import World

INTERVAL = 600.0
RECONCILE = "kustomize.toolkit.fluxcd.io/reconcile"
LABELS = {"kustomize.toolkit.fluxcd.io/name": "shop", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}


def applied(name: str, count: int) -> Obj:
    """A Deployment with the labels of the Kustomization."""
    return labelled(deployment(name, count), **LABELS)


@dataclass(slots=True)
class Kustomization:
    """Kustomization `shop` with the counts that Git has; `put_backs` are the counts that it has written over another."""

    world: World
    git: Mapping[str, int]
    put_backs: list[tuple[str, int]] = field(default_factory=list)

    async def run(self) -> None:
        """Apply at each interval, until cancelled."""
        while True:
            await self.world.clock.sleep(INTERVAL)
            await self.sync()

    async def sync(self) -> None:
        """Apply the manifests, as for a new commit."""
        for name, count in self.git.items():
            live = self.world.get(DEPLOYMENTS, name)
            if live["metadata"].get("annotations", {}).get(RECONCILE) == "disabled":
                continue
            if self.world.replicas(name) != count:
                self.put_backs.append((name, count))
            await self._apply(name, count)

    async def _apply(self, name: str, count: int) -> None:
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {"replicas": count}}
        query = {"fieldManager": "kustomize-controller", "force": "true"}
        path = DEPLOYMENTS.named("default", name)
        headers = {"Content-Type": PatchKind.APPLY.value}
        request = Request(method="PATCH", path=path.path, query=query, body=body, headers=headers, resource=path.label)
        await self.world.client.send(request)


@asynccontextmanager
async def reconciling(world: World, git: Mapping[str, int]) -> AsyncIterator[Kustomization]:
    """Run the loop over Deployments that were created before."""
    loop = Kustomization(world, git)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(loop.run())
        yield loop
        running.cancel()
