"""`status.conditions`: the list on the wire and single changes of it. Pure. Behaviour reference, section 1.3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from keda_py.core.values.default_note import DefaultNote


@dataclass(frozen=True, slots=True)
class ConditionValue:
    """A condition's status, reason and message."""

    status: Literal["True", "False", "Unknown"]
    reason: str = ""
    message: str = ""


ConditionList = Sequence[Mapping[str, Any]]

INITIAL: tuple[Mapping[str, str], ...] = (
    {"type": "Ready", "status": "Unknown"},
    {"type": "Active", "status": "Unknown"},
    {"type": "Fallback", "status": "Unknown"},
    {"type": "Paused", "status": "False"},
)

READY = ConditionValue("True", "ScaledObjectReady", "ScaledObject is defined correctly and is ready for scaling")
PARTIAL = ConditionValue(
    "Unknown", "PartialTriggerError", "Some triggers defined in ScaledObject are not working correctly"
)
BROKEN = ConditionValue("False", "TriggerError", "Triggers defined in ScaledObject are not working correctly")
ACTIVE = ConditionValue("True", "ScalerActive", "Scaling is performed because triggers are active")
FORCED = ConditionValue("True", "ScalerActive", "Scaling is performed because activation is being forced by annotation")
NOT_ACTIVE = ConditionValue("False", "ScalerNotActive", "Scaling is not performed because triggers are not active")
COOLDOWN = ConditionValue("False", "ScalerCooldown", "Scaler cooling down because triggers are not active")
CHECK_FAILED_ACTIVE = ConditionValue("Unknown", "UnknownState", "ScaledObject check failed")
PAUSED_READY = ConditionValue("True", "ScaledObjectReady", "ScaledObject is paused")
PAUSED = ConditionValue("True", "ScaledObjectPaused", "ScaledObject is paused")
UNPAUSED = ConditionValue("False", "ScaledObjectUnpaused", "pause annotation removed for ScaledObject")
PAUSE_OVER = ConditionValue("False", "ScaledObjectUnpaused", "the pause of ScaledObject has come to its end")
FALLBACK = ConditionValue("True", "FallbackExists", "At least one trigger is falling back on this scaled object")
NO_FALLBACK = ConditionValue("False", "NoFallbackFound", "No fallbacks are active on this scaled object")


def paused(because: str) -> ConditionValue:
    """Paused=True; `because` is empty for an annotation, as in KEDA."""
    return replace(PAUSED, message=f"{PAUSED.message}: {because}") if because else PAUSED


def inactive(reason: str, because: str) -> ConditionValue:
    """Active=False while an Environment, an Override or a schedule, and not an annotation, has stopped all scaling."""
    return ConditionValue("False", reason, f"Scaling is not performed: {because}")


def resumed(active: ConditionValue) -> ConditionValue:
    """Active after such a stop has ended, until the triggers are read; any other value stays."""
    return ConditionValue("Unknown") if active.reason.startswith(_STOPPED) else active


_STOPPED = ("AsleepBy", "HeldBy")


CHECK_FAILED = "ScaledObjectCheckFailed"


def check_failed(message: str) -> ConditionValue:
    """Ready=False after a reconcile that could not be completed; `message` is "<step>: <error>"."""
    return ConditionValue("False", CHECK_FAILED, message)


BOUNDED = "Bounded"
"""Condition of ours: bounds of KedaDefaults change what the manifest, or what lies over it, asks for."""


def bounded_condition(notes: Sequence[DefaultNote], known: ConditionList) -> ConditionValue | None:
    """The value of condition Bounded; None where nothing is bounded, and it was never said."""
    texts = [note.text for note in notes if note.is_bound and note.is_asked]
    if texts:
        return ConditionValue("True", "BeyondBounds", "; ".join(texts))
    return ConditionValue("False", "WithinBounds") if any(one.get("type") == BOUNDED for one in known) else None


def is_initialised(conditions: ConditionList) -> bool:
    """Whether all four conditions exist."""
    return {entry["type"] for entry in INITIAL} <= {entry.get("type") for entry in conditions}


def read_condition(conditions: ConditionList, kind: str) -> ConditionValue:
    """Read the condition of that type; Unknown if missing."""
    for entry in conditions:
        if entry.get("type") == kind:
            return ConditionValue(entry.get("status", "Unknown"), entry.get("reason", ""), entry.get("message", ""))
    return ConditionValue("Unknown")


def with_condition(conditions: ConditionList, kind: str, value: ConditionValue) -> list[Mapping[str, Any]]:
    """Return the list with that condition replaced, or added at the end; empty reason and message are left out."""
    entry = {"type": kind, "status": value.status}
    if value.reason:
        entry["reason"] = value.reason
    if value.message:
        entry["message"] = value.message
    if any(old.get("type") == kind for old in conditions):
        return [entry if old.get("type") == kind else old for old in conditions]
    return [*conditions, entry]


def with_conditions(conditions: ConditionList, values: Mapping[str, ConditionValue]) -> list[Mapping[str, Any]]:
    """The list with those conditions set; one that lacks any of the four that KEDA always has begins anew."""
    listed = list(conditions) if is_initialised(conditions) else list(INITIAL)
    for kind, value in values.items():
        listed = with_condition(listed, kind, value)
    return listed


def hpa_active(hpa_status: Mapping[str, Any]) -> ConditionValue | None:
    """Translate the HPA's ScalingActive into our HPAActive condition; None if the HPA has none yet."""
    for entry in hpa_status.get("conditions") or ():
        if entry.get("type") != "ScalingActive":
            continue
        reason, message = entry.get("reason", ""), entry.get("message", "")
        if entry.get("status") == "True":
            return ConditionValue("True", "HPAActive", "HPA is actively scaling")
        if reason == "ScalingDisabled":
            return ConditionValue("True", "ScalingDisabled", message)
        return ConditionValue("False", reason or "HPAMetricsUnavailable", f"HPA is not actively scaling: {message}")
    return None
