"""The dependencies of reconciler and scale loop of ScaledJobs, made once by `assembly.py`."""

from dataclasses import dataclass

from keda_py.apis.scaled_job import ScaledJob
from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.core.spec_source import SpecSource
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.scaled_jobs.caches import JobCaches


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledJobDependencies:
    """What ScaledJobs need beside what every kind shares: the Jobs, as far as they are known, and specs."""

    shared: Dependencies
    caches: JobCaches
    specs: SpecSource[ScaledJob, JobScalingSpec]
