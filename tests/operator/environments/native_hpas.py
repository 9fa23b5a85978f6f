"""Workloads under HPAs of their owner with `minReplicas: 0`, for tests: their metric is that of another team's adapter."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from keda_py.clock import SystemClock
from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, Obj
from keda_py.localkube.access.certificates import Authority
from keda_py.localkube.cluster import ClusterOptions
from keda_py.localkube.store.subscriptions import Event
from tests import builders
from tests.hpa_zero import OPTIONS, SYNC_SECONDS
from tests.localkube.adapter import CUSTOM, Adapter
from tests.operator.environments.builders import starting
from tests.worlds.world import World

RECORDED = ClusterOptions(hpa=OPTIONS, hpa_sync_seconds=SYNC_SECONDS)
"""As the cluster that the recordings were made on: an HPA goes to zero 10 s after its work ended."""
QUEUE = "queue"
"""The object and the metric that an HPA asks for, where it asks for one."""


@asynccontextmanager
async def adapted(world: World) -> AsyncIterator[Adapter]:
    """The world with a server of Object metrics."""
    async with Adapter(world.cluster.identity, Authority("adapter", SystemClock().now())) as adapter:
        adapter.register(world.cluster.store, group=CUSTOM)
        yield adapter


def object_metric(name: str = QUEUE, target: str = "4", kind: str = "AverageValue") -> Obj:
    """The value of one Service, divided by the pods there are."""
    field = "value" if kind == "Value" else "averageValue"
    described = {"apiVersion": "v1", "kind": "Service", "name": name}
    source = {"describedObject": described, "metric": {"name": name}, "target": {"type": kind, field: target}}
    return {"type": "Object", "object": source}


def native_hpa(name: str = "web", metrics: Sequence[Obj] = (), **spec: Any) -> Obj:
    """An HPA of the Deployment of its name."""
    bounds = {"minReplicas": 0, "maxReplicas": 10}
    return builders.hpa(name, name, metrics=list(metrics) or [object_metric()], **bounds | spec)


def worker(replicas: int = 1, name: str = "web") -> Obj:
    return starting(name, replicas, 1)


def work(adapter: Adapter, amount: float | None, name: str = QUEUE) -> None:
    """What the metric is worth from now on; None: its source fails."""
    adapter.custom[name] = {} if amount is None else {name: str(amount)}


def mark(world: World, name: str = "web", namespace: str = "") -> tuple[str, str]:
    """Status and reason of the condition ScaledToZero; ("", "") without one."""
    hpa = world.get(HORIZONTAL_POD_AUTOSCALERS, name, namespace)
    found = {one["type"]: one for one in hpa["status"].get("conditions") or ()}
    condition: Mapping[str, str] = found.get("ScaledToZero", {})
    return condition.get("status", ""), condition.get("reason", "")


class Wakes:
    """Deployments that were raised from zero, from now on: namespace, name, and to which count."""

    def __init__(self, world: World) -> None:
        self.found: list[tuple[str, str, int]] = []
        world.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if event.resource.plural != DEPLOYMENTS.plural or event.previous is None:
            return
        before, after = event.previous["spec"]["replicas"], event.object["spec"]["replicas"]
        if before == 0 < after:
            self.found.append((event.namespace, event.name, after))
