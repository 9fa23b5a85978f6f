"""A world on stepped time, and the two containers and ten seconds that what KEDA did was recorded with."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from keda_py.clock import SteppedClock
from keda_py.core.hpa.controller import ControllerOptions
from keda_py.kube.resources import Obj, Resource
from keda_py.localkube.cluster import ClusterOptions
from keda_py.localkube.store.subscriptions import Event
from keda_py.operator.assembly import Assembly
from tests import builders
from tests.builders import bare_scaled_object, container, usage
from tests.servers import free_port
from tests.sweeps import size
from tests.worlds.world import World, open_world

A_SATURDAY = datetime(2026, 11, 21, 5, 56, tzinfo=UTC)
LONG_POLL_SECONDS, LONG_SYNC_SECONDS = size(10, 60), size(5, 60)
"""Between two polls, and between two looks of the HPA controller, in a test that lasts an hour."""


def writes(world: World, resource: Resource) -> float:
    """How many writes of that kind the API server has been asked for, refused ones included."""
    page = world.cluster.routes.metrics.answer().body.decode()
    samples = (sample for family in text_string_to_metric_families(page) for sample in family.samples)
    return sum(
        sample.value
        for sample in samples
        if sample.name == "apiserver_request_total"
        and sample.labels["resource"] == resource.plural
        and sample.labels["verb"] in ("POST", "PUT", "PATCH", "APPLY", "DELETE")
    )


def guarded_operator(world: World) -> AbstractAsyncContextManager[Assembly]:
    """One operator, and its webhook, which the API server asks: a process more, which costs a second of CPU."""
    return world.operator.running(webhook_port=str(free_port()))


class Counts:
    """The counts that a Deployment was asked to have since this was made, the present one first."""

    def __init__(self, world: World, name: str) -> None:
        self.seen = [world.replicas(name)]
        self._place = ("Deployment", world.namespace, name)
        world.cluster.store.listen(self._note)

    def _note(self, event: Event) -> None:
        metadata = event.object["metadata"]
        place = (event.object.get("kind"), metadata.get("namespace"), metadata["name"])
        if place == self._place and event.object["spec"]["replicas"] != self.seen[-1]:
            self.seen.append(event.object["spec"]["replicas"])


@asynccontextmanager
async def a_world(directory: Path, *, hpa_sync_seconds: float = 5.0) -> AsyncIterator[World]:
    """A cluster with our CRDs, whose autoscaler waits ten seconds before it scales down; no operator yet."""
    stabilisation = ControllerOptions(downscale_stabilization=timedelta(seconds=10))
    options = ClusterOptions(hpa_sync_seconds=hpa_sync_seconds, hpa=stabilisation)
    async with open_world(directory, clock=SteppedClock(A_SATURDAY), options=options) as world:
        yield world


def two_containers(
    kind: str = "Deployment", name: str = "t", replicas: int = 1, env: Mapping[str, Any] | None = None
) -> Obj:
    """A workload of two containers; both use 10m cpu and 50Mi memory each. Its pods are told by name and kind."""
    containers = [_container(name, (env or {}).get(name, {})) for name in ("app", "sidecar")]
    used = usage(cpu="10m", memory="50Mi")
    built = builders.workload(kind, name, replicas, containers=containers, annotations=used)
    labels = {"app": f"{name}-{kind.lower()}"}
    built["spec"]["selector"] = {"matchLabels": labels}
    built["spec"]["template"]["metadata"]["labels"] = labels
    return built


def unhurried(*triggers: Obj, name: str = "so", annotations: Mapping[str, str] | None = None, **spec: Any) -> Obj:
    """A ScaledObject on the Deployment `t`, polled every ten seconds, cooled down after twenty."""
    wanted = {"scaleTargetRef": {"name": "t"}, "pollingInterval": 10, "cooldownPeriod": 20, "maxReplicaCount": 10}
    return bare_scaled_object(*triggers, name=name, annotations=annotations, **{**wanted, **spec})


def _container(name: str, env: Mapping[str, str]) -> Obj:
    return container(name, "100m", "100Mi", env=[{"name": key, "value": value} for key, value in env.items()])
