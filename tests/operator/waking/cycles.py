"""Everything that one sleep and wake under load needs: pods that serve, wakers, a service proxy, and clients.

Time passes ten times as fast for cluster and operator as for clients and wakers: graces of seconds take part of one.
"""

import asyncio
import itertools
import random
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import aiohttp
from aiohttp import web

from keda_py.clock import SystemClock, Timer
from keda_py.errors import NotFound
from keda_py.kube.resources import OVERRIDES, PODS, Obj
from keda_py.localkube.store.subscriptions import Event
from keda_py.settings.waker import WakerClusterSettings, WakerServingSettings, WakerSettings
from keda_py.waker.app import run_waker
from keda_py.waker.limits import Limits
from tests.builders import deployment, environment, override
from tests.certificates import Authority
from tests.http_server import HttpServer, http_server
from tests.operator.replicas import Replicas, blind, build_replicas
from tests.operator.waking.proxy import ServiceProxy
from tests.operator.waking.stand_in import (
    SERVICE,
    StandInWaker,
    our_slices,
    service,
    waker_address,
    waker_slice,
)
from tests.operator.waking.timeline import Timeline
from tests.servers import LOOPBACK, free_port
from tests.waiting import eventually
from tests.worlds.stored import Stored

SPEED = 10.0
ADDRESS = "127.96.0.10"
DEADLINE_SECONDS = 60.0
AFTER_STOP_SECONDS = 0.3
"""How long pods go on serving after they were told to stop, as those with a preStop hook do."""


class HurriedClock:
    """The loop's time, SPEED times as fast, for decisions of the operator and for the embedded cluster.

    Clients and wakers go by the loop's time as well. On a patient loop no grace is over before what it waits for was
    got to, however busy the machine is.
    """

    def __init__(self) -> None:
        self._real = SystemClock()
        self._loop = asyncio.get_running_loop()
        self._began, self._start = self._loop.time(), self._real.now()

    def now(self) -> datetime:
        return (self._start + timedelta(seconds=self.monotonic() - self._began)).astimezone(UTC)

    def monotonic(self) -> float:
        return self._began + (self._loop.time() - self._began) * SPEED

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return self._real.call_later(seconds / SPEED, callback)

    async def sleep(self, seconds: float) -> None:
        await self._real.sleep(seconds / SPEED)

    def busy(self) -> AbstractContextManager[None]:
        return nullcontext()


@dataclass
class PodServer:
    """The server of all pods of a workload, which have one address here: it listens while any of them runs."""

    world: Stored
    app: str
    port: int
    served: int = 0
    _server: asyncio.Server | None = None

    async def run(self) -> None:
        """Follow the pods until cancelled."""
        changed = asyncio.Event()
        self.world.listen(lambda event: changed.set() if event.resource.kind == "Pod" else None)
        try:
            while True:
                if self._is_up() and self._server is None:
                    self._server = await asyncio.start_server(self._serve, LOOPBACK, self.port)
                elif not self._is_up() and self._server is not None:
                    await asyncio.sleep(AFTER_STOP_SECONDS)
                    if not self._is_up():
                        self._server.close()
                        self._server = None
                await changed.wait()
                changed.clear()
        finally:
            if self._server is not None:
                self._server.close()

    def _is_up(self) -> bool:
        return any(one["metadata"]["labels"].get("app") == self.app and _is_ready(one) for one in self.world.all(PODS))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET "):
                self.served += 1
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
                await writer.drain()
        writer.close()


def _is_ready(pod: Obj) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


@dataclass
class WakerPod:
    """A real waker of this process."""

    name: str
    address: str
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None

    def start(self, tasks: asyncio.TaskGroup, kubeconfig: Path, operator_url: str, ca_file: Path) -> None:
        settings = WakerSettings(
            cluster=WakerClusterSettings(
                kubeconfig=str(kubeconfig),
                pod_name=self.name,
                pod_ip=self.address,
                operator_url=operator_url,
                operator_ca_file=str(ca_file),
            ),
            serving=WakerServingSettings(
                bind_address=self.address,
                metrics=None,
                health=None,
                shutdown_delay=timedelta(seconds=1.0),
                drain=timedelta(seconds=5.0),
            ),
        )
        self.stopping = asyncio.Event()
        work = run_waker(settings, SystemClock(), self.stopping, Limits(linger=0.5, coalesce=0.1, repeat=0.5))
        self.task = tasks.create_task(work)


REQUEST = b"GET / HTTP/1.1\r\nHost: web\r\nUser-Agent: load\r\nAccept: */*\r\n\r\n"


@dataclass
class Load:
    """Clients that open a new connection to a Service again and again, and wait as long as they may.

    A client of HTTP might ask again by itself after a connection that was lost; these do not.
    """

    address: str
    port: int
    timeline: Timeline
    pause: float = 0.02
    results: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)

    async def run(self) -> None:
        """Send requests until cancelled; those under way are waited for."""
        async with asyncio.TaskGroup() as tasks:
            with suppress(asyncio.CancelledError):
                while True:
                    tasks.create_task(self._ask())
                    await asyncio.sleep(self.pause)

    async def _ask(self) -> None:
        began, result = asyncio.get_running_loop().time(), "ended without an answer"
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                reader, writer = await asyncio.open_connection(self.address, self.port)
                writer.write(REQUEST)
                answer = await reader.read()
                writer.close()
            if answer:
                result = answer.split(b" ", 2)[1].decode()
        except (TimeoutError, OSError) as error:
            result = type(error).__name__
        self.results[result] += 1
        self.waits.append(asyncio.get_running_loop().time() - began)
        if result != "200":
            self.timeline.note(f"request lost: {result} after {self.waits[-1]:.3f} s")


@dataclass(kw_only=True)
class Evening:
    """Replicas, wakers, proxy and pods of one Environment, `dev`, with one Service, `web`."""

    replicas: Replicas
    tasks: asyncio.TaskGroup
    folder: Path
    proxy: ServiceProxy
    pods: PodServer
    operator_url: str
    port: int
    timeline: Timeline
    wakers: list[WakerPod] = field(default_factory=list)
    all_wakers: list[WakerPod] = field(default_factory=list)
    slept: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by each time that the workload is scaled to 0."""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def add_waker(self) -> None:
        """Start a waker; it is ready once it follows the slices."""
        number = next(self._numbers)
        self.timeline.note(f"waker-{number} begins")
        pod = WakerPod(f"waker-{number}", waker_address(number % 250 + 1))
        pod.start(self.tasks, self.replicas.kubeconfig, self.operator_url, self.folder / "ca.crt")
        self.wakers.append(pod)
        self.all_wakers.append(pod)
        await self._show_wakers()

    async def stop_waker(self) -> None:
        """Take the oldest waker away as a node drain does: not ready, told to stop, gone when its work is done."""
        pod = self.wakers.pop(0)
        self.timeline.note(f"{pod.name} at {pod.address} is told to stop")
        await self._show_wakers()
        pod.stopping.set()

    async def _show_wakers(self) -> None:
        await self.replicas.apply(waker_slice([StandInWaker(one.name, one.address) for one in self.wakers]))

    async def kill_leader(self) -> None:
        """Kill the leader and start another replica; the one that waited takes over."""
        self.timeline.note(f"{self.replicas.holder()} is killed")
        leader = self.replicas.running[self.replicas.holder()]
        await self.replicas.kill(leader)
        await self.add_replica()

    async def add_replica(self) -> None:
        await self.replicas.start(f"operator-{next(self._numbers)}", waker_service=SERVICE)

    async def cycle(self, number: int, during: Callable[[], Awaitable[None]]) -> None:
        """Sleep, be woken by a request, and get out of the way; `during` is what goes wrong meanwhile."""
        self.timeline.note(f"cycle {number}")
        for one in self.replicas.all(OVERRIDES):
            with suppress(NotFound):
                await self.replicas.delete(OVERRIDES, one["metadata"]["name"])
        self.slept.clear()
        target = {"kind": "Environment", "name": "dev"}
        await self.replicas.create(override(f"asleep-{number}", state="Asleep", target=target))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(during())
            async with asyncio.timeout(240):
                await self.slept.wait()
        await eventually(lambda: self.replicas.replicas("web") > 0 and not our_slices(self.replicas), 240)

    def to_wakers(self) -> int:
        """Connections that went to wakers so far."""
        addresses = {one.address for one in self.all_wakers}
        return sum(count for (address, _), count in self.proxy.sent.items() if address in addresses)


def _is_asleep(event: Event) -> bool:
    return event.resource.kind == "Deployment" and event.object["spec"]["replicas"] == 0


async def _front(replicas: Replicas, request: web.Request) -> web.Response:
    """The operator's Service: any replica that runs, by a certificate that this machine's wakers believe."""
    for replica in random.sample(list(replicas.running.values()), len(replicas.running)):
        url, headers = f"https://127.0.0.1:{replica.port}/wake", {"Authorization": request.headers["Authorization"]}
        try:
            async with replicas.session.request(
                request.method, url, data=await request.read(), headers=headers, ssl=blind()
            ) as answer:
                return web.Response(status=answer.status)
        except aiohttp.ClientError:
            continue
    return web.Response(status=503)


def front_tls(authority: Authority, folder: Path) -> ssl.SSLContext:
    pair = authority.leaf("operator")
    (folder / "front.crt").write_text(pair.cert)
    (folder / "front.key").write_text(pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "front.crt", folder / "front.key")
    return context


@asynccontextmanager
async def open_evening(folder: Path, server: HttpServer) -> AsyncIterator[Evening]:
    """Two replicas of the operator, two wakers and an Environment whose calendar is always open."""
    authority, port, pod_port = Authority(), free_port(), free_port()
    (folder / "ca.crt").write_text(authority.cert)
    always = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}
    async with (
        build_replicas(folder, server, HurriedClock()) as replicas,
        http_server(front_tls(authority, folder)) as front,
        asyncio.TaskGroup() as tasks,
    ):
        front.answers["/wake"] = partial(_front, replicas)
        timeline = Timeline(replicas)
        proxy, pods = ServiceProxy(replicas.client, note=timeline.note), PodServer(replicas, "web", pod_port)
        helpers = [tasks.create_task(proxy.run()), tasks.create_task(pods.run())]
        evening = Evening(
            replicas=replicas,
            tasks=tasks,
            folder=folder,
            proxy=proxy,
            pods=pods,
            operator_url=front.url,
            port=port,
            timeline=timeline,
        )
        replicas.listen(lambda event: evening.slept.set() if _is_asleep(event) else None)
        for _ in range(2):
            await evening.add_replica()
            await evening.add_waker()
        web_service = service(address=ADDRESS, ports=[{"name": "http", "port": port, "targetPort": pod_port}])
        await replicas.create(deployment("web", 2), web_service, environment(calendar=always, wakeOnRequest={}))
        await eventually(lambda: proxy.targets("default", "web"))
        try:
            with timeline.kept(folder / "timeline.txt"):
                yield evening
        finally:
            for pod in evening.all_wakers:
                pod.stopping.set()
            for task in helpers:
                task.cancel()
