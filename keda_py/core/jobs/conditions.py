"""A ScaledJob's conditions in KEDA's words; the list itself is `conditions.py`. Behaviour reference, section 10."""

from keda_py.core.conditions import ACTIVE, NOT_ACTIVE, ConditionValue

DEFINED = ConditionValue("True", "ScaledJobReady", "ScaledJob is defined correctly and is ready to scaling")
READY = ConditionValue("True", "ScaledJobReady", "ScaledJob is defined correctly and is ready for scaling")
PARTIAL = ConditionValue(
    "Unknown", "PartialTriggerError", "Some triggers defined in ScaledJob are not working correctly"
)
BROKEN = ConditionValue("False", "TriggerError", "Triggers defined in ScaledJob are not working correctly")
PAUSED_READY = ConditionValue("True", "ScaledJobReady", "ScaledJob is paused, skipping reconcile loop")
PAUSED = ConditionValue("True", "ScaledJobPaused", "ScaledJob is paused")
UNPAUSED = ConditionValue("False", "ScaledJobUnpaused", "ScaledJob is unpaused")
CHECK_FAILED_ACTIVE = ConditionValue("Unknown", "UnknownState", "ScaledJob check failed")


def check_failed(step: str) -> ConditionValue:
    """Ready=False after a reconcile that could not be completed; the step alone, its error is in the Events."""
    return ConditionValue("False", "ScaledJobCheckFailed", step)


def ready(*, active: bool, failing: bool) -> ConditionValue:
    """Ready after a look at the triggers."""
    if not failing:
        return READY
    return PARTIAL if active else BROKEN


def activity(*, active: bool) -> ConditionValue:
    """Active after a look at the triggers."""
    return ACTIVE if active else NOT_ACTIVE
