"""A service proxy of this process: what kube-proxy does with Services and their EndpointSlices, in user space.

A new connection goes to one of the ready endpoints of all slices of the Service, whoever wrote them; without any it is
refused. What is open stays open, whatever becomes of the slices. A node hears of a change a little late.
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from keda_py.core.waking.rules import SERVICE_LABEL
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import ENDPOINT_SLICES, SERVICES, Obj

Target = tuple[str, int]


@dataclass
class ServiceProxy:
    """Listens at the ClusterIPs of all Services, which are addresses of this machine."""

    client: KubeClient
    late: float = 0.05
    """Seconds until a change of a slice has an effect."""
    note: Callable[[str], object] = str
    """Called with a line about each change of endpoints, and about each refused connection."""
    sent: dict[Target, int] = field(default_factory=dict)
    """Connections by the endpoint that they went to."""
    refused: int = 0
    open: int = 0
    _servers: dict[tuple[str, str, int], asyncio.Server] = field(default_factory=dict)
    _endpoints: dict[tuple[str, str], dict[str, tuple[Target, ...]]] = field(default_factory=dict)
    """Endpoints by Service and by the name of its port."""

    async def run(self) -> None:
        """Proxy until cancelled."""
        self._services = Informer(self.client, InformerSpec(resource=SERVICES))
        self._slices = Informer(self.client, InformerSpec(resource=ENDPOINT_SLICES))
        async with asyncio.TaskGroup() as tasks:
            self._slices.subscribe(lambda old, new: self._hear(new or old or {}, tasks))
            self._services.subscribe(lambda old, new: tasks.create_task(self._serve(new)) if new else None)
            tasks.create_task(self._slices.run())
            tasks.create_task(self._services.run())
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                for server in self._servers.values():
                    server.close()

    def targets(self, namespace: str, service: str) -> set[Target]:
        """The endpoints to which a new connection may go."""
        return {one for several in self._endpoints.get((namespace, service), {}).values() for one in several}

    def _hear(self, changed: Obj, tasks: asyncio.TaskGroup) -> None:
        tasks.create_task(self._follow(changed))

    async def _follow(self, changed: Obj) -> None:
        await asyncio.sleep(random.uniform(0, self.late))
        meta = changed["metadata"]
        service = (meta.get("labels") or {}).get(SERVICE_LABEL, "")
        found: dict[str, tuple[Target, ...]] = {}
        for live in self._slices.objects(meta["namespace"]):
            if (live["metadata"].get("labels") or {}).get(SERVICE_LABEL) == service:
                for port in live.get("ports") or ():
                    name = port.get("name") or ""
                    found[name] = (*found.get(name, ()), *_ready(live, port["port"]))
        self._endpoints[meta["namespace"], service] = found
        self.note(f"{service} leads to {found}")

    async def _serve(self, service: Obj) -> None:
        meta, spec = service["metadata"], service["spec"]
        for port in spec.get("ports") or ():
            key = (meta["namespace"], meta["name"], port["port"])
            if key not in self._servers and str(spec.get("clusterIP")).startswith("127."):
                accept = partial(self._splice, key[:2], port.get("name") or "")
                self._servers[key] = await asyncio.start_server(accept, spec["clusterIP"], port["port"])

    async def _splice(
        self, service: tuple[str, str], name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        targets = self._endpoints.get(service, {}).get(name, ())
        try:
            if not targets:
                raise ConnectionRefusedError
            target = random.choice(targets)
            far_reader, far_writer = await asyncio.open_connection(*target)
        except OSError as error:
            self.refused += 1
            self.note(f"connection to {service[1]} refused by {targets}: {error!r}")
            writer.transport.abort()
            return
        self.sent[target] = self.sent.get(target, 0) + 1
        self.open += 1
        try:
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            self.open -= 1
            for end in (writer, far_writer):
                end.transport.abort()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Pass on bytes, and their end: one direction may go on without the other; a reset ends both."""
    try:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    except OSError:
        sink.transport.abort()
        return
    with suppress(OSError, RuntimeError):
        sink.write_eof()


def _ready(live: Obj, port: int) -> list[Target]:
    endpoints = (one for one in live.get("endpoints") or () if (one.get("conditions") or {}).get("ready") is not False)
    return [(address, port) for one in endpoints for address in one["addresses"]]
