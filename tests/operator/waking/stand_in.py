"""Wakers for tests of the operator: they listen as the rules of slices say, answer probes, and ask for wakes."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from keda_py.core.waking.rules import LABEL, read_rules
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import ENDPOINT_SLICES, Obj, Selection
from tests.builders import a_namespace, obj
from tests.operator.replicas import Replicas
from tests.worlds.stored import Stored
from tests.worlds.world import World

SERVICE, NAMESPACE = "keda-waker", "keda"
Ask = Callable[[Obj], Awaitable[None]]


def waker_address(number: int) -> str:
    """An address of this machine that no other process of the tests uses: each operator begins with the same port."""
    process = os.getpid()
    return f"127.{100 + process // 250 % 100}.{process % 250}.{number}"


@dataclass
class StandInWaker:
    """A waker pod with an address of its own on this machine. `deaf`: it listens nowhere."""

    name: str
    address: str
    deaf: bool = False
    servers: dict[int, tuple[str, asyncio.Server]] = field(default_factory=dict)
    """By port: the uid of its Service, and what listens."""
    _opening: set[int] = field(default_factory=set)
    _slices: Informer | None = None
    lost: int = 0
    """So many connections more are closed without an answer, as by a full queue."""
    reached: list[bytes] = field(default_factory=list)
    """First lines of connections that were no probes."""

    async def start(self, client: KubeClient, tasks: asyncio.TaskGroup) -> asyncio.Task[None]:
        """Follow the slices until the task is cancelled."""
        slices = Informer(client, InformerSpec(resource=ENDPOINT_SLICES, selection=Selection(labels=f"{LABEL}=yes")))
        slices.subscribe(lambda old, new: self._follow(slices, tasks))
        self._slices = slices
        following = tasks.create_task(slices.run())
        await slices.wait_synced()
        return following

    def close(self) -> None:
        """Die: nothing listens any more."""
        self.deaf = True
        for _, server in self.servers.values():
            server.close()
        self.servers.clear()

    def _follow(self, slices: Informer, tasks: asyncio.TaskGroup) -> None:
        wanted: dict[int, str] = {}
        for live in sorted(slices, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["uid"])):
            rules = read_rules(live["metadata"]["annotations"][LABEL])
            for port in rules.ports:
                wanted.setdefault(port.port, rules.service_uid)
        for port in [port for port, (uid, _) in self.servers.items() if wanted.get(port) != uid]:
            self.servers.pop(port)[1].close()
        for port, uid in wanted.items():
            if port not in self.servers and port not in self._opening and not self.deaf:
                self._opening.add(port)
                tasks.create_task(self._listen(port, uid, tasks))

    async def _listen(self, port: int, uid: str, tasks: asyncio.TaskGroup) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            line = await reader.readline()
            if self.lost:
                self.lost -= 1
            elif line == f"PRI-KEDA-PY-PROBE {uid}\r\n".encode():
                writer.write(f"KEDA-PY-WAKER {self.name}\r\n".encode())
                await writer.drain()
            else:
                self.reached.append(line)
            writer.close()

        server = await asyncio.start_server(accept, self.address, port)
        self._opening.discard(port)
        if self.deaf:
            server.close()
            return
        self.servers[port] = uid, server
        if self._slices is not None:  # the port may have gone to another Service meanwhile
            self._follow(self._slices, tasks)


def waker_slice(wakers: Sequence[StandInWaker]) -> Obj:
    """The slice of the wakers' own Service, in which they are ready."""
    body = obj("discovery.k8s.io/v1", "EndpointSlice", f"{SERVICE}-abcde", NAMESPACE)
    body["metadata"]["labels"] = {"kubernetes.io/service-name": SERVICE}
    endpoints = [
        {
            "addresses": [one.address],
            "conditions": {"ready": True},
            "nodeName": f"node-{one.name}",
            "targetRef": {"kind": "Pod", "namespace": NAMESPACE, "name": one.name},
        }
        for one in wakers
    ]
    return {**body, "addressType": "IPv4", "endpoints": endpoints, "ports": [{"name": "health", "port": 8081}]}


@asynccontextmanager
async def two_wakers(world: World | Replicas, *, deaf: bool = False) -> AsyncIterator[list[StandInWaker]]:
    """Two ready wakers, and the operator's namespace."""
    wakers = [StandInWaker(f"waker-{n}", waker_address(n), deaf) for n in (1, 2)]
    await world.apply(a_namespace(NAMESPACE), waker_slice(wakers))
    failure: AssertionError | None = None
    async with asyncio.TaskGroup() as tasks:
        following = [await one.start(world.client, tasks) for one in wakers]
        try:
            yield wakers
        except AssertionError as error:  # to be seen by itself, not as one of a group
            failure = error
        finally:
            for one, task in zip(wakers, following, strict=True):
                one.close()
                task.cancel()
    if failure is not None:
        raise failure


def service(name: str = "web", address: str = "127.96.0.10", **spec: object) -> Obj:
    """A Service for the pods of a workload of this name; its address is on this machine, where nothing listens."""
    ports = [{"name": "http", "port": 80, "targetPort": 8000}]
    body = {"clusterIP": address, "selector": {"app": name}, "ports": ports, **spec}
    return obj("v1", "Service", name, spec=body)


def our_slices(world: Stored) -> list[Obj]:
    return [one for one in world.all(ENDPOINT_SLICES) if LABEL in (one["metadata"].get("labels") or {})]
