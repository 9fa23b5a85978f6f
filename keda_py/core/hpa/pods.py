"""Pods as the HorizontalPodAutoscaler sees them: which of them count, which are held back, which are unknown.

`hpa/resources.py` asks this file for usage, requests and groups of pods; nothing here knows a target. Amounts are milli
(1500 is 1.5 cores, or 1.5 bytes), as in Kubernetes, whose controller computes on `MilliValue()` too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from keda_py.core.hpa.metrics import MetricError
from keda_py.core.metric_specs import CPU

Amounts = Mapping[str, Mapping[str, int]]
"""container -> resource ("cpu", "memory") -> milli."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSample:
    """What metrics.k8s.io last said of one pod."""

    timestamp: datetime
    window: timedelta
    usage: Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod that the scale target's selector finds."""

    name: str
    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"] = "Running"
    deleting: bool = False
    ready: bool | None = None
    """The Ready condition; None: the pod has no such condition yet."""
    ready_changed_at: datetime | None = None
    """lastTransitionTime of the Ready condition."""
    started_at: datetime | None = None
    """status.startTime."""
    requests: Amounts = field(default_factory=dict)
    """Every container has an entry, an empty one where it requests nothing."""
    sample: UsageSample | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleTarget:
    """The workload, as its scale subresource and its pods show it."""

    namespace: str
    replicas: int
    """spec.replicas of the scale."""
    status_replicas: int
    """status.replicas of the scale; AverageValue of External metrics divides by it."""
    pods: tuple[Pod, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmup:
    """For how long the CPU of a new pod is not believed; flags of kube-controller-manager."""

    cpu_initialization_period: timedelta = timedelta(minutes=5)
    initial_readiness_delay: timedelta = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class PodGroups:
    """`counted` pods carry the ratio; usage of `unready` pods is set aside; `missing` pods have none."""

    counted: frozenset[str]
    unready: frozenset[str]
    missing: frozenset[str]


def count_ready(pods: Sequence[Pod]) -> int:
    """Pods that run and are Ready."""
    return sum(1 for pod in pods if pod.phase == "Running" and pod.ready)


def group_pods(
    pods: Sequence[Pod], usage: Mapping[str, int], resource: str, warmup: Warmup, now: datetime
) -> PodGroups:
    """Sort the pods; those that are going or have failed are in no group. `resource` is "" for a metric of Pods."""
    counted, unready, missing = set(), set(), set()
    for pod in pods:
        if pod.deleting or pod.phase == "Failed":
            continue
        if pod.phase == "Pending":
            unready.add(pod.name)
        elif pod.name not in usage:
            missing.add(pod.name)
        elif resource == CPU and (pod.sample is None or _is_warming_up(pod, pod.sample, warmup, now)):
            unready.add(pod.name)
        else:
            counted.add(pod.name)
    return PodGroups(frozenset(counted), frozenset(unready), frozenset(missing))


def usage_by_pod(pods: Sequence[Pod], resource: str, container: str, namespace: str) -> dict[str, int]:
    """Milli per pod: the sum of its containers, or of the one named; pods without a usable sample are left out.

    A pod that has succeeded uses nothing any more, and no metrics server tells of it: what was last measured is void.
    Raises MetricError when no pod has a sample, or one with a sample lacks the container.
    """
    samples = [(pod.name, pod.sample.usage) for pod in pods if pod.sample is not None and pod.phase != "Succeeded"]
    if not samples:
        raise MetricError("no metrics returned from resource metrics API")
    used: dict[str, int] = {}
    for name, usage in samples:
        if container and container not in usage:
            raise MetricError(f"container {container} not present in metrics for pod {namespace}/{name}")
        amounts = [usage[container]] if container else list(usage.values())
        if amounts and all(resource in each for each in amounts):
            used[name] = sum(each[resource] for each in amounts)
    return used


def requests_by_pod(pods: Sequence[Pod], resource: str, container: str) -> dict[str, int]:
    """Milli per pod; raises MetricError where a container that counts requests nothing."""
    requested: dict[str, int] = {}
    for pod in pods:
        requested[pod.name] = 0
        for name, amounts in pod.requests.items():
            if container not in ("", name):
                continue
            if resource not in amounts:
                raise MetricError(f"missing request for {resource} in container {name} of Pod {pod.name}")
            requested[pod.name] += amounts[resource]
    return requested


def _is_warming_up(pod: Pod, sample: UsageSample, warmup: Warmup, now: datetime) -> bool:
    if pod.ready is None or pod.ready_changed_at is None or pod.started_at is None:
        return True
    if pod.started_at + warmup.cpu_initialization_period > now:
        # Starting up burns CPU: wait until a whole window has been measured since the pod became Ready.
        return not pod.ready or sample.timestamp < pod.ready_changed_at + sample.window
    # Later only a pod that has never been Ready is set aside; one that lost readiness under load still counts.
    return not pod.ready and pod.started_at + warmup.initial_readiness_delay > pod.ready_changed_at
