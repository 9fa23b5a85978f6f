"""Conditions of a ScaledJob in KEDA's words; `core/conditions.py` has the list on the wire. Behaviour reference,
section 10.
"""

from dataclasses import replace

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


def paused(because: str) -> ConditionValue:
    """Return Paused=True; `because` is empty for a pause without an end, as in KEDA."""
    return replace(PAUSED, message=f"{PAUSED.message}: {because}") if because else PAUSED


def check_failed(step: str) -> ConditionValue:
    """Ready=False after a reconcile that could not be completed. It names only the step; the error is in the Events."""
    return ConditionValue("False", "ScaledJobCheckFailed", step)


def ready(*, active: bool, failing: bool) -> ConditionValue:
    """Return the Ready condition after the triggers were read."""
    if not failing:
        return READY
    return PARTIAL if active else BROKEN


def activity(*, active: bool) -> ConditionValue:
    """Return the Active condition after the triggers were read."""
    return ACTIVE if active else NOT_ACTIVE
