"""Whether a ScaledObject's HPA is taken over as it is: same name, same owner, same metrics.

The HPA controller keeps its state in the object, so an HPA that is patched, not made anew, goes on without a gap.
"""

from collections.abc import Iterator, Sequence

from keda_py.apis.foreign import maps_at, name_of, namespace_of, text_at, title_of
from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.metric_names import normalise
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from keda_py.errors import ConfigError
from keda_py.kube.resources import HORIZONTAL_POD_AUTOSCALERS, Obj
from keda_py.migration.findings import Finding, Severity
from keda_py.migration.installation import Installation
from keda_py.sdk import registry
from keda_py.sdk.checks import context_of
from keda_py.sdk.context import SharedContext
from keda_py.sdk.contract import Scaler, Trigger
from keda_py.validation.release import completed


def check_adoption(scaled_object: Obj, installation: Installation, shared_context: SharedContext) -> Iterator[Finding]:
    """Yield what would happen to its HPA; nothing for an object without an HPA, or an unreadable one."""
    try:
        spec = AS_WRITTEN.read(completed(scaled_object))
    except ConfigError:
        return  # the validation reports it
    found = next((one for one in installation.of(HORIZONTAL_POD_AUTOSCALERS) if _belongs(one, scaled_object)), None)
    if found is None:
        return
    name = name_of(found)
    if name != spec.hpa_name:
        message = f"its HPA {name} is replaced by {spec.hpa_name}"
        yield Finding(
            severity=Severity.CHANGES,
            object=title_of(scaled_object),
            message=message,
            remedy="set spec.advanced.horizontalPodAutoscalerConfig.name to the name that it has",
        )
        return
    if different := list(_renamed(spec, _external_names(found), shared_context)):
        message = f"metrics of HPA {name} get other names: {'; '.join(different)}"
        remedy = "nothing scales because of it; adapt dashboards that name them"
        yield Finding(severity=Severity.CHANGES, object=title_of(scaled_object), message=message, remedy=remedy)
    else:
        yield Finding(
            severity=Severity.FINE, object=title_of(scaled_object), message=f"its HPA {name} is taken over as it is"
        )


def _belongs(hpa: Obj, scaled_object: Obj) -> bool:
    return namespace_of(scaled_object) == namespace_of(hpa) and any(
        (text_at(owner, "kind"), text_at(owner, "name")) == ("ScaledObject", name_of(scaled_object))
        for owner in maps_at(hpa, "metadata", "ownerReferences")
    )


def _external_names(hpa: Obj) -> Sequence[str]:
    names = (text_at(metric, "external", "metric", "name") for metric in maps_at(hpa, "spec", "metrics"))
    return [name for name in names if name]


def _renamed(spec: ScalingSpec, names: Sequence[str], shared_context: SharedContext) -> Iterator[str]:
    """ "s0-a becomes s0-b" for each trigger whose name is known without credentials; a formula has one name."""
    for index, trigger in enumerate(() if spec.modifiers else spec.triggers):
        ours = _metric_name(trigger, index, spec, shared_context)
        theirs = [name for name in names if name.startswith(f"s{index}-")]
        if ours and len(theirs) == 1 and ours != theirs[0]:
            yield f"{theirs[0]} becomes {ours}"


def _metric_name(trigger: ScaleTrigger, index: int, spec: ScalingSpec, shared_context: SharedContext) -> str:
    """Name the metric as our HPA does; "" if that takes credentials or a server, or it is not an external metric."""
    context = context_of(trigger, index, shared_context, spec)
    try:
        scaler = registry.build(Trigger(type=trigger.type, metadata=trigger.metadata), context)
    except ConfigError:
        return ""
    return f"s{index}-{normalise(scaler.metric_name)}" if type(scaler).specs is Scaler.specs else ""
