"""The very operator on the embedded cluster, in one process and on virtual time, and short words for both.

Objects are created and changed through a client as users do it; what came of it is read from the cluster's store.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from keda_py.clock import FakeClock
from keda_py.localkube.access.identity import ADMIN
from keda_py.localkube.cluster import ClusterOptions
from keda_py.localkube.model.calls import User
from keda_py.operator.assembly import Assembly
from keda_py.operator.process.own import OwnProcess
from keda_py.readings.journal import Journal
from tests.http_server import HttpServer
from tests.kubeconfigs import token_kubeconfig
from tests.operator.cable import Cable
from tests.operators import FLAGS, Operator, launch
from tests.worlds.world import VirtualWorld, open_cluster

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NAMESPACE = "default"
HPA = "keda-hpa-app"
START_SECONDS = 120.0


@dataclass(kw_only=True)
class World(VirtualWorld):
    """A cluster, at most one operator, one source of numbers. `kubeconfig` goes through `cable`; it is the operator's."""

    api_server: str
    """The URL that the operator gets, through `cable`."""
    server: HttpServer
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
    operator: Operator | None = None
    assembly: Assembly | None = None

    @property
    def url(self) -> str:
        return f"{self.server.url}/jobs"

    def jobs(self, count: float) -> None:
        """What the source answers from now on."""
        self.server.answers["/jobs"] = f'{{"value": {count}}}'

    async def start(self) -> None:
        """Start the operator and return once it works and all is quiet."""
        await self.begin()
        await self.clock.settle()

    async def begin(self) -> None:
        """Start the operator and return once it works, also where time is held."""
        self.kubeconfig.write_text(token_kubeconfig(self.cluster, self.user, self.cable.url))
        timeout = {"KEDA_HTTP_DEFAULT_TIMEOUT": str(round(self.source_seconds * 1000))}
        flags = {**FLAGS, "kubeconfig": str(self.kubeconfig), **self.flags}
        process = OwnProcess(journal=self.journal) if self.journal is not None else None
        self.operator = launch(self.tasks, flags, timeout | self.env, self.clock, process)
        async with asyncio.timeout(START_SECONDS):
            self.assembly = await self.operator.begun()

    async def stop(self) -> None:
        """SIGTERM, and wait until it has left."""
        if self.operator is not None:
            await self.operator.stop()
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
            self.operator.task.cancel()
            self.operator = None
        self.cable = await self.stack.enter_async_context(Cable(self.api_server))


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
        opened = await stack.enter_async_context(open_cluster(folder, clock, options, tls=tls))
        cable = await stack.enter_async_context(Cable(opened.url))
        cabled = folder / "cabled"
        cabled.write_text(token_kubeconfig(opened.cluster, url=cable.url))
        world = World(
            clock=clock,
            cluster=opened.cluster,
            api_server=opened.url,
            client=opened.client,
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
