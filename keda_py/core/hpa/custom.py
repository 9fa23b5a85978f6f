"""Pods and Object metrics of a HorizontalPodAutoscaler, which custom.metrics.k8s.io serves: to a replica count.

KEDA makes no such metric. They are for the HPAs that others write: the embedded cluster's controller syncs them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from keda_py.core.hpa.averages import count_by_average, set_aside
from keda_py.core.hpa.external import count_sum, print_selector, status_of
from keda_py.core.hpa.metrics import (
    MetricError,
    MetricFailure,
    MetricProposal,
    MetricTarget,
    MetricValue,
    TargetType,
    Tolerance,
)
from keda_py.core.hpa.pods import ScaleTarget, Warmup, group_pods
from keda_py.core.values.quantity import print_milli


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsSample:
    """A Pods metric, and what each pod has of it; `target` is an AverageValue."""

    name: str
    target: MetricTarget
    values: Mapping[str, int] = field(default_factory=dict)
    """Pod -> milli. A pod that is not named has no value; one that the selector does not find counts all the same."""
    error: str = ""
    """Why there is no answer, in the words of the client; "" when `values` hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSample:
    """An Object metric and its value; `target` is a Value or an AverageValue."""

    name: str
    target: MetricTarget
    kind: str
    object_name: str
    match_labels: Mapping[str, str] | None = None
    """None: the metric has no selector."""
    value: int = 0
    """Milli; it holds where `error` is ""."""
    error: str = ""


def propose_pods(
    sample: PodsSample, target: ScaleTarget, tolerance: Tolerance, warmup: Warmup, now: datetime
) -> MetricProposal | MetricFailure:
    """What the average over the pods asks for. Readiness is not asked: only pending, failed and deleted pods differ."""
    try:
        if sample.error:
            raise MetricError(f"unable to get metric {sample.name}: {sample.error}")
        groups = group_pods(target.pods, sample.values, "", warmup, now)
        counted = set_aside(sample.values, target, groups)
        replicas, usage = count_by_average(counted, groups, {}, sample.target, target.replicas, tolerance)
    except MetricError as error:
        summary = f"failed to get pods metric value: {error}"
        return MetricFailure(reason="FailedGetPodsMetric", message=str(error), summary=summary)
    value = MetricValue(average_value=print_milli(usage.average))
    return MetricProposal(replicas=replicas, metric=f"pods metric {sample.name}", value=value)


def propose_object(sample: ObjectSample, target: ScaleTarget, tolerance: Tolerance) -> MetricProposal | MetricFailure:
    """What the value of one object asks for: by the arithmetic of External metrics, in words of its own."""
    per_pod = sample.target.type is TargetType.AVERAGE_VALUE
    try:
        if sample.error:
            place = f"{sample.kind} on {target.namespace} {sample.object_name}"
            raise MetricError(f"unable to get metric {sample.name}: {place}/{sample.error}")
        replicas = count_sum(sample.value, sample.target, target, tolerance)
    except MetricError as error:
        prefix = f"failed to get {sample.name} object metric: " if per_pod else ""
        summary = f"failed to get object metric value: {prefix}{error}"
        return MetricFailure(reason="FailedGetObjectMetric", message=str(error), summary=summary)
    name = f"{sample.kind} metric {sample.name}"
    if per_pod:  # the real controller calls it so
        name = f"external metric {sample.name}({print_selector(sample.match_labels)})"
    return MetricProposal(replicas=replicas, metric=name, value=status_of(sample.value, target, per_pod=per_pod))
