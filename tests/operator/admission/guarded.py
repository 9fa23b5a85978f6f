"""A world whose API server asks the operator's webhook, and the real kubectl to write with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import yaml

from keda_py.clock import SystemClock
from keda_py.kube.resources import Obj
from tests.builders import a_namespace, bare_scaled_object, deployment
from tests.localkube.kubectl import Kubectl, KubectlResult
from tests.servers import LOOPBACK, free_port
from tests.worlds.world import World, open_world


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """`webhook` and `metrics` are URLs of the operator, which is at work."""

    world: World
    kubectl: Kubectl
    webhook: str
    metrics: str

    async def within(self, namespace: str) -> "Guarded":
        """The same in a namespace of its own, which is made: what kubectl and `world` do is there."""
        world, kubectl = replace(self.world, namespace=namespace), replace(self.kubectl, namespace=namespace)
        await world.apply(a_namespace(namespace))
        return replace(self, world=world, kubectl=kubectl)

    async def apply(self, *objects: Obj, words: tuple[str, ...] = ()) -> KubectlResult:
        file = self.kubectl.kubeconfig.with_name("manifests.yaml")
        file.write_text(yaml.safe_dump_all(objects))
        return await self.kubectl.try_run("apply", "-f", str(file), *words)

    async def create(self, obj: Obj, *words: str) -> KubectlResult:
        return await self.kubectl.try_run("create", "-f", "-", *words, stdin=obj)

    async def metric(self, line: str) -> str:
        async with httpx.AsyncClient() as client:
            page = (await client.get(f"{self.metrics}/metrics")).text
        return next((text.rpartition(" ")[2] for text in page.splitlines() if text.startswith(line)), "")


@asynccontextmanager
async def a_guarded_world(folder: Path, **more: str) -> AsyncIterator[Guarded]:
    """In real time, over TLS; `more` are flags of the operator, with underscores."""
    webhook, metrics = free_port(), free_port()
    flags = {"webhook_port": str(webhook), "metrics_bind_address": f"{LOOPBACK}:{metrics}", **more}
    async with open_world(folder, clock=SystemClock(), tls=True) as world, world.operator.running(**flags):
        yield Guarded(
            world=world,
            kubectl=Kubectl(kubeconfig=world.kubeconfig, cache=folder / "cache"),
            webhook=f"https://{LOOPBACK}:{webhook}",
            metrics=f"http://{LOOPBACK}:{metrics}",
        )


def scheduled(name: str = "so", *, target: str = "web", **spec: Any) -> Obj:
    """A bare ScaledObject on a Deployment."""
    return bare_scaled_object(name=name, target=target, **spec)


def requesting(name: str = "web", **requests: str) -> Obj:
    """A Deployment whose pods request this much."""
    return deployment(name, 1, resources={"requests": requests})
