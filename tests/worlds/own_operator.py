"""The operator of a world: started, stopped, killed, and started again, each time with what the last one left."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from keda_py.clock import Clock, FakeClock
from keda_py.localkube.access.identity import ADMIN
from keda_py.localkube.cluster import LocalCluster
from keda_py.localkube.model.calls import User
from keda_py.operator.assembly import Assembly
from keda_py.operator.controller.component import Package
from keda_py.operator.process.operator_process import OwnProcess
from keda_py.readings.journal import Journal
from tests.kubeconfigs import token_kubeconfig
from tests.worlds.cable import Cable
from tests.worlds.operators import FLAGS, NOTHING, Operator, launch, running_operator

START_SECONDS = 120.0


@dataclass(kw_only=True)
class OwnOperator:
    """At most one operator at a time in a cluster."""

    cluster: LocalCluster
    clock: Clock
    tasks: asyncio.TaskGroup
    stack: AsyncExitStack
    kubeconfig: Path
    """The operator's."""
    api_server: str
    """Its URL."""
    cable: Cable
    """From what was started to the API server."""
    source_seconds: float = 3.0
    """How long a source may take, in real time; time stands still meanwhile."""
    user: User = ADMIN
    """Who the operator is."""
    env: dict[str, str] = field(default_factory=dict)
    """Of the operator, beside its time-out."""
    flags: dict[str, str] = field(default_factory=dict)
    """Of the operator, over the usual ones."""
    packages: Sequence[Package] = ()
    """Kinds beside its own."""
    journal: Journal | None = None
    """What the next operator takes over from one that died."""
    process: Operator | None = None
    assembly: Assembly | None = None
    """The parts of the last one that worked."""

    async def start(self) -> None:
        """Start the operator and return once it works and all is quiet."""
        await self.begin()
        assert isinstance(self.clock, FakeClock)
        await self.clock.settle()

    async def begin(self) -> None:
        """Start the operator and return once it works, also where time is held."""
        self.log_in(self.cable.url)
        timeout = {"KEDA_HTTP_DEFAULT_TIMEOUT": str(round(self.source_seconds * 1000))}
        flags = {**FLAGS, "kubeconfig": str(self.kubeconfig), **self.flags}
        process = OwnProcess(journal=self.journal) if self.journal is not None else None
        self.process = launch(self.tasks, flags, timeout | self.env, self.clock, process, self.packages)
        async with asyncio.timeout(START_SECONDS):
            self.assembly = await self.process.begun()

    @asynccontextmanager
    async def running(self, env: Mapping[str, str] = NOTHING, **flags: str) -> AsyncIterator[Assembly]:
        """One operator at work while the block lasts; it leaves in order. `flags` with underscores."""
        self.log_in(self.api_server)
        named = {name.replace("_", "-"): text for name, text in flags.items()}
        given = {"kubeconfig": str(self.kubeconfig), **self.flags, **named}
        async with running_operator(given, {**self.env, **env}, self.clock) as self.assembly:
            yield self.assembly

    async def stop(self) -> None:
        """SIGTERM, and wait until it has left."""
        if self.process is not None:
            await self.process.stop()
            self.process = None

    def cut(self) -> None:
        """What the operator had not sent by now is never sent."""
        self.cable.pull()

    async def kill(self) -> None:
        """SIGKILL: nothing more reaches the API server; what the process remembered is gone.

        It is not waited for: in vain it tries for two seconds to put things in order. The next one has its own cable.
        """
        self.cut()
        if self.process is not None:
            self.process.task.cancel()
            self.process = None
        self.cable = await self.stack.enter_async_context(Cable(self.api_server))

    def log_in(self, url: str) -> None:
        """Write the operator's kubeconfig for an API server at `url`."""
        self.kubeconfig.write_text(token_kubeconfig(self.cluster, self.user, url))
