"""Assembly of the ScaledJobs: caches of their own, and a controller that works with what all kinds share.

`operator/assembly.py` comes here; `app.py` runs it beside the ScaledObjects.
"""

from dataclasses import dataclass

from keda_py.apis.scaled_job import ScaledJob
from keda_py.core.jobs.spec import JOBS_AS_WRITTEN, JobScalingSpec, without_ended_job_pause
from keda_py.core.spec_source import SpecSource
from keda_py.operator.controller.component import Component
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.scaled_jobs.caches import JobCaches
from keda_py.operator.scaled_jobs.dependencies import ScaledJobDependencies
from keda_py.operator.scaled_jobs.kind import ScaledJobs
from keda_py.operator.scaled_jobs.state import ScaledJobState
from keda_py.operator.sharding.tenures import Tenures
from keda_py.settings.settings import Settings

JobSpecs = SpecSource[ScaledJob, JobScalingSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledJobParts:
    """The parts of ScaledJobs that `operator/assembly.py` runs."""

    caches: JobCaches
    controller: Controller[ScaledJobState]

    @property
    def component(self) -> Component:
        """The work of ScaledJobs, and when it runs."""
        return Component(
            background=(self.caches.run,),
            share=(self.run,),
            controllers=(self.controller,),
            on_clock_step=(self.controller.look_at_all,),
        )

    async def run(self) -> None:
        """Create Jobs until cancelled; waits for its own cache, so that no caller has to."""
        await self.caches.scaled_jobs.wait_synced()
        await self.controller.run()


def assemble_jobs(
    shared: Dependencies, settings: Settings, tenures: Tenures, written: JobSpecs = JOBS_AS_WRITTEN
) -> ScaledJobParts:
    """Put caches and controller together; nothing runs yet."""
    parts = job_parts_of(shared, settings, written)
    controller = Controller(parts.shared, ScaledJobs(parts), settings.scaling.scaled_job_workers, tenures)
    return ScaledJobParts(caches=parts.caches, controller=controller)


def job_parts_of(
    shared: Dependencies, settings: Settings, written: JobSpecs = JOBS_AS_WRITTEN
) -> ScaledJobDependencies:
    """Add the caches of ScaledJobs to what all kinds share."""
    caches = JobCaches(shared.client, settings.cluster.watch_namespaces)
    specs = written.over(lambda spec: without_ended_job_pause(spec, shared.clock.now()))
    return ScaledJobDependencies(shared=shared, caches=caches, specs=specs)
