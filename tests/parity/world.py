"""A cluster on virtual time with an operator that can be ended, killed and started again, and words to act in it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from keda_py.clock import SteppedClock
from keda_py.core.hpa.controller import ControllerOptions
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import (
    DEPLOYMENTS,
    EVENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    NAMESPACES,
    SCALED_OBJECTS,
    Obj,
    Resource,
)
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.localkube.store.subscriptions import Event
from keda_py.operator.assembly import Assembly
from tests.definitions import DEFINITIONS
from tests.kubeconfigs import token_kubeconfig
from tests.operators import running_operator
from tests.plain_http import plain_http
from tests.servers import free_port

A_SATURDAY = datetime(2026, 11, 21, 5, 56, tzinfo=UTC)


class World:
    """The cluster and whoever acts in it. What is there is read from the store, what is done goes through the API."""

    def __init__(self, cluster: LocalCluster, clock: SteppedClock, client: KubeClient, kubeconfig: Path) -> None:
        self.cluster, self.clock, self.client, self.kubeconfig = cluster, clock, client, kubeconfig

    def guarded_operator(self) -> AbstractAsyncContextManager[Assembly]:
        """One operator, and its webhook, which the API server asks: a process more, which costs a second of CPU."""
        return self.operator({"webhook-port": str(free_port())})

    def operator(self, flags: Mapping[str, str] = MappingProxyType({})) -> AbstractAsyncContextManager[Assembly]:
        """One operator while the block lasts; it leaves in order."""
        own = {"kubeconfig": str(self.kubeconfig)}
        return running_operator({**own, **flags}, clock=self.clock)

    async def seconds(self, seconds: float) -> None:
        """Let virtual time pass."""
        await self.clock.advance(seconds)

    async def create(self, *objects: Obj, namespace: str = "default") -> None:
        """Create objects where they say, or in `namespace`."""
        for body in objects:
            resource = self._resource(body["apiVersion"], body["kind"])
            metadata = dict(body["metadata"])
            if resource.namespaced:
                metadata.setdefault("namespace", namespace)
            await self.client.create(resource, {**body, "metadata": metadata})

    async def create_namespace(self, name: str) -> None:
        await self.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    async def patch(self, resource: Resource, name: str, change: Obj, namespace: str = "default") -> Obj:
        return await self.client.patch(resource.named(namespace, name), change)

    async def delete(self, resource: Resource, name: str, namespace: str = "default") -> None:
        await self.client.delete(resource.named(namespace, name))

    async def annotate(self, name: str, annotations: Mapping[str, str | None], namespace: str = "default") -> None:
        """Change annotations of a ScaledObject; None takes one away."""
        await self.patch(SCALED_OBJECTS, name, {"metadata": {"annotations": dict(annotations)}}, namespace)

    def find(self, resource: Resource, name: str, namespace: str = "default") -> Obj | None:
        known = self.cluster.store.resources.get(resource.api_version, resource.kind)
        return self.cluster.store.find(known, namespace if resource.namespaced else "", name)

    def get(self, resource: Resource, name: str, namespace: str = "default") -> Obj:
        found = self.find(resource, name, namespace)
        assert found is not None, f"{resource.kind} {namespace}/{name} is not there"
        return found

    def all(self, resource: Resource, namespace: str = "") -> list[Obj]:
        known = self.cluster.store.resources.get(resource.api_version, resource.kind)
        return self.cluster.store.list(known, namespace)

    def replicas(self, name: str, namespace: str = "default") -> int:
        """What the Deployment is asked to have."""
        count: int = self.get(DEPLOYMENTS, name, namespace)["spec"]["replicas"]
        return count

    def hpa(self, name: str, namespace: str = "default") -> Obj | None:
        return self.find(HORIZONTAL_POD_AUTOSCALERS, name, namespace)

    def status(self, name: str, namespace: str = "default") -> Obj:
        return self.get(SCALED_OBJECTS, name, namespace).get("status") or {}

    def condition(self, name: str, kind: str, namespace: str = "default") -> tuple[str, str, str]:
        """Status, reason and message."""
        for entry in self.status(name, namespace).get("conditions") or ():
            if entry["type"] == kind:
                return entry["status"], entry.get("reason", ""), entry.get("message", "")
        return "", "", ""

    def events(self, name: str, namespace: str = "default", kind: str = "ScaledObject") -> list[tuple[str, str, str]]:
        """Type, reason and note of each, in the order of their first occurrence."""
        found = [
            event
            for event in self.all(EVENTS, namespace)
            if event["involvedObject"]["kind"] == kind and event["involvedObject"]["name"] == name
        ]
        found.sort(key=lambda event: event.get("eventTime") or "")
        return [(event["type"], event["reason"], event["message"]) for event in found]

    def counts(self, name: str, namespace: str = "default") -> "Counts":
        """From now on: what the Deployment is asked to have, one after the other."""
        return Counts(self, name, namespace)

    def reasons(self, name: str, namespace: str = "default") -> list[str]:
        return [reason for _, reason, _ in self.events(name, namespace)]

    def writes(self, resource: Resource) -> float:
        """How many writes of that kind the API server has been asked for, refused ones included."""
        page = self.cluster.routes.metrics.answer().body.decode()
        samples = (sample for family in text_string_to_metric_families(page) for sample in family.samples)
        return sum(
            sample.value
            for sample in samples
            if sample.name == "apiserver_request_total"
            and sample.labels["resource"] == resource.plural
            and sample.labels["verb"] in ("POST", "PUT", "PATCH", "APPLY", "DELETE")
        )

    def _resource(self, api_version: str, kind: str) -> Resource:
        known = self.cluster.store.resources.get(api_version, kind)
        group, _, version = api_version.rpartition("/")
        return Resource(group=group, version=version, kind=kind, plural=known.plural, namespaced=known.namespaced)


class Counts:
    """The counts that a Deployment was asked to have since this was made, the present one first."""

    def __init__(self, world: World, name: str, namespace: str) -> None:
        self.seen = [world.replicas(name, namespace)]
        self._place = ("Deployment", namespace, name)
        world.cluster.store.listen(self._note)

    def _note(self, event: Event) -> None:
        metadata = event.object["metadata"]
        place = (event.object.get("kind"), metadata.get("namespace"), metadata["name"])
        if place == self._place and event.object["spec"]["replicas"] != self.seen[-1]:
            self.seen.append(event.object["spec"]["replicas"])


@asynccontextmanager
async def a_world(directory: Path, *, hpa_sync_seconds: float = 5.0) -> AsyncIterator[World]:
    """A cluster with our CRDs, whose autoscaler waits ten seconds before it scales down; no operator yet."""
    clock = SteppedClock(A_SATURDAY)
    stabilisation = ControllerOptions(downscale_stabilization=timedelta(seconds=10))
    options = ClusterOptions(hpa_sync_seconds=hpa_sync_seconds, hpa=stabilisation)
    kubeconfig = directory / "kubeconfig"
    async with LocalCluster(clock, options) as cluster, plain_http(cluster) as url:
        kubeconfig.write_text(token_kubeconfig(cluster, url=url))
        await cluster.apply(DEFINITIONS)
        async with KubeClient(clock, str(kubeconfig)) as client:
            yield World(cluster, clock, client, kubeconfig)


def workload(kind: str = "Deployment", name: str = "t", replicas: int = 1, env: Mapping[str, Any] | None = None) -> Obj:
    """A Deployment, StatefulSet or ReplicaSet of two containers; both use 10m cpu and 50Mi memory each."""
    labels = {"app": f"{name}-{kind.lower()}"}
    usage = {"local.keda-py.dev/cpu": "10m", "local.keda-py.dev/memory": "50Mi"}
    template = {"metadata": {"labels": labels, "annotations": usage}, "spec": {"containers": containers(env or {})}}
    spec: Obj = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    if kind == "StatefulSet":
        spec["serviceName"] = name
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def scaled_object(*triggers: Obj, name: str = "so", annotations: Mapping[str, str] | None = None, **spec: Any) -> Obj:
    """A ScaledObject on the Deployment `t`, polled every ten seconds, cooled down after twenty."""
    wanted = {"scaleTargetRef": {"name": "t"}, "pollingInterval": 10, "cooldownPeriod": 20, "maxReplicaCount": 10}
    body: Obj = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": name}}
    if annotations:
        body["metadata"]["annotations"] = dict(annotations)
    return body | {"spec": {**wanted, "triggers": list(triggers), **spec}}


def containers(env: Mapping[str, Any]) -> list[Obj]:
    requests = {"requests": {"cpu": "100m", "memory": "100Mi"}}
    return [
        {
            "name": name,
            "image": "example/app",
            "resources": requests,
            "env": [{"name": key, "value": value} for key, value in env.get(name, {}).items()],
        }
        for name in ("app", "sidecar")
    ]
