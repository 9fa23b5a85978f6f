"""Amounts that pods have, to a replica count: for what metrics.k8s.io measures, and for metrics of Pods.

The ratio usage/target is taken over the pods that count. When pods are unknown, or not yet to be believed, it is taken
again with the assumption that holds back: unknown pods use all of their request on the way down and nothing on the way
up, new pods use nothing on the way up. A second ratio that points the other way changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from keda_py.core.hpa.metrics import MetricError, MetricTarget, TargetType, Tolerance, round_up
from keda_py.core.hpa.pods import PodGroups, ScaleTarget

Amounts = Mapping[str, int]
"""Pod -> milli."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How the counted pods stand to the target."""

    ratio: float
    percent: int
    average: int
    """Milli."""


def set_aside(used: Amounts, target: ScaleTarget, groups: PodGroups) -> dict[str, int]:
    """Without the pods that are not to be believed. A pod that the selector does not find counts, as there: the answer
    may know of pods that the controller has not seen yet. Raises MetricError where none is left.
    """
    if not target.pods:
        raise MetricError("no pods returned by selector while calculating replica count")
    left_out = {pod.name for pod in target.pods} - groups.counted
    counted = {name: amount for name, amount in used.items() if name not in left_out}
    if not counted:
        raise MetricError("did not receive metrics for targeted pods (pods might be unready)")
    return counted


def count_by_average(
    counted: Amounts, groups: PodGroups, requests: Amounts, target: MetricTarget, current: int, tolerance: Tolerance
) -> tuple[int, Usage]:
    """The count that the usage asks for; `requests` is asked for a Utilization only. Raises MetricError."""
    usage = _measure(counted, requests, target)
    unready = groups.unready if usage.ratio > 1.0 else frozenset()
    if not groups.missing and not unready:
        settled = tolerance.covers(usage.ratio)
        return current if settled else round_up(usage.ratio * float(len(groups.counted))), usage
    assumed = {**counted, **_assume(groups, requests, target, usage.ratio)}
    ratio = _measure(assumed, requests, target).ratio
    return _decide_assumed(usage.ratio, ratio, len(assumed), current, tolerance), usage


def _measure(used: Amounts, requests: Amounts, target: MetricTarget) -> Usage:
    """Percent and average are cut to whole numbers first: 66900Ki of 100Mi is 65 %, and the ratio is that of 65."""
    total = sum(used.values())
    average = _divide(total, len(used))
    if target.type is not TargetType.UTILIZATION:
        return Usage(float(average) / float(target.amount), 0, average)
    requested = sum(requests[name] for name in used)
    if requested == 0:
        raise MetricError("no metrics returned matched known pods")
    percent = total * 100 // requested
    return Usage(float(percent) / float(target.amount), percent, average)


def _divide(total: int, count: int) -> int:
    """Towards zero, as Go divides: a metric of Pods may be negative."""
    return total // count if total >= 0 else -(-total // count)


def _assume(groups: PodGroups, requests: Amounts, target: MetricTarget, ratio: float) -> dict[str, int]:
    """Usage for the pods that have none to count."""
    if ratio > 1.0:
        return dict.fromkeys(groups.missing | groups.unready, 0)
    if ratio == 1.0:
        return {}
    if target.type is not TargetType.UTILIZATION:
        return dict.fromkeys(groups.missing, target.amount)
    # With a target above 100 % a pod that uses just its request would still be below it, and the count would fall.
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
