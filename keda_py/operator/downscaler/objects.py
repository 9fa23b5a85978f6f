"""The kinds that annotations can downscale, the paths of their fields, and the patch of a decision.

Annotations are cut at one character more than the longest readable one, so that longer ones are still refused as such.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keda_py.apis.foreign import map_at, maps_at, name_of, namespace_of, text_at, texts_at
from keda_py.core.environment.downscaler.decision import PAUSED, PREFIX, AnnotatedObject, DesiredFields
from keda_py.core.environment.downscaler.timespecs import LONGEST
from keda_py.core.pacing.activations import PRIORITY
from keda_py.core.values.own_annotations import EXCLUDE
from keda_py.core.values.times import created_of
from keda_py.kube.resources import (
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBS,
    POD_DISRUPTION_BUDGETS,
    STATEFUL_SETS,
    Obj,
    Resource,
)

KEPT_CHARACTERS = LONGEST + 1
_SELECTOR = ("template", "spec", "nodeSelector")


@dataclass(frozen=True, slots=True, kw_only=True)
class DownscaledKind:
    """A kind: the path of each field below `spec`, and the value that an absent field stands for."""

    resource: Resource
    paths: Mapping[str, tuple[str, ...]]
    defaults: Mapping[str, Any]


def _of(resource: Resource, **defaults: Any) -> DownscaledKind:
    paths = {name: (_SELECTOR if name == "nodeSelector" else (name,)) for name in defaults}
    return DownscaledKind(resource=resource, paths=paths, defaults=defaults)


DOWNSCALED: Mapping[str, DownscaledKind] = {
    kind.resource.plural: kind
    for kind in (
        _of(DEPLOYMENTS, replicas=1),
        _of(STATEFUL_SETS, replicas=1),
        _of(CRON_JOBS, suspend=False),
        _of(JOBS, suspend=False),
        _of(DAEMON_SETS, nodeSelector=None),
        _of(HORIZONTAL_POD_AUTOSCALERS, minReplicas=1, maxReplicas=None),
        _of(POD_DISRUPTION_BUDGETS, minAvailable=None, maxUnavailable=None),
    )
}


def keep(live: Obj) -> Obj:
    """Trim an object to its identity, the annotations that matter, and the fields of its kind."""
    meta, kind = live["metadata"], DOWNSCALED_BY_KIND[live["kind"]]
    names = ("name", "namespace", "uid", "resourceVersion", "labels", "creationTimestamp", "deletionTimestamp")
    owners = [{"kind": text_at(one, "kind")} for one in maps_at(meta, "ownerReferences")]
    return {
        "apiVersion": kind.resource.api_version,
        "kind": live["kind"],
        "metadata": {name: meta[name] for name in names if name in meta}
        | {"annotations": annotations_of(live), "ownerReferences": owners},
        "fields": {name: _field(live, kind, name) for name in kind.paths},
    }


DOWNSCALED_BY_KIND: Mapping[str, DownscaledKind] = {kind.resource.kind: kind for kind in DOWNSCALED.values()}


def keep_namespace(live: Obj) -> Obj:
    """Trim a namespace to its name and the annotations that matter."""
    meta = live["metadata"]
    names = ("name", "uid", "resourceVersion")
    kept = {name: meta[name] for name in names if name in meta}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": kept | {"annotations": annotations_of(live)}}


def annotations_of(live: Obj) -> dict[str, str]:
    """The annotations that matter here, cut at KEPT_CHARACTERS."""
    found = texts_at(live, "metadata", "annotations")
    return {
        name: text[:KEPT_CHARACTERS]
        for name, text in found.items()
        if name.startswith(PREFIX) or name in (PAUSED, EXCLUDE, PRIORITY)
    }


def _field(live: Obj, kind: DownscaledKind, name: str) -> Any:
    value: Any = live.get("spec")
    for step in kind.paths[name]:
        value = value.get(step) if isinstance(value, dict) else None
    return kind.defaults[name] if value is None else value


def annotated(live: Obj, annotations: Mapping[str, str] | None = None) -> AnnotatedObject:
    """The object as decisions read it; `annotations` replace its own."""
    return AnnotatedObject(
        kind=live["kind"],
        namespace=namespace_of(live),
        name=name_of(live),
        created=created_of(live),
        annotations=annotations_of(live) if annotations is None else annotations,
        labels=texts_at(live, "metadata", "labels"),
        owner_kinds=tuple(text_at(one, "kind") for one in maps_at(live, "metadata", "ownerReferences")),
        fields={name: value for name, value in map_at(live, "fields").items() if value is not None},
    )


def patch_of(live: Obj, before: AnnotatedObject, outcome: DesiredFields) -> Obj:
    """Build the merge patch of an outcome, bound to the resourceVersion that was decided on."""
    spec: Obj = {}
    for name, value in _changes(before.fields, outcome.fields).items():
        *steps, last = DOWNSCALED_BY_KIND[before.kind].paths[name]
        inner = spec
        for step in steps:
            inner = inner.setdefault(step, {})
        both = isinstance(value, dict)
        inner[last] = _changes(before.fields.get(name) or {}, value) if both else value
    # Count and annotation go in one patch that names the version: after a crash there is never a count of 0 without the
    # original count beside it, and no other client's write is lost.
    metadata: Obj = {"resourceVersion": live["metadata"]["resourceVersion"]}
    metadata["annotations"] = _changes(before.annotations, outcome.annotations)
    return {"metadata": metadata} | ({"spec": spec} if spec else {})


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that differ; None removes one."""
    names = dict.fromkeys([*before, *after])
    return {name: after.get(name) for name in names if before.get(name) != after.get(name)}
