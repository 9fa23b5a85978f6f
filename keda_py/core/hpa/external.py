"""External metrics of a HorizontalPodAutoscaler, the ones that KEDA serves: to the replica count they ask for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

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
from keda_py.core.hpa.pods import ScaleTarget, count_ready
from keda_py.core.values.quantity import print_milli


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalSample:
    """An External metric and what external.metrics.k8s.io answered."""

    name: str
    target: MetricTarget
    match_labels: Mapping[str, str] = field(default_factory=dict)
    values: tuple[int, ...] = ()
    """Milli, one per series; they are summed."""
    error: str = ""
    """Why there is no answer, in the words of the client; "" when `values` hold."""


def propose_external(
    sample: ExternalSample, target: ScaleTarget, tolerance: Tolerance
) -> MetricProposal | MetricFailure:
    """What the sum of the series asks for."""
    selector = print_selector(sample.match_labels)
    per_pod = sample.target.type is TargetType.AVERAGE_VALUE
    try:
        if sample.error:
            wanted = f"{target.namespace}/{sample.name}/{selector}"
            raise MetricError(f"unable to get external metric {wanted}: {sample.error}")
        replicas = count_external(sample, target, tolerance)
        value = status_of(sum(sample.values), target, per_pod=per_pod)
    except MetricError as error:
        wanted_metric = f"{sample.name} external metric" if per_pod else f"external metric {sample.name}"
        summary = f"failed to get {sample.name} external metric value: failed to get {wanted_metric}: {error}"
        return MetricFailure(reason="FailedGetExternalMetric", message=str(error), summary=summary)
    return MetricProposal(replicas=replicas, metric=f"external metric {sample.name}({selector})", value=value)


def count_external(sample: ExternalSample, target: ScaleTarget, tolerance: Tolerance) -> int:
    """The count that the sum of the series asks for. Raises MetricError; `sample.error` is for the caller to see."""
    return count_sum(sum(sample.values), sample.target, target, tolerance)


def count_sum(usage: int, wanted: MetricTarget, target: ScaleTarget, tolerance: Tolerance) -> int:
    """The count that one amount for the whole workload asks for; milli. Raises MetricError."""
    if wanted.type is TargetType.AVERAGE_VALUE:
        return count_per_pod(usage, wanted.amount, target.status_replicas, tolerance)
    return _count_by_ratio(usage, wanted.amount, target, tolerance)


def count_per_pod(usage: int, wanted: int, pods: int, tolerance: Tolerance) -> int:
    """AverageValue: the usage divided by what one pod should have; only the tolerance looks at the pods there are."""
    settled = pods > 0 and tolerance.covers(float(usage) / (float(wanted) * float(pods)))
    return pods if settled else round_up(float(usage) / float(wanted))


def count_if_all_ready(usage: int, wanted: MetricTarget, pods: int, tolerance: Tolerance) -> int:
    """`count_sum` for those who know no pods but their count; milli."""
    if wanted.type is TargetType.AVERAGE_VALUE:
        return count_per_pod(usage, wanted.amount, pods, tolerance)
    ratio = float(usage) / float(wanted.amount)
    return pods if pods and tolerance.covers(ratio) else round_up(ratio * float(pods or 1))


def _count_by_ratio(usage: int, wanted: int, target: ScaleTarget, tolerance: Tolerance) -> int:
    """Value: as many times the ready pods as the usage is times the target."""
    ratio = float(usage) / float(wanted)
    if target.replicas == 0:
        return round_up(ratio)
    if tolerance.covers(ratio):
        return target.replicas
    if not target.pods:
        raise MetricError(
            "unable to calculate ready pods: no pods returned by selector while calculating replica count"
        )
    return round_up(ratio * float(count_ready(target.pods)))


def status_of(usage: int, target: ScaleTarget, *, per_pod: bool) -> MetricValue:
    """As status.currentMetrics shows the usage."""
    if not per_pod:
        return MetricValue(value=print_milli(usage))
    pods = target.status_replicas
    # Kubernetes divides by no pods here and prints nonsense; the sum is at least true.
    return MetricValue(average_value=print_milli(round_up(float(usage) / float(pods)) if pods else usage))


def print_selector(match_labels: Mapping[str, str] | None) -> str:
    """The selector as Go prints a LabelSelector, "nil" for none; users see it in conditions."""
    if match_labels is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted(match_labels.items()))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{}},}}"
    )
