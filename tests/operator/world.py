"""The very operator on the embedded cluster, in one process and on virtual time, and short words for both.

Objects are created and changed through a client as users do it; what came of it is read from the cluster's store.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keda_py.clock import FakeClock
from keda_py.kube.client import KubeClient, PatchKind
from keda_py.kube.resources import (
    DEPLOYMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    REPLICA_SETS,
    SCALED_OBJECTS,
    STATEFUL_SETS,
    Obj,
    Resource,
)
from keda_py.localkube.access.identity import ADMIN
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.localkube.model.calls import User
from keda_py.localkube.store.subscriptions import Event
from keda_py.operator.app import run_operator
from keda_py.operator.assembly import Assembly
from keda_py.operator.process.own import OwnProcess
from keda_py.readings.journal import Journal
from keda_py.settings.settings import load_settings
from tests.definitions import DEFINITIONS
from tests.http_server import HttpServer
from tests.kubeconfigs import token_kubeconfig
from tests.operator.cable import Cable
from tests.operators import FLAGS
from tests.plain_http import plain_http

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NAMESPACE = "default"
HPA = "keda-hpa-app"
KINDS = {
    resource.kind: resource
    for resource in (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, SCALED_OBJECTS, HORIZONTAL_POD_AUTOSCALERS)
}


@dataclass
class World:
    """A cluster, at most one operator, one source of numbers."""

    clock: FakeClock
    cluster: LocalCluster
    api_server: str
    """The URL that the operator gets, through `cable`."""
    client: KubeClient
    server: HttpServer
    kubeconfig: Path
    """The operator's: its connections go through `cable`."""
    tasks: asyncio.TaskGroup
    stack: AsyncExitStack
    cable: Cable
    source_seconds: float = 3.0
    """How long the source may take, in real time; time stands still meanwhile."""
    user: User = ADMIN
    """Who the operator is."""
    env: dict[str, str] = field(default_factory=dict)
    """Of the operator, beside its time-out."""
    flags: dict[str, str] = field(default_factory=dict)
    """Of the operator, over the usual ones."""
    journal: Journal | None = None
    """What the next operator takes over from one that died."""
    operator: asyncio.Task[None] | None = None
    assembly: Assembly | None = None
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"{self.server.url}/jobs"

    def jobs(self, count: float) -> None:
        """What the source answers from now on."""
        self.server.answers["/jobs"] = f'{{"value": {count}}}'

    async def start(self) -> None:
        """Start the operator and return once it works."""
        started = asyncio.Event()
        self._stopping = asyncio.Event()
        self.kubeconfig.write_text(token_kubeconfig(self.cluster, self.user, self.cable.url))

        def note(assembly: Assembly) -> None:
            self.assembly = assembly
            started.set()

        timeout = {"KEDA_HTTP_DEFAULT_TIMEOUT": str(round(self.source_seconds * 1000))}
        flags = {**FLAGS, "kubeconfig": str(self.kubeconfig), **self.flags}
        settings = load_settings({name: [value] for name, value in flags.items()}, timeout | self.env)
        process = OwnProcess(journal=self.journal) if self.journal is not None else None
        self.operator = self.tasks.create_task(run_operator(settings, self.clock, self._stopping, note, process))
        async with asyncio.timeout(120):
            await started.wait()
            assert self.assembly is not None
            await self.assembly.admission.process.begun.wait()
        await self.clock.settle()

    async def stop(self) -> None:
        """SIGTERM, and wait until it has left."""
        if self.operator is not None:
            self._stopping.set()
            await self.operator
            self.operator = None

    def cut(self) -> None:
        """What the operator had not sent by now is never sent."""
        self.cable.pull()

    async def kill(self) -> None:
        """SIGKILL: nothing more reaches the API server; what the process remembered is gone.

        It is not waited for: in vain it tries for two seconds to put things in order. The next one has its own cable.
        """
        self.cut()
        if self.operator is not None:
            self.operator.cancel()
            self.operator = None
        self.cable = await self.stack.enter_async_context(Cable(self.api_server))

    async def seconds(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def create(self, *objects: Obj) -> Obj:
        for body in objects:
            body["metadata"].setdefault("namespace", NAMESPACE)
            created = await self.client.create(KINDS[body["kind"]], body)
        return created

    async def patch(self, resource: Resource, change: Any, name: str = "app") -> Obj:
        kind = PatchKind.JSON if isinstance(change, list) else PatchKind.MERGE
        return await self.client.patch(resource.named(NAMESPACE, name), change, kind)

    async def annotate(self, annotations: dict[str, str | None], name: str = "app") -> None:
        await self.patch(SCALED_OBJECTS, {"metadata": {"annotations": annotations}}, name)

    async def delete(self, resource: Resource, name: str = "app") -> None:
        await self.client.delete(resource.named(NAMESPACE, name))

    def find(self, resource: Resource, name: str = "app") -> Obj | None:
        kind = self.cluster.store.resources.get(resource.api_version, resource.kind)
        return self.cluster.store.find(kind, NAMESPACE, name)

    def get(self, resource: Resource, name: str = "app") -> Obj:
        found = self.find(resource, name)
        assert found is not None, f"no {resource.kind} {name}"
        return found

    def replicas(self, name: str = "app", resource: Resource = DEPLOYMENTS) -> int:
        count: int = self.get(resource, name)["spec"]["replicas"]
        return count

    def status(self, name: str = "app") -> Obj:
        return dict(self.get(SCALED_OBJECTS, name).get("status") or {})

    def condition(self, kind: str, name: str = "app") -> tuple[str, str]:
        """Status and reason."""
        for entry in self.status(name).get("conditions") or ():
            if entry["type"] == kind:
                return entry["status"], entry.get("reason", "")
        return "", ""

    def message(self, kind: str, name: str = "app") -> str:
        listed = self.status(name).get("conditions") or ()
        return next((entry.get("message", "") for entry in listed if entry["type"] == kind), "")

    def events(self, name: str = "app") -> list[tuple[str, str]]:
        """Reason and note of each Event about the ScaledObject."""
        kind = self.cluster.store.resources.get("v1", "Event")
        found = self.cluster.store.list(kind, NAMESPACE)
        about = [event for event in found if event["involvedObject"].get("name") == name]
        return [(e["reason"], e["message"]) for e in about if e["involvedObject"]["kind"] == "ScaledObject"]

    def reasons(self, name: str = "app") -> list[str]:
        return [reason for reason, _ in self.events(name)]

    def listen(self, heard: Callable[[Event], None]) -> None:
        """Call back at every write to the cluster, before anybody is answered."""
        self.cluster.store.listen(heard)

    def writes_of(self, resource: Resource, name: str = "app") -> list[Obj]:
        """Every version of that object from now on."""
        versions: list[Obj] = []

        def hear(event: Event) -> None:
            if (event.resource.plural, event.name) == (resource.plural, name):
                versions.append(event.object)

        self.listen(hear)
        return versions


@asynccontextmanager
async def build_world(
    folder: Path,
    server: HttpServer,
    tasks: asyncio.TaskGroup | None = None,
    options: ClusterOptions | None = None,
    *,
    tls: bool = False,
) -> AsyncIterator[World]:
    """A cluster with our CRDs and without an operator; `tasks` may outlive it, as a killed operator does.

    With `tls` client and operator speak it: for tests of what becomes of connections.
    """
    clock = FakeClock(NOON)
    async with AsyncExitStack() as stack:
        tasks = tasks or await stack.enter_async_context(asyncio.TaskGroup())
        cluster = await stack.enter_async_context(LocalCluster(clock, options))
        api_server = cluster.url if tls else await stack.enter_async_context(plain_http(cluster))
        cable = await stack.enter_async_context(Cable(api_server))
        await cluster.apply(DEFINITIONS)
        direct, cabled = folder / "direct", folder / "cabled"
        direct.write_text(token_kubeconfig(cluster, url=api_server))
        cabled.write_text(token_kubeconfig(cluster, url=cable.url))
        client = await stack.enter_async_context(KubeClient(clock, str(direct)))
        world = World(
            clock=clock,
            cluster=cluster,
            api_server=api_server,
            client=client,
            server=server,
            kubeconfig=cabled,
            tasks=tasks,
            stack=stack,
            cable=cable,
        )
        world.jobs(0)
        try:
            yield world
            await world.stop()
        finally:
            if world.operator is not None:
                await world.kill()
