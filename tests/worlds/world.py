"""The world of a test: the embedded cluster in this process, and around it what the test needs, each a part.

Objects are created and changed through the API, as users do it (`actor.py`); what came of it is read from the store
(`stored.py`). The operator (`own_operator.py`) is started by the test, numbers come from its source (`source.py`), and
the clock stands still unless the test says otherwise.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from keda_py.clock import Clock, FakeClock
from keda_py.kube.client import KubeClient
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from tests.definitions import define
from tests.http_server import HttpServer
from tests.kubeconfigs import token_kubeconfig
from tests.plain_http import plain_http
from tests.worlds.actor import Actor
from tests.worlds.cable import Cable
from tests.worlds.own_operator import OwnOperator
from tests.worlds.source import Source
from tests.worlds.stored import Stored

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NAMESPACE = "default"
HPA = "keda-hpa-app"


@dataclass(kw_only=True)
class World(Actor, Stored, Source):
    """A cluster that knows our kinds, its administrator, at most one operator, and a source of numbers."""

    clock: Clock
    kubeconfig: Path
    """The administrator's."""
    operator: OwnOperator
    """Not started yet."""

    async def seconds(self, seconds: float) -> None:
        """Let virtual time pass."""
        assert isinstance(self.clock, FakeClock)
        await self.clock.advance(seconds)


@asynccontextmanager
async def open_world(
    folder: Path,
    server: HttpServer | None = None,
    tasks: asyncio.TaskGroup | None = None,
    options: ClusterOptions | None = None,
    *,
    clock: Clock | None = None,
    tls: bool = False,
) -> AsyncIterator[World]:
    """A cluster with our CRDs and without an operator; `tasks` may outlive it, as a killed operator does.

    With `tls` client and operator speak it: for tests of what becomes of connections. `server` is the source.
    """
    clock = clock or FakeClock(NOON)
    async with AsyncExitStack() as stack:
        tasks = tasks or await stack.enter_async_context(asyncio.TaskGroup())
        cluster = await stack.enter_async_context(LocalCluster(clock, options))
        url = cluster.url if tls else await stack.enter_async_context(plain_http(cluster))
        await define(cluster)
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(token_kubeconfig(cluster, url=url))
        client = await stack.enter_async_context(KubeClient(clock, str(kubeconfig)))
        cable = await stack.enter_async_context(Cable(url))
        operator = OwnOperator(
            cluster=cluster,
            clock=clock,
            tasks=tasks,
            stack=stack,
            kubeconfig=folder / "operator",
            api_server=url,
            cable=cable,
        )
        world = World(
            cluster=cluster, client=client, clock=clock, kubeconfig=kubeconfig, operator=operator, server=server
        )
        if server is not None:
            world.jobs(0)
        async with _ended(operator):
            yield world


@asynccontextmanager
async def _ended(operator: OwnOperator) -> AsyncIterator[None]:
    """Stopped at the end, and killed where that is not reached."""
    try:
        yield
        await operator.stop()
    finally:
        if operator.process is not None:
            await operator.kill()
