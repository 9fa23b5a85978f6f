"""ScaledJobs in one process: caches, readings and controller. `app.py` runs it beside the ScaledObjects."""

import asyncio
from dataclasses import replace

from keda_py.core.jobs.spec import JOBS_AS_WRITTEN
from keda_py.kube.resources import SCALED_JOBS
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.status import StatusWriter
from keda_py.operator.controller.work_queue import Key
from keda_py.operator.scaled_jobs.caches import JobCaches
from keda_py.operator.scaled_jobs.dependencies import ScaledJobDependencies
from keda_py.operator.scaled_jobs.kind import ScaledJobs
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSource
from keda_py.settings.settings import Settings


class ScaledJobParts:
    """`watch` and `run` in a TaskGroup, `run` only while we lead; `flush` when that ends, `aclose` last."""

    def __init__(
        self, around: ScaledObjectDependencies, settings: Settings, *, scalers: ScalerSource, tasks: asyncio.TaskGroup
    ) -> None:
        def on_reading(key: Key) -> None:
            self.controller.on_reading(key)

        client, resolver = around.client, around.resolver.sibling()
        self.caches = JobCaches(client, settings.cluster.watch_namespaces)
        self._readings = Readings(
            scalers=replace(scalers, resolver=resolver),
            tasks=tasks,
            on_reading=on_reading,
            observer=around.instruments,
        )
        parts = ScaledJobDependencies(
            clock=client.clock,
            client=client,
            caches=self.caches,
            specs=JOBS_AS_WRITTEN,
            readings=self._readings,
            resolver=resolver,
            status=StatusWriter(client, SCALED_JOBS),
            events=around.events,
            instruments=around.instruments,
            record=around.record,
            quarantine=around.quarantine,
            tells_unknown_keys=around.tells_unknown_keys,
        )
        self.controller = Controller(parts, ScaledJobs(parts), settings.scaling.scaled_job_workers)
        self.troubles = resolver.troubles
        resolver.subscribe(self.controller.on_parameters)

    async def watch(self) -> None:
        """Follow ScaledJobs, Jobs and pods until cancelled."""
        await self.caches.run()

    async def run(self) -> None:
        """Create Jobs until cancelled; waits for its own caches, so that no caller has to."""
        await self.caches.synced()
        await self.caches.caught_up()
        await self.controller.run()

    async def flush(self) -> None:
        """The last writes."""
        await self.controller.flush()

    async def aclose(self) -> None:
        """End every read and close every scaler."""
        await self._readings.aclose()
