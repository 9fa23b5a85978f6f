"""A cluster whose API server asks the operator's webhook, and the real kubectl to write with."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from keda_py.clock import SystemClock
from keda_py.localkube.cluster import LocalCluster
from keda_py.operator.assembly import Assembly
from tests.definitions import DEFINITIONS
from tests.kubeconfigs import token_kubeconfig
from tests.localkube.kubectl import Kubectl, Outcome
from tests.operators import running_operator
from tests.servers import LOOPBACK, free_port

Obj = dict[str, Any]


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
    async with LocalCluster(SystemClock()) as cluster:
        await cluster.apply(DEFINITIONS)
        kubeconfig = directory / "kubeconfig"
        kubeconfig.write_text(token_kubeconfig(cluster))
        webhook, metrics = free_port(), free_port()
        flags = {
            "kubeconfig": str(kubeconfig),
            "webhook-port": str(webhook),
            "metrics-bind-address": f"{LOOPBACK}:{metrics}",
        }
        async with running_operator({**flags, **(more or {})}) as assembly:
            yield AdmissionWorld(
                cluster=cluster,
                kubectl=Kubectl(kubeconfig=kubeconfig, cache=directory / "cache"),
                webhook=f"https://{LOOPBACK}:{webhook}",
                metrics=f"http://{LOOPBACK}:{metrics}",
                assembly=assembly,
            )


def scaled_object(name: str = "so", *, target: str = "web", **spec: Any) -> Obj:
    body = {"scaleTargetRef": {"name": target}, "triggers": [CRON], **spec}
    return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": name}, "spec": body}


def deployment(name: str = "web", **requests: str) -> Obj:
    container = {"name": "app", "image": "example/app", "resources": {"requests": requests}}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


CRON: Obj = {
    "type": "cron",
    "metadata": {"timezone": "UTC", "start": "0 8 * * *", "end": "0 20 * * *", "desiredReplicas": "2"},
}
CPU: Obj = {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "60"}}
