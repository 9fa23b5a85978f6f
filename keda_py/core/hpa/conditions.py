"""What the HorizontalPodAutoscaler's controller tells: conditions and Events, in the words users know and grep for."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class ConditionType(StrEnum):
    """`status.conditions[].type` of an HPA."""

    ABLE_TO_SCALE = "AbleToScale"
    SCALING_ACTIVE = "ScalingActive"
    SCALING_LIMITED = "ScalingLimited"
    SCALED_TO_ZERO = "ScaledToZero"


@dataclass(frozen=True, slots=True)
class HpaCondition:
    """A condition to set; the caller keeps lastTransitionTime, and the conditions that are not set."""

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


def able_to_scale(reason: str, message: str, *, able: bool = True) -> HpaCondition:
    """Whether the scale could be read and written, and whether a recent recommendation holds it back."""
    return HpaCondition(ConditionType.ABLE_TO_SCALE, "True" if able else "False", reason, message)


def scaling_active(reason: str, message: str, *, active: bool = True) -> HpaCondition:
    """Whether the metrics gave a replica count."""
    return HpaCondition(ConditionType.SCALING_ACTIVE, "True" if active else "False", reason, message)


def scaling_limited(reason: str, message: str, *, limited: bool) -> HpaCondition:
    """Whether a limit or a policy changed what the metrics asked for."""
    return HpaCondition(ConditionType.SCALING_LIMITED, "True" if limited else "False", reason, message)


def scaled_to_zero(*, by_controller: bool) -> HpaCondition:
    """Whether the controller itself set a count of zero: it ends no zero that another client set."""
    if by_controller:
        message = "the HPA controller scaled the workload to zero"
        return HpaCondition(ConditionType.SCALED_TO_ZERO, "True", "ScaledToZero", message)
    message = "the HPA controller did not scale the workload to zero"
    return HpaCondition(ConditionType.SCALED_TO_ZERO, "False", "NotScaledToZero", message)
