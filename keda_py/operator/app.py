"""The operator, wired: what runs in one process, and in which order it starts and ends.

Last of the six files (before: `metrics/query.py`). Wiring only. One TaskGroup holds everything: caches, Events, the
servers, the engine. SIGTERM: readyz fails and writing stops at once, serving goes on for --shutdown-delay.
"""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx

from keda_py import __version__, registry
from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.auth.resolver import NothingResolved
from keda_py.clock import Clock, SystemClock
from keda_py.context import Lendings, SharedResources
from keda_py.core.spec import ScalingSpec, build_spec
from keda_py.errors import ConfigError
from keda_py.http import HttpClientSpec, Proxies, http_client
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import Discovery
from keda_py.kube.events import EventRecorder
from keda_py.kube.lease import Election, LeaseSpec
from keda_py.metrics.prometheus import OperatorMetrics
from keda_py.metrics.query import Query
from keda_py.metrics.readings import Readings
from keda_py.metrics.scaler_set import ScalerSource
from keda_py.operator.caches import Caches
from keda_py.operator.engine import Engine
from keda_py.operator.fallback_target import FallbackTarget
from keda_py.operator.hpas import Hpas
from keda_py.operator.parts import Parts
from keda_py.operator.queue import Key
from keda_py.operator.reader import ClusterReader
from keda_py.operator.serving import Serving
from keda_py.operator.status import StatusWriter
from keda_py.operator.targets import Targets
from keda_py.settings import Settings
from keda_py.tls import TlsContexts, TlsSettings

FLUSH_SECONDS = 2.0
log = logging.getLogger(__name__)


async def run(settings: Settings) -> None:
    """`keda-py operator`: until SIGTERM or SIGINT."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await run_operator(settings, SystemClock(), stopping)


async def run_operator(
    settings: Settings, clock: Clock, stopping: asyncio.Event, started: Callable[["Operator"], None] = lambda _: None
) -> None:
    """One operator on any clock, until `stopping`; `started` is called once it works. Raises KedaPyError."""
    instruments = OperatorMetrics()
    client = KubeClient(clock, settings.cluster.kubeconfig)
    tls = TlsContexts(settings.http.min_tls_version, settings.http.ciphers, settings.certificates.ca_dirs)
    async with client, _http(settings, clock, tls) as http, asyncio.TaskGroup() as tasks:
        around = Surroundings(
            settings=settings, clock=clock, client=client, http=http, tls=tls, instruments=instruments, tasks=tasks
        )
        await assemble(around).run(stopping, started)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What an operator is given: time, connections, and the group that its tasks belong to."""

    settings: Settings
    clock: Clock
    client: KubeClient
    http: httpx.AsyncClient
    tls: TlsContexts
    instruments: OperatorMetrics
    tasks: asyncio.TaskGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Everything of one process, assembled and not yet running."""

    settings: Settings
    parts: Parts
    engine: Engine
    reader: ClusterReader
    serving: Serving
    election: Election | None
    tasks: asyncio.TaskGroup

    async def run(self, stopping: asyncio.Event, started: Callable[["Operator"], None]) -> None:
        """Serve, sync, lead, work; then leave in order. Ends early when leadership is lost."""
        async with self.serving:
            background = [self._begin(work) for work in (self.parts.caches.run, self.parts.events.run, self.reader.run)]
            working = self._begin(partial(self._work, stopping, started))
            await stopping.wait()
            self.serving.leave()
            working.cancel()
            await asyncio.wait([working])
            await asyncio.sleep(self.settings.serving.shutdown_delay.total_seconds())
            await self.parts.readings.aclose()
            for task in background:
                task.cancel()

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        return self.tasks.create_task(work(), name=getattr(work, "__qualname__", "operator"))

    async def _work(self, stopping: asyncio.Event, started: Callable[["Operator"], None]) -> None:
        """Everything that writes: only after every cache has synced, and only while we lead."""
        await self.parts.caches.synced()
        if self.settings.serving.register:
            await self.serving.register(self.parts.client)
        self.serving.ready = True
        try:
            async with asyncio.TaskGroup() as leading:
                if self.election is not None:
                    leading.create_task(self._lead(stopping), name="lease")
                    await self.election.acquired.wait()
                log.info("operator started", extra={"version": __version__})
                started(self)
                await self.engine.run()
        finally:
            await self._put_down()
            if self.election is not None:
                await self.election.release()

    async def _lead(self, stopping: asyncio.Event) -> None:
        if self.election is not None:
            await self.election.run()
            stopping.set()

    async def _put_down(self) -> None:
        """The last writes: when objects were last active, and Events still queued."""
        try:
            async with asyncio.timeout(FLUSH_SECONDS):
                await self.engine.flush()
                await self.parts.events.flush(FLUSH_SECONDS)
        except TimeoutError:
            log.warning("the last writes did not finish in time", extra={"seconds": FLUSH_SECONDS})


def assemble(around: Surroundings) -> Operator:
    """Put the parts together; nothing runs yet."""
    client, clock, settings = around.client, around.clock, around.settings
    caches = Caches(client, settings.cluster.watch_namespaces)
    discovery = Discovery(client)
    reader = ClusterReader(client, discovery, clock)
    targets = Targets(client, caches, discovery, clock)

    def on_reading(key: Key) -> None:
        engine.on_reading(key)

    readings = Readings(scalers=_scaler_source(around, reader), tasks=around.tasks, on_reading=on_reading)
    parts = Parts(
        clock=clock,
        client=client,
        caches=caches,
        targets=targets,
        hpas=Hpas(client, caches.hpas),
        reader=reader,
        readings=readings,
        status=StatusWriter(client),
        events=EventRecorder(client, instance=identity(settings)),
        instruments=around.instruments,
    )
    engine = Engine(parts, reconcilers=settings.scaling.scaled_object_workers)
    query = Query(
        readings=readings,
        targets=FallbackTarget(client, targets, reader, engine.states),
        specs=partial(_find_spec, caches),
    )
    return Operator(
        settings=settings,
        parts=parts,
        engine=engine,
        reader=reader,
        serving=Serving(settings, clock, query, around.instruments),
        election=_election(client, settings),
        tasks=around.tasks,
    )


def identity(settings: Settings) -> str:
    """Who we are in Lease and Events: the pod, so that a container restarted in it is still the same."""
    return settings.cluster.pod_name or f"{socket.gethostname()}_{os.getpid()}"


def _find_spec(caches: Caches, key: Key) -> ScalingSpec | None:
    live = caches.scaled_objects.get(*key)
    try:
        return build_spec(parse_object(ScaledObject, live)) if live else None
    except ConfigError:
        return None


def _scaler_source(around: Surroundings, reader: ClusterReader) -> ScalerSource:
    timeout = around.settings.http.timeout.total_seconds()
    lendings = Lendings(
        clock=around.clock,
        http=around.http,
        http_timeout=timeout,
        kube=reader,
        tls=around.tls,
        resources=SharedResources(),
    )
    return ScalerSource(lendings=lendings, build=registry.build, resolver=NothingResolved())


def _election(client: KubeClient, settings: Settings) -> Election | None:
    lease = settings.leadership
    if not lease.elect:
        return None
    spec = LeaseSpec(
        namespace=settings.cluster.pod_namespace,
        name=lease.lease_name,
        identity=identity(settings),
        duration=lease.lease_duration.total_seconds(),
        renew_deadline=lease.renew_deadline.total_seconds(),
        retry_period=lease.retry_period.total_seconds(),
    )
    return Election(client, spec)


def _http(settings: Settings, clock: Clock, tls: TlsContexts) -> httpx.AsyncClient:
    spec = HttpClientSpec(
        timeout=settings.http.timeout.total_seconds(),
        keep_alive=not settings.http.disable_keep_alive,
        idle_seconds=settings.http.idle_timeout.total_seconds(),
        proxies=Proxies.from_environment(os.environ),
        user_agent=f"keda-py/{__version__}",
    )
    return http_client(spec, clock, tls.get(TlsSettings()))
