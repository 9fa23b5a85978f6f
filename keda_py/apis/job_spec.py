"""Schema of `jobTargetRef` of a ScaledJob, a `batch/v1` JobSpec, for the CRD; Jobs are made from the raw object.

KEDA's CRD repeats the whole pod schema of one Kubernetes version. Here the Job's own fields and the shape of the
template are described; inside containers and pod spec every field is kept, so that each version of Kubernetes can bring
its own, and the API server checks them when the Job is created.
"""

from typing import Annotated

from pydantic import ConfigDict, Field

from keda_py.apis.schema_marks import ATOMIC, BY_NAME, PRESERVE, SET
from keda_py.apis.wire import Int32, Int64, Wire


class LabelSelectorRequirement(Wire):
    """One expression of a selector."""

    key: str
    """Key of the label."""
    operator: str
    """In, NotIn, Exists or DoesNotExist."""
    values: Annotated[list[str], Field(json_schema_extra=ATOMIC)] = []
    """Values for In and NotIn; empty for Exists and DoesNotExist."""


class LabelSelector(Wire):
    """Objects by their labels, as in a Deployment."""

    model_config = ConfigDict(json_schema_extra={"x-kubernetes-map-type": "atomic"})

    match_expressions: Annotated[list[LabelSelectorRequirement], Field(json_schema_extra=ATOMIC)] = []
    """Expressions that must all match."""
    match_labels: dict[str, str] = {}
    """Labels that must all have these values."""


class OnExitCodes(Wire):
    """Exit codes that a failure rule matches."""

    container_name: str = ""
    operator: str
    values: Annotated[list[Int32], Field(json_schema_extra=SET)]


class OnPodCondition(Wire):
    """Pod condition that a failure rule matches."""

    type: str
    status: str = ""


class PodFailurePolicyRule(Wire):
    """Consequence of a matching pod failure for the Job."""

    action: str
    on_exit_codes: OnExitCodes | None = None
    on_pod_conditions: Annotated[list[OnPodCondition], Field(json_schema_extra=ATOMIC)] = []


class PodFailurePolicy(Wire):
    """Rules for failed pods."""

    rules: Annotated[list[PodFailurePolicyRule], Field(json_schema_extra=ATOMIC)]


class SuccessPolicyRule(Wire):
    """Condition under which the Job has succeeded."""

    succeeded_count: Int32 | None = None
    succeeded_indexes: str = ""


class SuccessPolicy(Wire):
    """Rules for early success."""

    rules: Annotated[list[SuccessPolicyRule], Field(json_schema_extra=ATOMIC)]


class Container(Wire):
    """Container; all its fields are kept."""

    model_config = ConfigDict(json_schema_extra=PRESERVE)

    name: str
    image: str = ""


class PodSpec(Wire):
    """Pod; all its fields are kept."""

    model_config = ConfigDict(json_schema_extra=PRESERVE)

    containers: Annotated[list[Container], Field(json_schema_extra=BY_NAME)]
    init_containers: Annotated[list[Container], Field(json_schema_extra=BY_NAME)] = []
    restart_policy: str = ""
    """OnFailure by default."""
    service_account_name: str = ""


class TemplateMeta(Wire):
    """Metadata of the pods."""

    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []


class PodTemplate(Wire):
    """Template of a Job's pods."""

    metadata: TemplateMeta | None = None
    spec: PodSpec | None = None


class JobSpec(Wire):
    """Job to create for waiting work, as in batch/v1."""

    active_deadline_seconds: Int64 | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    completion_mode: str = ""
    completions: Int32 | None = None
    managed_by: str = ""
    manual_selector: bool = False
    max_failed_indexes: Int32 | None = None
    parallelism: Int32 | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    pod_replacement_policy: str = ""
    selector: LabelSelector | None = None
    """Selector of the Job's pods."""
    success_policy: SuccessPolicy | None = None
    suspend: bool = False
    template: PodTemplate
    ttl_seconds_after_finished: Int32 | None = None
