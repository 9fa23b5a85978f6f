"""The shapes of one metric of a HorizontalPodAutoscaler: its target, what it asks for, and how it fails.

`hpa/external.py`, `hpa/resources.py` and `hpa/custom.py` turn a sample into a `MetricProposal`; `hpa/controller.py`
takes the highest of them.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

# Replica counts are int32; the real controller overflows beyond, we stop there.
_LARGEST_COUNT = 2**31 - 1


class MetricError(Exception):
    """A metric has no value; the text is what the controller reports."""


class TargetType(StrEnum):
    """`target.type` of autoscaling/v2."""

    VALUE = "Value"
    AVERAGE_VALUE = "AverageValue"
    UTILIZATION = "Utilization"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTarget:
    """What a metric should be: milli for Value and AverageValue, whole percent of the request for Utilization."""

    type: TargetType
    amount: int

    def __post_init__(self) -> None:
        if self.amount <= 0:
            raise ValueError(f"target: {self.amount} is not positive; the API server lets no such HPA in")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far usage/target may be from 1 before anything changes."""

    scale_up: float = 0.1
    scale_down: float = 0.1

    def covers(self, ratio: float) -> bool:
        """Both ends count: 45 of 50 is 0.9, and 1.0 - 0.1 <= 0.9 holds in float64."""
        return 1.0 - self.scale_down <= ratio <= 1.0 + self.scale_up


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """`current` of an entry in status.currentMetrics, quantities printed; None where the entry lacks the field."""

    value: str | None = None
    average_value: str | None = None
    average_utilization: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricProposal:
    """The replica count that one metric asks for."""

    replicas: int
    metric: str
    """How the controller names the metric in conditions and Events."""
    value: MetricValue


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFailure:
    """A metric that could not be had."""

    reason: str
    """FailedGetExternalMetric, FailedGetResourceMetric, ...: one for each type of metric."""
    message: str
    summary: str
    """The message with what was wanted before it, for the Event on the sync as a whole."""


def round_up(replicas: float) -> int:
    """The whole count at or above a float64 product: 290/70*7 is 29.000000000000004, so 30."""
    return min(math.ceil(replicas), _LARGEST_COUNT)
