"""ScaledJob as users write it: a Job for each piece of waiting work.

Behaviour reference, section 10. The Job itself is kept unparsed; `job_spec.py` describes it for the CRD.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from keda_py.apis.job_spec import JobSpec
from keda_py.apis.scaled_object import MOST_TRIGGERS, ScaleTrigger
from keda_py.apis.scaled_object_status import ChangeStatus, DecisionStatus, TriggerActivity
from keda_py.apis.schema_marks import SchemaOf, Timestamp
from keda_py.apis.wire import Condition, Count, Int32, ObjectMeta, Positive, Wire


class Rollout(Wire):
    """Treatment of running Jobs when the ScaledJob changes."""

    strategy: Literal["", "gradual", "immediate"] = ""
    """immediate by default."""
    propagation_policy: Literal["", "foreground", "background"] = ""
    """background by default."""


class ScalingStrategy(Wire):
    """Number of Jobs for the waiting work."""

    strategy: Literal["", "default", "custom", "accurate", "eager"] = ""
    """default by default."""
    custom_scaling_queue_length_deduction: Int32 | None = None
    """Strategy custom: subtracted from the queue length."""
    custom_scaling_running_job_percentage: str = ""
    """Strategy custom: share of running Jobs that is subtracted, such as 0.5."""
    pending_pod_conditions: list[str] = []
    """A Job whose pods lack one of these conditions counts as pending."""
    multiple_scalers_calculation: Literal["", "min", "avg", "sum", "max"] = ""
    """max by default."""


class ScaledJobSpec(Wire):
    """Job to create, triggers, and limits."""

    job_target_ref: Annotated[dict[str, Any], SchemaOf(JobSpec)]
    polling_interval: Positive | None = None
    """Seconds between two looks at the triggers; 30 by default."""
    successful_jobs_history_limit: Count | None = None
    """100 by default."""
    failed_jobs_history_limit: Count | None = None
    """100 by default."""
    rollout_strategy: Literal["", "gradual", "immediate"] = ""
    """Deprecated; use rollout.strategy."""
    rollout: Rollout | None = None
    env_source_container_name: str = ""
    """Container whose environment triggers read; the first by default."""
    min_replica_count: Count | None = None
    """0 by default."""
    max_replica_count: Positive | None = None
    """100 by default."""
    scaling_strategy: ScalingStrategy | None = None
    triggers: Annotated[list[ScaleTrigger], Field(min_length=1, max_length=MOST_TRIGGERS)]


class ScaledJobStatus(Wire):
    """Observed state, and what keda-py did."""

    last_active_time: Timestamp = ""
    conditions: list[Condition] = []
    paused: Annotated[str, Field(alias="Paused")] = ""
    """Unused; part of KEDA's CRD."""
    triggers_types: str = ""
    authentications_types: str = ""
    external_metric_names: list[str] = []
    triggers_activity: dict[str, TriggerActivity] = {}
    keda_py: DecisionStatus | None = None
    """Present only while it is held back."""
    keda_py_history: list[ChangeStatus] = []
    """Changes of the last day, bounded, for `keda-py explain --since`; up to five minutes late."""


class ScaledJob(Wire):
    """Creates Jobs on events."""

    metadata: ObjectMeta
    spec: ScaledJobSpec
    status: ScaledJobStatus = ScaledJobStatus()
