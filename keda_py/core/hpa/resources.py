"""Resource and ContainerResource metrics of a HorizontalPodAutoscaler: CPU and memory to a replica count.

The pods carry what they use and request; `hpa/averages.py` makes a count of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from keda_py.core.hpa.averages import Usage, count_by_average, set_aside
from keda_py.core.hpa.metrics import (
    MetricError,
    MetricFailure,
    MetricProposal,
    MetricTarget,
    MetricValue,
    TargetType,
    Tolerance,
)
from keda_py.core.hpa.pods import ScaleTarget, Warmup, group_pods, requests_by_pod, usage_by_pod
from keda_py.core.metric_specs import MEMORY
from keda_py.core.values.quantity import QuantityFormat, print_milli


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSample:
    """A Resource metric, or a ContainerResource metric where `container` is set; the pods carry their usage."""

    resource: str
    target: MetricTarget
    container: str = ""
    error: str = ""
    """Why metrics.k8s.io gave no answer; "" when the samples of the pods hold."""


def propose_resource(
    sample: ResourceSample, target: ScaleTarget, tolerance: Tolerance, warmup: Warmup, now: datetime
) -> MetricProposal | MetricFailure:
    """What the usage of the pods asks for."""
    by_request = sample.target.type is TargetType.UTILIZATION
    try:
        replicas, usage = _propose(sample, target, tolerance, warmup, now)
    except MetricError as error:
        return _report_failure(
            sample, f"failed to get {sample.resource} {'utilization' if by_request else 'usage'}: {error}"
        )
    kind = "container resource" if sample.container and by_request else "resource"
    metric = f"{sample.resource} {kind}" + (" utilization (percentage of request)" if by_request else "")
    format = QuantityFormat.BINARY if sample.resource == MEMORY else QuantityFormat.DECIMAL
    average = print_milli(usage.average, format)
    value = MetricValue(average_value=average, average_utilization=usage.percent if by_request else None)
    return MetricProposal(replicas=replicas, metric=metric, value=value)


def _report_failure(sample: ResourceSample, message: str) -> MetricFailure:
    reason, wanted = "FailedGetResourceMetric", f"{sample.resource} resource"
    if sample.container:
        reason, wanted = "FailedGetContainerResourceMetric", f"{sample.container} container"
    return MetricFailure(reason=reason, message=message, summary=f"failed to get {wanted} metric value: {message}")


def _propose(
    sample: ResourceSample, target: ScaleTarget, tolerance: Tolerance, warmup: Warmup, now: datetime
) -> tuple[int, Usage]:
    used = _read_usage(sample, target)
    groups = group_pods(target.pods, used, sample.resource, warmup, now)
    counted = set_aside(used, target, groups)
    return count_by_average(counted, groups, _read_requests(sample, target), sample.target, target.replicas, tolerance)


def _read_usage(sample: ResourceSample, target: ScaleTarget) -> Mapping[str, int]:
    try:
        if sample.error:
            raise MetricError(f"unable to fetch metrics from resource metrics API: {sample.error}")
        return usage_by_pod(target.pods, sample.resource, sample.container, target.namespace)
    except MetricError as error:
        raise MetricError(f"unable to get metrics for resource {sample.resource}: {error}") from None


def _read_requests(sample: ResourceSample, target: ScaleTarget) -> Mapping[str, int]:
    if sample.target.type is not TargetType.UTILIZATION:
        return {}
    return requests_by_pod(target.pods, sample.resource, sample.container)
