"""ScaledObjects, ScaledJobs, authentications and event sources: what is not here, and what would be refused.

`keda-py validate` does the judging. An object that KEDA does not run either (its Ready condition is False) is reported
as fine: the move does not change it. Further parts are about the HPAs of ScaledObjects, and requests that wake.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from keda_py.apis.foreign import map_at, maps_at, name_of, namespace_of, text_at, title_of
from keda_py.apis.kinds.table import KINDS
from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.metric_names import normalise
from keda_py.core.spec import AS_WRITTEN, ScalingSpec
from keda_py.errors import ConfigError
from keda_py.kube.resources import (
    DEPLOYMENTS,
    ENVIRONMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    SCALED_OBJECTS,
    Obj,
    resource_of,
)
from keda_py.migration.findings import Finding, Severity
from keda_py.migration.installation import Installation
from keda_py.sdk import registry
from keda_py.sdk.checks import context_of
from keda_py.sdk.context import SharedContext
from keda_py.sdk.contract import Scaler, Trigger
from keda_py.validation.checks import Validation
from keda_py.validation.documents import Document
from keda_py.validation.lines import Lines
from keda_py.validation.problems import Problem
from keda_py.validation.release import Release, completed

_NO_SCALER = "no scaler found for type"
_NO_LINES = Lines(yaml.MappingNode("", [], yaml.Mark("", 0, 0, 0, "", 0)))
_SHOWN = 5
_ADD_ON, _WAKER = "keda-add-ons-http", "keda-waker"
_NO_PROXY = "where only the first request is to be held: wakeOnRequest of an Environment, see examples/wake-on-request"
_REMEDY = "leave this cluster to KEDA, or write the scaler: one file, see keda_py/sdk/scaler.py"


def check_objects(installation: Installation, shared_context: SharedContext) -> Iterator[Finding]:
    """Check for missing trigger types, then check object by object."""
    yield from _check_types(installation)
    documents = [
        Document(file="", body=body, lines=_NO_LINES) for kind in installation.objects.values() for body in kind
    ]
    bodies = {title_of(document.body): document.body for document in documents}
    for problem in Validation(Release(documents), shared_context).problems():
        if not problem.message.startswith(_NO_SCALER):
            yield _judge(problem, bodies.get(problem.object))
    for scaled_object in installation.of(SCALED_OBJECTS):
        yield from check_adoption(scaled_object, installation, shared_context)
    yield from check_requests(installation)


def _check_types(installation: Installation) -> Iterator[Finding]:
    users: defaultdict[str, list[str]] = defaultdict(list)
    for resource in [resource_of(kind) for kind in KINDS if kind.has_triggers]:
        for body in installation.of(resource):
            for trigger_type in sorted(_types(body) - set(registry.trigger_types())):
                users[trigger_type].append(title_of(body))
    for trigger_type, names in sorted(users.items()):
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield Finding(
            severity=Severity.BLOCKS,
            object=f"trigger type {trigger_type}",
            message=f"has no scaler here; used by {', '.join(names[:_SHOWN])}{more}",
            remedy=f"{_nearest(trigger_type)}{_REMEDY}",
        )


def _nearest(trigger_type: str) -> str:
    near = registry.nearest_types(trigger_type)
    return f"if {' or '.join(near)} is meant, correct the name; else " if near else ""


def _types(body: Obj) -> set[str]:
    return {text_at(trigger, "type") for trigger in maps_at(body, "spec", "triggers")}


def _judge(problem: Problem, body: Mapping[str, Any] | None) -> Finding:
    message = problem.sentence.removeprefix(f"{problem.object}: ")
    if problem.severity == "warning" or problem.code:  # or a field that KEDA loses as well
        return Finding(severity=Severity.FINE, object=problem.object, message=message)
    if body is not None and _broken_already(body):
        message = f"{message} (it is not Ready with KEDA either)"
        return Finding(severity=Severity.FINE, object=problem.object, message=message)
    remedy = "change the object before the move"
    return Finding(severity=Severity.BLOCKS, object=problem.object, message=message, remedy=remedy)


def _broken_already(body: Mapping[str, Any]) -> bool:
    """Whether Ready is False: KEDA has seen the object and does not run it."""
    conditions = maps_at(body, "status", "conditions")
    return any((text_at(one, "type"), text_at(one, "status")) == ("Ready", "False") for one in conditions)


# Whether a ScaledObject's HPA is taken over as it is: same name, same owner, same metrics.
#
# The HPA controller keeps its state in the object, so an HPA that is patched, not made anew, goes on without a gap.


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
        new_name = _metric_name(trigger, index, spec, shared_context)
        old_names = [name for name in names if name.startswith(f"s{index}-")]
        if new_name and len(old_names) == 1 and new_name != old_names[0]:
            yield f"{old_names[0]} becomes {new_name}"


def _metric_name(trigger: ScaleTrigger, index: int, spec: ScalingSpec, shared_context: SharedContext) -> str:
    """Name the metric as our HPA does; "" if that takes credentials or a server, or it is not an external metric."""
    context = context_of(trigger, index, shared_context, spec)
    try:
        scaler = registry.build(Trigger(type=trigger.type, metadata=trigger.metadata), context)
    except ConfigError:
        return ""
    return f"s{index}-{normalise(scaler.metric_name)}" if type(scaler).specs is Scaler.specs else ""


# Requests that wake: what KEDA's HTTP add-on does, and Environments with wakeOnRequest.


def check_requests(installation: Installation) -> Iterator[Finding]:
    """Tell users of KEDA's HTTP add-on of the other way, and name what requests are to wake without a waker."""
    for scaled_object in installation.of(SCALED_OBJECTS):
        if any(
            _ADD_ON in text_at(one, "metadata", "scalerAddress") for one in maps_at(scaled_object, "spec", "triggers")
        ):
            message = (
                "is scaled by KEDA's HTTP add-on, which runs unchanged; every request goes through its interceptor"
            )
            yield Finding(severity=Severity.FINE, object=title_of(scaled_object), message=message, remedy=_NO_PROXY)
    if any(name_of(one) == _WAKER for one in installation.of(DEPLOYMENTS)):
        return
    for environment in installation.of(ENVIRONMENTS):
        if "wakeOnRequest" in map_at(environment, "spec"):
            message = "has wakeOnRequest, and no waker is installed: no request wakes it"
            remedy = "install the chart with --set waker.enabled=true"
            yield Finding(severity=Severity.CHANGES, object=title_of(environment), message=message, remedy=remedy)
    for scaled_object in installation.of(SCALED_OBJECTS):
        if any(registry.wakes_on_request(text_at(one, "type")) for one in maps_at(scaled_object, "spec", "triggers")):
            message = "has a trigger for requests, and no waker is installed: the trigger fails, and it stays up"
            remedy = "install the chart with --set waker.enabled=true"
            yield Finding(severity=Severity.CHANGES, object=title_of(scaled_object), message=message, remedy=remedy)
