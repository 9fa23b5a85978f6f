"""The HorizontalPodAutoscaler controller's arithmetic (Kubernetes 1.36, autoscaling/v2), without the controller.

A caller (the embedded cluster, a simulator) reads the scale and its pods, asks for the metrics, calls `sync`, PUTs the
scale when `Verdict.rescale` says so and then calls `record_rescale`; it writes conditions, metrics and events as told.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from keda_py.core.behavior import Behavior, History
from keda_py.core.hpa_metrics import MetricSample, MetricValue, ScaleTarget


class ConditionType(StrEnum):
    """`status.conditions[].type` of an HPA."""

    ABLE_TO_SCALE = "AbleToScale"
    SCALING_ACTIVE = "ScalingActive"
    SCALING_LIMITED = "ScalingLimited"


@dataclass(frozen=True, slots=True)
class HpaCondition:
    """A condition to set; the caller keeps lastTransitionTime and the conditions that are not set."""

    type: ConditionType
    status: Literal["True", "False"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class HpaEvent:
    """An Event to record on the HPA."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HpaSpec:
    """The part of an HPA's spec that decides; metrics come as samples beside it."""

    min_replicas: int = 1
    max_replicas: int
    behavior: Behavior | None = None
    """None when the HPA has no `behavior`: then scale-up is limited to max(2 x current, 4) a sync."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Flags of kube-controller-manager."""

    tolerance: float = 0.1
    downscale_stabilization: timedelta = timedelta(minutes=5)
    cpu_initialization_period: timedelta = timedelta(minutes=5)
    initial_readiness_delay: timedelta = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """All that one sync decides."""

    history: History
    desired: int | None
    """status.desiredReplicas; None: leave it as it is (the metrics could not be had)."""
    rescale: bool
    """PUT the scale with `desired`, then `record_rescale`."""
    rescale_reason: str = ""
    conditions: tuple[HpaCondition, ...] = ()
    """In the order in which they were set; a later one of the same type wins."""
    events: tuple[HpaEvent, ...] = ()
    current_metrics: tuple[MetricValue | None, ...] | None = field(default=None)
    """One per metric, None where it failed; None: status.currentMetrics is emptied, nothing was measured."""


def sync(
    spec: HpaSpec,
    target: ScaleTarget,
    metrics: tuple[MetricSample, ...],
    history: History,
    options: ControllerOptions,
    now: datetime,
) -> Verdict:
    """Decide once, as the controller does each sync period."""
    raise NotImplementedError


def record_rescale(spec: HpaSpec, verdict: Verdict, current: int, now: datetime) -> Verdict:
    """The verdict after the scale was written: SucceededRescale, its Event, and the change remembered for policies."""
    raise NotImplementedError
