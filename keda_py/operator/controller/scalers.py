"""Events about scalers that have been built anew, of a ScaledObject or a ScaledJob.

With KEDA_CHECK_UNEXPECTED_SCALERS_PARAMS=enabled they name the keys, too, that no scaler reads. Behaviour reference,
section 13.
"""

from collections.abc import Sequence

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.kube.events import EventRecorder
from keda_py.kube.resources import Obj
from keda_py.sdk.registry import scaler_class


def tell_built(events: EventRecorder, live: Obj, triggers: Sequence[ScaleTrigger], *, unknown_keys: bool) -> None:
    """One Event a type; `unknown_keys`: and one for each key that no scaler reads."""
    for kind in dict.fromkeys(trigger.type for trigger in triggers):
        events.record(live, "Normal", "KEDAScalersStarted", f"Scaler {kind} is built")
    for trigger in triggers if unknown_keys else ():
        scaler = f"{trigger.type} ({trigger.name})" if trigger.name else trigger.type
        for key in scaler_class(trigger.type).metadata_model.unknown_keys(trigger.metadata):
            events.record(live, "Warning", "KEDAScalerInfo", f"Unmatched input property {key} in scaler {scaler}")
