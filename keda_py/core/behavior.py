"""The behaviour rules of autoscaling/v2: stabilisation windows, policies, limits.

`hpa.py` brings a proposal, this file says what becomes of it and why. The history lives with the caller.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class PolicyType(StrEnum):
    """`policies[].type`."""

    PODS = "Pods"
    PERCENT = "Percent"


class SelectPolicy(StrEnum):
    """`selectPolicy`."""

    MAX = "Max"
    MIN = "Min"
    DISABLED = "Disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPolicy:
    """How much may change within a period."""

    type: PolicyType
    value: int
    period: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRules:
    """`behavior.scaleUp` or `behavior.scaleDown`, defaults filled in."""

    policies: tuple[ScalingPolicy, ...]
    select_policy: SelectPolicy = SelectPolicy.MAX
    stabilization: timedelta | None = timedelta(0)
    """None (scaleDown only): the controller's own down-scale stabilisation, 300 s unless a flag says otherwise."""
    tolerance: float | None = None
    """None: the controller's own tolerance, 0.1 unless a flag says otherwise."""


DEFAULT_SCALE_UP = ScalingRules(
    policies=(
        ScalingPolicy(type=PolicyType.PODS, value=4, period=timedelta(seconds=15)),
        ScalingPolicy(type=PolicyType.PERCENT, value=100, period=timedelta(seconds=15)),
    ),
)
DEFAULT_SCALE_DOWN = ScalingRules(
    policies=(ScalingPolicy(type=PolicyType.PERCENT, value=100, period=timedelta(seconds=15)),),
    stabilization=None,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behavior:
    """`spec.behavior`; each side defaults when only the other one is written. An absent `behavior` is None, not this."""

    scale_up: ScalingRules = DEFAULT_SCALE_UP
    scale_down: ScalingRules = DEFAULT_SCALE_DOWN


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What the metrics asked for, before stabilisation."""

    replicas: int
    at: datetime


@dataclass(frozen=True, slots=True)
class ScaleEvent:
    """A change that was made: pods added or removed, always positive."""

    change: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What the controller remembers of one HPA between syncs; `History()` when it sees the HPA first."""

    recommendations: tuple[Recommendation, ...] = ()
    scale_ups: tuple[ScaleEvent, ...] = ()
    scale_downs: tuple[ScaleEvent, ...] = ()
