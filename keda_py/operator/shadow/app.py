"""One shadow: what runs in its process, from start to end. The counterpart of `operator/app.py`."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from keda_py import __version__
from keda_py.clock import Clock, SystemClock
from keda_py.core.spec import AS_WRITTEN
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.events import EventRecorder, EventType
from keda_py.kube.resources import SCALED_JOBS, Obj
from keda_py.operator.cluster.caches import Caches, keep_hpa_status
from keda_py.operator.controller.activations import Activations
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.state import Remembered
from keda_py.operator.controller.status import StatusWriter
from keda_py.operator.decisions.record import DecisionRecord, Entry
from keda_py.operator.opening import OperatorInputs, identity, opened
from keda_py.operator.process.clock_watch import watch_clock
from keda_py.operator.process.operator_process import stop_on_signals
from keda_py.operator.process.quarantine import Quarantine
from keda_py.operator.process.watchdog import Watchdog
from keda_py.operator.scaled_jobs.caches import JobCaches
from keda_py.operator.scaled_jobs.parts import job_parts_of
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.parts import scaled_object_parts_of
from keda_py.operator.shadow.comparisons import Comparisons
from keda_py.operator.shadow.jobs import ShadowedJobs, ShadowJobState
from keda_py.operator.shadow.ledger import Disagreements
from keda_py.operator.shadow.objects import ShadowedObjects, ShadowState
from keda_py.operator.shadow.report import report_app
from keda_py.operator.shadow.trace_record import TraceRecord
from keda_py.operator.sharding.tenures import Tenures
from keda_py.operator.sources import Sources, readings_of, sources_of
from keda_py.readings.journal import Journal
from keda_py.readings.readings import Readings
from keda_py.sdk.registry import trigger_types_by_module
from keda_py.serving.https import LimitedServer
from keda_py.serving.ports.listening import raise_descriptor_limit
from keda_py.serving.ports.probes import probe_app
from keda_py.serving.ports.table import PortLimits
from keda_py.settings.parsers import Address
from keda_py.settings.settings import Settings
from keda_py.telemetry.page import MetricsPage
from keda_py.telemetry.shadow_metrics import ShadowMetrics

FEW = PortLimits(connections=50)
"""Connections of each port: the kubelet, Prometheus and one person have room."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """The parts of one process; `report_port` is where the report is served, once it is."""

    parts: ScaledObjectDependencies
    controller: Controller[ShadowState]
    jobs: Controller[ShadowJobState]
    job_caches: JobCaches
    ledger: Disagreements
    recorded: TraceRecord
    report_port: int = 0


Started = Callable[[Shadow], None]


async def run(settings: Settings) -> None:
    """Run `keda-py operator --shadow` until SIGTERM or SIGINT."""
    raise_descriptor_limit()
    await run_shadow(settings, SystemClock(), stop_on_signals())


async def run_shadow(
    settings: Settings, clock: Clock, stopping: asyncio.Event, started: Started = lambda _: None
) -> None:
    """Run one shadow on any clock until `stopping`; `started` is called once it works. Raises KedaPyError, OSError."""
    async with opened(settings, clock, Journal.in_memory()) as inputs:
        around = replace(inputs, client=inputs.client.read_only())
        shadow, ready = assemble_shadow(around), asyncio.Event()
        async with _serving(settings, shadow, ready) as port:
            working = around.tasks.create_task(_work(replace(shadow, report_port=port), ready, started))
            await stopping.wait()
            working.cancel()
            await asyncio.wait([working])
            await shadow.parts.shared.readings.aclose()


def assemble_shadow(around: OperatorInputs) -> Shadow:
    """Put the parts together around a client that sends no write; nothing runs yet."""
    sources = sources_of(around, Caches(around.client, around.settings.cluster.watch_namespaces, keep_hpa_status))

    def on_reading(key: ObjectKey) -> None:
        (jobs if key.kind == SCALED_JOBS.kind else controller).on_reading(key)

    parts = _parts(around, sources, readings_of(around, sources, lambda _: True, on_reading))
    ledger, recorded = Disagreements(around.clock.now()), TraceRecord()
    metrics = ShadowMetrics(around.instruments.registry, lambda: ledger.compared)
    comparisons = Comparisons(clock=around.clock, ledger=ledger, metrics=metrics, recorded=recorded)
    job_parts, scaling = job_parts_of(parts.shared, around.settings), around.settings.scaling
    controller = Controller(parts.shared, ShadowedObjects(parts, comparisons), scaling.scaled_object_workers, Tenures())
    jobs = Controller(job_parts.shared, ShadowedJobs(job_parts, comparisons), scaling.scaled_job_workers, Tenures())
    for listener in (controller, jobs):
        sources.resolver.subscribe(listener.on_parameters)
    return Shadow(
        parts=parts, controller=controller, jobs=jobs, job_caches=job_parts.caches, ledger=ledger, recorded=recorded
    )


class SilentStatus(StatusWriter):
    """A writer that writes no status: statuses belong to the other side."""

    def note(self, state: Remembered, entry: Entry) -> None:
        """Keep no history, which is a part of the status."""

    async def write(self, state: Remembered, wanted: Mapping[str, Any], *, exactly: bool = False) -> bool:
        """Return that nothing was written."""
        return False


class SilentEvents(EventRecorder):
    """A recorder that records no Event: the objects are the other side's."""

    def record(self, regarding: Obj, event_type: EventType, reason: str, note: str, action: str = "") -> None:
        """Drop the Event."""


def _parts(around: OperatorInputs, sources: Sources, readings: Readings) -> ScaledObjectDependencies:
    client, clock, scaling = around.client, around.clock, around.settings.scaling
    shared = Dependencies(
        clock=clock,
        client=client,
        readings=readings,
        resolver=sources.resolver,
        status=SilentStatus(client, clock, scaling.decision_history),
        events=SilentEvents(client, instance=identity(around.settings)),
        instruments=around.instruments,
        record=DecisionRecord(),
        quarantine=Quarantine(clock, around.journal),
        activations=Activations(clock, per_second=0),
        tells_unknown_keys=False,
    )
    return scaled_object_parts_of(shared, sources.caches, sources.discovery, sources.reader, AS_WRITTEN)


async def _work(shadow: Shadow, ready: asyncio.Event, started: Started) -> None:
    parts = shadow.parts
    watchdog = Watchdog(parts.shared.instruments.process, trigger_types_by_module())
    async with asyncio.TaskGroup() as tasks:
        for run in (parts.caches.run, shadow.job_caches.run, parts.reader.run, watchdog.run):
            tasks.create_task(run())
        await parts.caches.synced()
        tasks.create_task(watch_clock(parts.shared.clock, [shadow.controller.look_at_all, shadow.jobs.look_at_all]))
        tasks.create_task(_work_on_jobs(shadow))
        ready.set()
        log.info("shadow started; nothing is written", extra={"version": __version__})
        started(shadow)
        with parts.shared.readings.listening():
            await shadow.controller.run()


async def _work_on_jobs(shadow: Shadow) -> None:
    """Work on ScaledJobs in a task of their own: if they may not be read, ScaledObjects are compared all the same."""
    await shadow.job_caches.synced()
    await shadow.jobs.run()


@asynccontextmanager
async def _serving(settings: Settings, shadow: Shadow, ready: asyncio.Event) -> AsyncIterator[int]:
    """Serve probes, Prometheus and the report while the block lasts; yield the report's port. Raises OSError."""
    page = web.Application()
    page.router.add_get("/metrics", MetricsPage(shadow.parts.shared.instruments).answer)
    wanted: list[tuple[web.Application, Address | None]] = [
        (probe_app(ready.is_set), settings.serving.health),
        (page, settings.serving.metrics if settings.serving.prometheus else None),
        (report_app(shadow.ledger, shadow.recorded, shadow.parts.shared.clock), settings.shadow.report),
    ]
    servers, port = list[LimitedServer](), 0
    try:
        for app, address in wanted:
            if address is not None:
                servers.append(LimitedServer(app, FEW))
                port = await servers[-1].start(address.host, address.port, None)
        yield port
    finally:
        for server in servers:
            await server.aclose()
