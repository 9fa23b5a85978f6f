"""ScaledObjects, ScaledJobs, authentications and event sources: what is not here, and what would be refused.

`keda-py validate` does the judging. An object that KEDA does not run either (its Ready condition is False) is reported
as fine: the move does not change it. Next: `adoption.py`, on the HPAs.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from keda_py.apis.foreign import maps_at, text_at, title_of
from keda_py.apis.kinds.table import KINDS
from keda_py.kube.resources import SCALED_OBJECTS, Obj, resource_of
from keda_py.migration.adoption import check_adoption
from keda_py.migration.findings import Finding, Severity
from keda_py.migration.installation import Installation
from keda_py.sdk import registry
from keda_py.sdk.context import SharedContext
from keda_py.validation.checks import Validation
from keda_py.validation.documents import Document
from keda_py.validation.lines import Lines
from keda_py.validation.problems import Problem

_NO_SCALER = "no scaler found for type"
_NO_LINES = Lines(yaml.MappingNode("", [], yaml.Mark("", 0, 0, 0, "", 0)))
_SHOWN = 5
_REMEDY = "leave this cluster to KEDA, or write the scaler: one file, see keda_py/sdk/scaler.py"


def check_objects(installation: Installation, shared_context: SharedContext) -> Iterator[Finding]:
    """Check for missing trigger types, then check object by object."""
    yield from _check_types(installation)
    documents = [
        Document(file="", body=body, lines=_NO_LINES) for kind in installation.objects.values() for body in kind
    ]
    bodies = {title_of(document.body): document.body for document in documents}
    for problem in Validation(documents, shared_context).problems():
        if not problem.message.startswith(_NO_SCALER):
            yield _judge(problem, bodies.get(problem.object))
    for scaled_object in installation.of(SCALED_OBJECTS):
        yield from check_adoption(scaled_object, installation, shared_context)


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
