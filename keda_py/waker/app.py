"""The waker as a process: what runs, and in which order it starts and ends.

SIGTERM: it is not ready any more, but accepts connections until the operator and the proxies of all nodes have taken it
out of use; then it listens no more, and waits until the last connection has ended, or for a bounded time.
"""

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

from aiohttp import web

from keda_py import __version__
from keda_py.clock import Clock, SystemClock
from keda_py.kube.client import KubeClient
from keda_py.serving.https import LimitedServer
from keda_py.serving.ports.listening import descriptors, raise_descriptor_limit
from keda_py.serving.ports.probes import probe_app
from keda_py.serving.ports.table import PortLimits
from keda_py.settings.waker import WakerSettings
from keda_py.telemetry.page import MetricsPage
from keda_py.telemetry.waker_metrics import WakerMetrics
from keda_py.waker.directory import Directory
from keda_py.waker.limits import Limits
from keda_py.waker.seats import Seats
from keda_py.waker.surroundings import Surroundings
from keda_py.waker.wake_calls import WakeCalls

log = logging.getLogger(__name__)

SWEEP_SECONDS = 0.25
_SPARE_DESCRIPTORS = 1024
"""Listening ports, watches and calls need descriptors, too."""
_PLAIN = PortLimits(connections=64)


async def run(settings: WakerSettings) -> None:
    """`keda-py waker`: until SIGTERM or SIGINT. Raises KedaPyError."""
    raise_descriptor_limit()
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await run_waker(settings, SystemClock(), stopping)


class Stopped(Exception):
    """End of all tasks of a waker."""


async def run_waker(
    settings: WakerSettings, clock: Clock, stopping: asyncio.Event, limits: Limits | None = None
) -> None:
    """One waker until `stopping`, and until its connections have ended. Raises KedaPyError."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(KubeClient(clock, settings.cluster.kubeconfig))
        cluster = settings.cluster
        calls = WakeCalls(client, settings.operator_url, cluster.operator_ca_file, patches=cluster.patch_slices)
        stack.push_async_callback(calls.aclose)
        try:
            async with asyncio.TaskGroup() as tasks:
                around = _surroundings(settings, clock, tasks, limits or _limits(settings))
                namespaces = settings.cluster.watch_namespaces or ("",)
                directory = Directory(client, namespaces, around, calls, settings.cluster.pod_ip)
                for part in (directory.run(), calls.keep_warm(), _sweep(around)):
                    tasks.create_task(part)
                await _serve(settings, stack, around, lambda: directory.is_ready and not stopping.is_set())
                log.info("waker started", extra={"version": __version__})
                try:
                    await stopping.wait()
                    await _leave(settings, directory, around)
                finally:  # the watch may tell of one more slice until it has ended, and a group that ends takes no task
                    directory.stop_listening()
                raise Stopped
        except* Stopped:
            log.info("waker ended")


def _limits(settings: WakerSettings) -> Limits:
    serving = settings.serving
    return Limits(
        connections=serving.connections,
        namespace_connections=serving.namespace_connections,
        namespace_bytes=serving.namespace_bytes,
    )


def _surroundings(settings: WakerSettings, clock: Clock, tasks: asyncio.TaskGroup, limits: Limits) -> Surroundings:
    # A connection that waits needs one descriptor, one that a pod has needs two. Where a third is not enough for those,
    # opening fails, and is tried again as others end.
    most = min(limits.connections, max((descriptors() - _SPARE_DESCRIPTORS) * 2 // 3, 1))
    if most < limits.connections:
        log.warning("fewer connections than wanted, for lack of file descriptors", extra={"connections": most})
    seats, metrics = Seats(limits, most), WakerMetrics()
    metrics.show(lambda: len(seats), lambda: seats.buffered)
    return Surroundings(
        limits=limits,
        seats=seats,
        metrics=metrics,
        clock=clock,
        tasks=tasks,
        pod_name=settings.cluster.pod_name,
        host=settings.serving.bind_address,
    )


async def _serve(
    settings: WakerSettings, stack: AsyncExitStack, around: Surroundings, is_ready: Callable[[], bool]
) -> None:
    """Open the ports of the kubelet and of Prometheus."""
    page = web.Application()
    page.router.add_get("/metrics", MetricsPage(around.metrics).answer)
    for app, address in ((page, settings.serving.metrics), (probe_app(is_ready), settings.serving.health)):
        if address is not None:
            server = LimitedServer(app, _PLAIN)
            stack.push_async_callback(server.aclose)
            await server.start(address.host, address.port, None)


async def _sweep(around: Surroundings) -> None:
    """End what has waited for too long, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        await around.active.wait()
        await asyncio.sleep(SWEEP_SECONDS)
        for port in tuple(around.busy):
            port.sweep(loop.time())


async def _leave(settings: WakerSettings, directory: Directory, around: Surroundings) -> None:
    """Accept connections for the delay, then wait for those that are open, for a bounded time."""
    await asyncio.sleep(settings.serving.shutdown_delay.total_seconds())
    directory.stop_listening()
    with suppress(TimeoutError):
        async with asyncio.timeout(settings.serving.drain.total_seconds()):
            await (around.idle.wait() if around.busy else asyncio.sleep(0))
    for port in tuple(around.busy):
        port.close()
