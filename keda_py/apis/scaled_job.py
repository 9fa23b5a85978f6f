"""ScaledJob as users write it: a Job for each piece of waiting work.

Behaviour reference, section 10. The Job itself is kept as it came; `job_spec.py` describes it for the CRD.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from keda_py.apis.job_spec import JobSpec
from keda_py.apis.scaled_object import MOST_TRIGGERS, ChangeStatus, DecisionStatus, ScaleTrigger, TriggerActivity
from keda_py.apis.schema_marks import SchemaOf, Timestamp
from keda_py.apis.wire import Condition, Count, Int32, ObjectMeta, Positive, Wire


class Rollout(Wire):
    """What happens to running Jobs when the ScaledJob changes."""

    strategy: Literal["", "gradual", "immediate"] = ""
    """immediate where it is left out."""
    propagation_policy: Literal["", "foreground", "background"] = ""
    """background where it is left out."""


class ScalingStrategy(Wire):
    """How many Jobs the waiting work is worth."""

    strategy: Literal["", "default", "custom", "accurate", "eager"] = ""
    """default where it is left out."""
    custom_scaling_queue_length_deduction: Int32 | None = None
    """Strategy custom: subtracted from the queue length."""
    custom_scaling_running_job_percentage: str = ""
    """Strategy custom: share of running Jobs that is subtracted, such as 0.5."""
    pending_pod_conditions: list[str] = []
    """A Job whose pods lack one of these conditions counts as pending."""
    multiple_scalers_calculation: Literal["", "min", "avg", "sum", "max"] = ""
    """max where it is left out."""


class ScaledJobSpec(Wire):
    """Which Job, on which triggers, how many at once."""

    job_target_ref: Annotated[dict[str, Any], SchemaOf(JobSpec)]
    polling_interval: Positive | None = None
    """Seconds between two looks at the triggers; 30 where it is left out."""
    successful_jobs_history_limit: Count | None = None
    """100 where it is left out."""
    failed_jobs_history_limit: Count | None = None
    """100 where it is left out."""
    rollout_strategy: Literal["", "gradual", "immediate"] = ""
    """Deprecated; use rollout.strategy."""
    rollout: Rollout | None = None
    env_source_container_name: str = ""
    """Container whose environment triggers read; the first where it is left out."""
    min_replica_count: Count | None = None
    """0 where it is left out."""
    max_replica_count: Positive | None = None
    """100 where it is left out."""
    scaling_strategy: ScalingStrategy | None = None
    triggers: Annotated[list[ScaleTrigger], Field(min_length=1, max_length=MOST_TRIGGERS)]


class ScaledJobStatus(Wire):
    """What keda-py observed and did."""

    last_active_time: Timestamp = ""
    conditions: list[Condition] = []
    paused: Annotated[str, Field(alias="Paused")] = ""
    """Never used."""
    triggers_types: str = ""
    authentications_types: str = ""
    external_metric_names: list[str] = []
    triggers_activity: dict[str, TriggerActivity] = {}
    keda_py: DecisionStatus | None = None
    """Only while it is held back."""
    keda_py_history: list[ChangeStatus] = []
    """The changes of the last day, bounded, as `keda-py explain --since` tells them; up to five minutes late."""


class ScaledJob(Wire):
    """Creates Jobs on events."""

    metadata: ObjectMeta
    spec: ScaledJobSpec
    status: ScaledJobStatus = ScaledJobStatus()
