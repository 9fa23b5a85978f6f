"""A cluster whose API server asks the operator's webhook, and the real kubectl to write with."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from keda_py.clock import SystemClock
from keda_py.kube.resources import Obj
from keda_py.localkube.cluster import LocalCluster
from keda_py.operator.assembly import Assembly
from tests.builders import bare_scaled_object, cpu, cron
from tests.builders import deployment as any_deployment
from tests.localkube.kubectl import Kubectl, Outcome
from tests.operators import running_operator
from tests.servers import LOOPBACK, free_port
from tests.worlds.world import open_cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionWorld:
    cluster: LocalCluster
    kubectl: Kubectl
    webhook: str
    metrics: str
    assembly: Assembly

    async def apply(self, *objects: Obj, words: tuple[str, ...] = ()) -> Outcome:
        file = self.kubectl.kubeconfig.with_name("manifests.yaml")
        file.write_text(yaml.safe_dump_all(objects))
        return await self.kubectl.try_run("apply", "-f", str(file), *words)

    async def create(self, obj: Obj, *words: str) -> Outcome:
        return await self.kubectl.try_run("create", "-f", "-", *words, stdin=obj)

    def stored(self, api_version: str, kind: str, name: str, namespace: str = "default") -> Obj | None:
        return self.cluster.store.find(self.cluster.store.resources.get(api_version, kind), namespace, name)

    def events(self) -> list[Obj]:
        return self.cluster.store.list(self.cluster.store.resources.get("events.k8s.io/v1", "Event"))

    async def metric(self, line: str) -> str:
        async with httpx.AsyncClient() as client:
            page = (await client.get(f"{self.metrics}/metrics")).text
        return next((text.rpartition(" ")[2] for text in page.splitlines() if text.startswith(line)), "")


@asynccontextmanager
async def an_admission_world(directory: Path, more: Mapping[str, str] | None = None) -> AsyncIterator[AdmissionWorld]:
    """`more` are flags of the operator."""
    async with open_cluster(directory, SystemClock(), tls=True) as opened:
        webhook, metrics = free_port(), free_port()
        flags = {
            "kubeconfig": str(opened.kubeconfig),
            "webhook-port": str(webhook),
            "metrics-bind-address": f"{LOOPBACK}:{metrics}",
        }
        async with running_operator({**flags, **(more or {})}) as assembly:
            yield AdmissionWorld(
                cluster=opened.cluster,
                kubectl=Kubectl(kubeconfig=opened.kubeconfig, cache=directory / "cache"),
                webhook=f"https://{LOOPBACK}:{webhook}",
                metrics=f"http://{LOOPBACK}:{metrics}",
                assembly=assembly,
            )


def scaled_object(name: str = "so", *, target: str = "web", **spec: Any) -> Obj:
    """A bare one, scheduled."""
    return bare_scaled_object(name=name, scaleTargetRef={"name": target}, **spec)


def deployment(name: str = "web", **requests: str) -> Obj:
    """One that requests this much."""
    return any_deployment(name, 1, resources={"requests": requests})


CRON = cron()
CPU = cpu()
