"""Resource and ContainerResource metrics of a HorizontalPodAutoscaler: CPU and memory to a replica count.

The ratio usage/target is taken over the pods that count. When pods are unknown, or not yet to be believed, it is taken
again with the assumption that holds back: unknown pods use all of their request on the way down and nothing on the way
up, new pods use nothing on the way up. A second ratio that points the other way changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from keda_py.core.hpa.metrics import (
    MetricError,
    MetricFailure,
    MetricProposal,
    MetricTarget,
    MetricValue,
    TargetType,
    Tolerance,
    round_up,
)
from keda_py.core.hpa.pods import PodGroups, ScaleTarget, Warmup, group_pods, requests_by_pod, usage_by_pod
from keda_py.core.values.quantity import QuantityFormat, print_milli


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSample:
    """A Resource metric, or a ContainerResource metric where `container` is set; the pods carry their usage."""

    resource: str
    target: MetricTarget
    container: str = ""
    error: str = ""
    """Why metrics.k8s.io gave no answer; "" when the samples of the pods hold."""


@dataclass(frozen=True, slots=True)
class _Usage:
    """How the counted pods stand to the target."""

    ratio: float
    percent: int
    average: int
    """Milli."""


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
    format = QuantityFormat.BINARY if sample.resource == "memory" else QuantityFormat.DECIMAL
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
) -> tuple[int, _Usage]:
    used = _read_usage(sample, target)
    if not target.pods:
        raise MetricError("no pods returned by selector while calculating replica count")
    groups = group_pods(target.pods, used, sample.resource, warmup, now)
    counted = {name: used[name] for name in groups.counted}
    if not counted:
        raise MetricError("did not receive metrics for targeted pods (pods might be unready)")
    requests = _read_requests(sample, target)
    usage = _measure(counted, requests, sample.target)
    scaling_up = usage.ratio > 1.0
    if not groups.missing and not (groups.unready and scaling_up):
        settled = tolerance.covers(usage.ratio)
        return target.replicas if settled else round_up(usage.ratio * float(len(counted))), usage
    assumed = counted | _assume(groups, requests, sample.target, usage.ratio)
    ratio = _measure(assumed, requests, sample.target).ratio
    return _decide_assumed(usage.ratio, ratio, len(assumed), target.replicas, tolerance), usage


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


def _measure(used: Mapping[str, int], requests: Mapping[str, int], target: MetricTarget) -> _Usage:
    """Percent and average are cut to whole numbers first: 66900Ki of 100Mi is 65 %, and the ratio is that of 65."""
    total = sum(used.values())
    average = total // len(used)
    if target.type is not TargetType.UTILIZATION:
        return _Usage(float(average) / float(target.amount), 0, average)
    requested = sum(requests[name] for name in used)
    if requested == 0:
        raise MetricError("no metrics returned matched known pods")
    percent = total * 100 // requested
    return _Usage(float(percent) / float(target.amount), percent, average)


def _assume(groups: PodGroups, requests: Mapping[str, int], target: MetricTarget, ratio: float) -> dict[str, int]:
    """Usage for the pods that have none to count."""
    if ratio > 1.0:
        return dict.fromkeys(groups.missing | groups.unready, 0)
    if ratio == 1.0:
        return {}
    if target.type is not TargetType.UTILIZATION:
        return dict.fromkeys(groups.missing, target.amount)
    percent = max(100, target.amount)
    return {name: requests[name] * percent // 100 for name in groups.missing}


def _decide_assumed(before: float, ratio: float, pods: int, current: int, tolerance: Tolerance) -> int:
    turned = (before < 1.0 < ratio) or (ratio < 1.0 < before)
    if tolerance.covers(ratio) or turned:
        return current
    replicas = round_up(ratio * float(pods))
    if (ratio < 1.0 and replicas > current) or (ratio > 1.0 and replicas < current):
        return current
    return replicas
