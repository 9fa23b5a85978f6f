"""ScaledJob -> JobScalingSpec: defaults applied, annotations interpreted, effective bounds.

Pure; the sibling of `spec.py`. Behaviour reference, sections 10.2 and 10.3. Next in the flow: `counts.py`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

from keda_py.apis.go_values import parse_float
from keda_py.apis.scaled_job import ScaledJob, ScaledJobSpec
from keda_py.core.spec import TriggersSpec
from keda_py.core.spec_source import SpecSource
from keda_py.core.values.own_annotations import read_job_limits, read_job_pause
from keda_py.core.values.pause import NOT_PAUSED, PauseSpec
from keda_py.errors import ConfigError

JOB_NAME_LABEL = "scaledjob.keda.sh/name"
GENERATION = "scaledjob.keda.sh/generation"
EXCLUDED_LABELS = "scaledjob.keda.sh/job-excluded-labels"

DEFAULT_MAX_JOBS = 100
DEFAULT_HISTORY = 100

Strategy = Literal["default", "custom", "accurate", "eager"]
Calculation = Literal["min", "avg", "sum", "max"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategySpec:
    """The scaling strategy; `deduction` and `running_share` belong to strategy custom."""

    strategy: Strategy = "default"
    deduction: int = 0
    running_share: float = 0.0
    pending_conditions: tuple[str, ...] = ()
    calculation: Calculation = "max"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobScalingSpec(TriggersSpec):
    """The fields of a ScaledJob that creating Jobs needs.

    `job` is the Job's spec as written. `min_jobs` run whatever the triggers measure; `extra_jobs` may run beyond them.
    `most_jobs`: unfinished Jobs of all ScaledJobs of the namespace, above which it creates none.
    """

    kind: ClassVar[str] = "ScaledJob"

    job: Mapping[str, Any]
    container: str
    min_jobs: int
    extra_jobs: int
    strategy: StrategySpec
    successful_history: int
    failed_history: int
    gradual_rollout: bool
    foreground_deletion: bool
    pause: PauseSpec
    most_jobs: int | None = None


def build_job_spec(scaled_job: ScaledJob) -> JobScalingSpec:
    """Build the spec with KEDA's defaults."""
    meta, spec = scaled_job.metadata, scaled_job.spec
    min_jobs, extra_jobs = effective_bounds(spec.min_replica_count, spec.max_replica_count)
    rollout, own = spec.rollout, read_job_limits(meta.annotations, spec.triggers)
    return JobScalingSpec(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        labels=meta.labels,
        annotations=meta.annotations,
        triggers=tuple(spec.triggers),
        polling_interval=timedelta(seconds=_or(spec.polling_interval, 30)),
        job=spec.job_target_ref,
        container=spec.env_source_container_name,
        min_jobs=min_jobs,
        extra_jobs=extra_jobs,
        strategy=_read_strategy(spec),
        successful_history=_or(spec.successful_jobs_history_limit, DEFAULT_HISTORY),
        failed_history=_or(spec.failed_jobs_history_limit, DEFAULT_HISTORY),
        gradual_rollout=(spec.rollout_strategy or (rollout.strategy if rollout else "")) == "gradual",
        foreground_deletion=bool(rollout and rollout.propagation_policy == "foreground"),
        pause=read_job_pause(meta.annotations),
        needs_all=own.needs_all,
        most_jobs=own.most_jobs,
    )


def effective_bounds(declared_min: int | None, declared_max: int | None) -> tuple[int, int]:
    """Return the Jobs that always run, and the Jobs beyond them.

    Counter-examples: min 5 with max 3 is 3 and 3, so that six Jobs run; min 2 without a max is 2 and 100.
    """
    min_jobs = declared_min or 0
    if declared_max is None:
        return min_jobs, DEFAULT_MAX_JOBS
    return (declared_max, declared_max) if min_jobs > declared_max else (min_jobs, declared_max - min_jobs)


def without_ended_job_pause(spec: JobScalingSpec, now: datetime) -> JobScalingSpec:
    """Return the spec as its pause leaves it at `now`."""
    until = spec.pause.until
    return spec if until is None or now < until else replace(spec, pause=NOT_PAUSED)


def check_metric_types(spec: JobScalingSpec) -> None:
    """Check that no trigger has a metricType, since no HPA compares a ScaledJob's metrics. Raises ConfigError."""
    for index, trigger in enumerate(spec.triggers):
        if trigger.metric_type:
            field = f"spec.triggers[{index}].metricType"
            raise ConfigError(f'{field}: "{trigger.metric_type}" means nothing to a ScaledJob; remove it', field=field)


def _read_strategy(spec: ScaledJobSpec) -> StrategySpec:
    written = spec.scaling_strategy
    if written is None:
        return StrategySpec()
    strategy: Strategy = written.strategy or "default"
    share = _parse_share(written.custom_scaling_running_job_percentage)
    if strategy == "custom" and share is None:
        strategy = "default"
    return StrategySpec(
        strategy=strategy,
        deduction=_or(written.custom_scaling_queue_length_deduction, 0),
        running_share=share or 0.0,
        pending_conditions=tuple(written.pending_pod_conditions),
        calculation=written.multiple_scalers_calculation or "max",
    )


def _parse_share(text: str) -> float | None:
    """Parse the share; None for text that is no finite number: strategy custom then works as default does."""
    try:
        share = parse_float(text)
    except ValueError:
        return None
    return share if math.isfinite(share) else None


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


JOBS_AS_WRITTEN = SpecSource(model=ScaledJob, build=build_job_spec)
"""The source of specs from manifests alone, without overlays."""
