"""The scalers of an object of any kind: built in its reconcile, announced by Events, renewed with their parameters.

With KEDA_CHECK_UNEXPECTED_SCALERS_PARAMS=enabled Events name the keys, too, that no scaler reads. Behaviour reference,
section 13.
"""

from collections.abc import Iterable

from keda_py.core.metric_names import MetricSet
from keda_py.core.spec import TriggersSpec
from keda_py.kube.resources import Obj
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.state import NOTHING, Remembered
from keda_py.sdk.registry import scaler_class


async def build_scalers(parts: Dependencies, state: Remembered, spec: TriggersSpec, live: Obj) -> MetricSet:
    """Build scalers and return their metrics; the worker is free meanwhile. Raises ConfigError and ScalerError."""
    before = parts.readings.built(state.key)
    # Building resolves credentials and opens connections: a source that hangs must not occupy one of the few workers.
    async with state.without_worker():
        metrics = await parts.status.meanwhile(state, parts.readings.build(spec))
    if parts.readings.built(state.key) is not before:
        _report_built(parts, live, spec)
    return metrics


async def renew_scalers(parts: Dependencies, state: Remembered) -> None:
    """Renew scalers whose parameters have changed, and look; other metrics than before need a reconcile, too."""
    stale, state.stale = state.stale, NOTHING
    if await parts.readings.renew(state.key, stale):
        state.due.look_now()
        if parts.readings.built(state.key) is None:
            state.reconciled.invalidate()


def used_types(spec: TriggersSpec) -> dict[str, str]:
    """The status fields that name the trigger types and authentications of a spec, each once."""
    references = (trigger.authentication_ref for trigger in spec.triggers)
    return {
        "triggersTypes": _joined(trigger.type for trigger in spec.triggers),
        "authenticationsTypes": _joined(reference.name for reference in references if reference),
    }


def _report_built(parts: Dependencies, live: Obj, spec: TriggersSpec) -> None:
    """Record one Event for each type and each deprecated key; one for each key that no scaler reads, if set so."""
    for kind in dict.fromkeys(trigger.type for trigger in spec.triggers):
        parts.events.record(live, "Normal", "KEDAScalersStarted", f"Scaler {kind} is built")
    for trigger in spec.triggers:
        for key, text in scaler_class(trigger.type).metadata_model.deprecated_keys(trigger.metadata).items():
            parts.events.record(live, "Normal", "KEDAScalerInfo", f"scaler {trigger.type} info: {key}: {text}")
    for trigger in spec.triggers if parts.tells_unknown_keys else ():
        scaler = f"{trigger.type} ({trigger.name})" if trigger.name else trigger.type
        for key in scaler_class(trigger.type).metadata_model.unknown_keys(trigger.metadata):
            parts.events.record(live, "Warning", "KEDAScalerInfo", f"Unmatched input property {key} in scaler {scaler}")


def _joined(names: Iterable[str]) -> str:
    return ",".join(dict.fromkeys(names))
