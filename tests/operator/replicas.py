"""Several replicas of the operator in this process, on real time, beside one embedded cluster.

Each has ports and a cable of its own; what they do is seen in the cluster and through their ports.
"""

import asyncio
import signal
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from keda_py.clock import Clock, SystemClock
from keda_py.kube.resources import LEASES
from keda_py.localkube.access.identity import load_pair
from tests.builders import a_namespace
from tests.e2e.processes import Process
from tests.http_server import HttpServer
from tests.kubeconfigs import token_kubeconfig
from tests.servers import free_port
from tests.waiting import connections_closed, eventually
from tests.worlds.actor import Actor
from tests.worlds.cable import Cable
from tests.worlds.operators import Operator, launch
from tests.worlds.source import Source
from tests.worlds.stored import Stored
from tests.worlds.world import open_world

LEASE = LEASES.named("keda", "operator.keda.sh")
METRICS = "/apis/external.metrics.k8s.io/v1beta1"
INSIGHT = "/apis/insight.keda-py.dev/v1alpha1/namespaces/default/scaledobjects/app"
FAST = {
    "KEDA_OPERATOR_LEADER_ELECTION_LEASE_DURATION": "3s",
    "KEDA_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE": "2s",
    "KEDA_OPERATOR_LEADER_ELECTION_RETRY_PERIOD": "500ms",
}


def question(metric: str, name: str = "app") -> str:
    """The path by which the HPA controller asks."""
    return f"{METRICS}/namespaces/default/{metric}?labelSelector=scaledobject.keda.sh%2Fname%3D{name}"


FLAGS = {
    "bind-address": "127.0.0.1",
    "webhook-port": "0",
    "metrics-bind-address": "0",
    "health-probe-bind-address": "0",
    "enable-cert-rotation": "true",
    "leader-elect": "true",
}


def _dashed(flags: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in flags.items()}


@dataclass
class Replica:
    """One operator."""

    name: str
    cable: Cable
    operator: Operator
    port: int
    front_proxy: ssl.SSLContext
    session: aiohttp.ClientSession

    async def get(self, path: str, context: ssl.SSLContext | None = None) -> tuple[int, Any]:
        """As the aggregator asks for an administrator, or as whoever `context` is."""
        who = {} if context else {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
        url = f"https://127.0.0.1:{self.port}{path}"
        async with self.session.get(url, ssl=context or self.front_proxy, headers=who) as answer:
            return answer.status, await answer.json(content_type=None)

    async def value(self, metric: str) -> str:
        status, body = await self.get(question(metric))
        assert status == 200, body
        return str(body["items"][0]["value"])

    async def is_ready(self) -> bool:
        try:
            async with self.session.get(f"https://127.0.0.1:{self.port}/readyz", ssl=self.front_proxy) as answer:
                return answer.status == 200
        except aiohttp.ClientError:
            return False


@dataclass(kw_only=True)
class Replicas(Actor, Stored, Source):
    """The cluster and the operators so far."""

    folder: Path
    kubeconfig: Path
    """The administrator's."""
    tasks: asyncio.TaskGroup
    stack: AsyncExitStack
    session: aiohttp.ClientSession
    running: dict[str, Replica] = field(default_factory=dict)
    clock: Clock = field(default_factory=SystemClock)

    async def start(self, name: str, env: Mapping[str, str] = FAST, **flags: str) -> Replica:
        """Start one, and return when it is ready to serve."""
        cable = await self.stack.enter_async_context(Cable(self.cluster.url))
        kubeconfig = self.folder / name
        kubeconfig.write_text(token_kubeconfig(self.cluster, url=cable.url))
        port = free_port()
        given = {"kubeconfig": str(kubeconfig), "secure-port": str(port), **FLAGS}
        operator = launch(self.tasks, given | _dashed(flags), {"POD_NAME": name, **env}, self.clock)
        replica = Replica(name, cable, operator, port, self._front_proxy(), self.session)
        self.running[name] = replica
        await eventually(replica.is_ready)
        return replica

    async def spawn(self, name: str, env: Mapping[str, str] = FAST, **flags: str) -> Process:
        """Start one as a process of its own; it is not waited for."""
        given = {"kubeconfig": str(self.kubeconfig), "secure-port": str(free_port()), **FLAGS, **_dashed(flags)}
        arguments = [f"--{flag}={value}" for flag, value in given.items()]
        process = Process(["operator", *arguments, "--zap-encoder=console"], {"POD_NAME": name, **env})
        self.stack.push_async_callback(asyncio.to_thread, process.end, signal.SIGKILL)
        return process

    def holder(self) -> str:
        """Who holds the Lease, "" while nobody does."""
        lease = self.find(LEASES, LEASE.name, LEASE.namespace) or {"spec": {}}
        return str(lease["spec"].get("holderIdentity") or "")

    async def held_by(self, name: str, seconds: float = 30.0) -> None:
        await eventually(lambda: self.holder() == name, seconds)

    async def stop(self, replica: Replica) -> None:
        """SIGTERM, and wait until it has left."""
        await replica.operator.stop()
        del self.running[replica.name]

    async def kill(self, replica: Replica) -> None:
        """As kill -9 looks from outside: neither API server nor anybody else hears of it again."""
        replica.cable.pull()
        replica.operator.task.cancel()
        with suppress(asyncio.CancelledError):
            await replica.operator.task
        del self.running[replica.name]

    async def scaled_to(self, count: int, seconds: float = 30.0) -> None:
        """Return once that many are asked of the Deployment."""
        await eventually(lambda: self.replicas() == count, seconds)

    async def until_condition(self, kind: str, status: str, name: str = "app") -> None:
        """Return once the ScaledObject has it."""
        await eventually(lambda: self.condition(kind, name)[0] == status)

    def _front_proxy(self) -> ssl.SSLContext:
        context = blind()
        load_pair(context, self.cluster.identity.front_proxy)
        return context


def blind() -> ssl.SSLContext:
    """TLS of a client that believes any server."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@asynccontextmanager
async def build_replicas(folder: Path, server: HttpServer, clock: Clock | None = None) -> AsyncIterator[Replicas]:
    """A cluster with our kinds and the namespace keda, and no operator yet."""
    async with AsyncExitStack() as stack:
        world = await stack.enter_async_context(open_world(folder, server, clock=clock or SystemClock(), tls=True))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        replicas = Replicas(
            cluster=world.cluster,
            client=world.client,
            server=server,
            kubeconfig=world.kubeconfig,
            folder=folder,
            tasks=tasks,
            stack=stack,
            session=session,
            clock=clock or SystemClock(),
        )
        await replicas.create(a_namespace("keda"))
        yield replicas
        for replica in list(replicas.running.values()):
            await replicas.stop(replica)
        await session.close()
        await connections_closed()
