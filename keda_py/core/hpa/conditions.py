"""What the HorizontalPodAutoscaler's controller tells: conditions and Events, in the words users know and grep for."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

# Reason of the condition ScaledToZero while an Environment holds the mark. It is the memory of the mark, too: what is
# stored in one write cannot be half done when a process is killed.
HELD_ASLEEP: Final = "HeldAsleep"


class ConditionType(StrEnum):
    """`status.conditions[].type` of an HPA."""

    ABLE_TO_SCALE = "AbleToScale"
    SCALING_ACTIVE = "ScalingActive"
    SCALING_LIMITED = "ScalingLimited"
    SCALED_TO_ZERO = "ScaledToZero"


class ZeroMark(StrEnum):
    """What the condition ScaledToZero of an HPA says of a count of zero."""

    NONE = ""
    """Its controller did not set it, and leaves it."""
    SET = "Set"
    """Its controller set it, and ends it when the metrics ask for more."""
    HELD = "Held"
    """Its controller set it, and an Environment has taken the mark off for as long as the workload is to be asleep."""


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


def held_asleep(environment: str) -> HpaCondition:
    """The mark of a zero while an Environment holds it: to the HPA's controller that is a zero of another client."""
    message = f"Environment {environment} keeps the workload asleep; the HPA controller had scaled it to zero"
    return HpaCondition(ConditionType.SCALED_TO_ZERO, "False", HELD_ASLEEP, message)
