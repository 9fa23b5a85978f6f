"""Coverage of one namespace by ClusterEnvironments, and the write that it needs: an ordered list of guards.

Each look finds the write anew from what is stored, so that a process that is killed between two writes leaves nothing
behind that the next one does not see.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from keda_py.apis.foreign import map_at, maps_at, name_of, text_at, texts_at
from keda_py.core.environment.namespaces.spec import CLUSTERS_OWN, NAME_LABEL, ClusterEnvironmentSpec

KIND, API_VERSION = "ClusterEnvironment", "keda-py.dev/v1alpha1"
OWNER_LABEL: Final = "keda-py.dev/cluster-environment"
"""Label of an Environment with the name of its ClusterEnvironment, for `kubectl get env -A -l`."""
TEMPLATE: Final = "keda-py.dev/template"
"""Annotation with the digest of the template that the spec was written from: tells an edit from an older template."""


class Coverage(StrEnum):
    """The reason why a namespace has an Environment of this ClusterEnvironment, or has none."""

    COVERED = "Covered"
    NOT_SELECTED = "NotSelected"
    PROTECTED = "Protected"
    """It would be selected, but is kube-system or the operator's own."""
    TERMINATING = "Terminating"
    OLDER = "RuledByOlder"
    OWN = "OwnEnvironment"
    LEAVING = "Leaving"
    """The Environment of another ClusterEnvironment is there still, and gives its counts back first."""


class Write(StrEnum):
    """The write that a namespace needs."""

    NONE = ""
    CREATE = "Create"
    UPDATE = "Update"
    PUT_BACK = "PutBack"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSeen:
    """A namespace with its Environments, all as the caches have them."""

    name: str
    labels: Mapping[str, str]
    terminating: bool = False
    environments: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespacePlan:
    """`live` is the Environment of this ClusterEnvironment, None without one; `other` has the name of what is in force
    instead.
    """

    namespace: str
    coverage: Coverage
    write: Write = Write.NONE
    live: Mapping[str, Any] | None = None
    other: str = ""


def plan_namespace(
    spec: ClusterEnvironmentSpec,
    older: Sequence[ClusterEnvironmentSpec],
    seen: NamespaceSeen,
    never: Sequence[str] = CLUSTERS_OWN,
) -> NamespacePlan:
    """Decide about one namespace; `never` are the names that are not covered."""
    live = next((one for one in seen.environments if owner_uid(one) == spec.uid and name_of(one) == spec.name), None)
    coverage, other = _coverage(spec, older, seen, never)
    write = _write_covered(spec, live) if coverage is Coverage.COVERED else Write.NONE
    if coverage is not Coverage.COVERED and coverage is not Coverage.TERMINATING and live is not None:
        # Its finalizer gives every count back before it goes.
        write = Write.NONE if _is_going(live) else Write.DELETE
    return NamespacePlan(namespace=seen.name, coverage=coverage, write=write, live=live, other=other)


def _coverage(
    spec: ClusterEnvironmentSpec, older: Sequence[ClusterEnvironmentSpec], seen: NamespaceSeen, never: Sequence[str]
) -> tuple[Coverage, str]:
    if not spec.selects(labels_of(seen)):
        return Coverage.NOT_SELECTED, ""
    if seen.name in never:
        return Coverage.PROTECTED, ""
    if seen.terminating:
        return Coverage.TERMINATING, ""
    for one in older:
        if one.selects(labels_of(seen)):
            return Coverage.OLDER, one.name
    for environment in seen.environments:
        if not owner_uid(environment):
            return Coverage.OWN, name_of(environment)
    for environment in seen.environments:
        if owner_uid(environment) != spec.uid:
            return Coverage.LEAVING, name_of(environment)
    return Coverage.COVERED, ""


def labels_of(seen: NamespaceSeen) -> Mapping[str, str]:
    """Labels of a namespace, with its name: an API server that is older than 1.21 does not set that label."""
    return {NAME_LABEL: seen.name, **seen.labels}


def _write_covered(spec: ClusterEnvironmentSpec, live: Mapping[str, Any] | None) -> Write:
    if live is None:
        return Write.CREATE
    if _is_going(live):
        return Write.NONE  # created anew once it is gone
    wanted = digest_of(spec.template)
    if texts_at(live, "metadata", "annotations").get(TEMPLATE) != wanted:
        return Write.UPDATE
    if texts_at(live, "metadata", "labels").get(OWNER_LABEL) != spec.name:
        return Write.UPDATE
    return Write.NONE if map_at(live, "spec") == spec.template else Write.PUT_BACK


def _is_going(live: Mapping[str, Any]) -> bool:
    return bool(text_at(live, "metadata", "deletionTimestamp"))


def owner_uid(live: Mapping[str, Any]) -> str:
    """Return the uid of the ClusterEnvironment that controls an Environment; "" for a namespace's own."""
    for reference in maps_at(live, "metadata", "ownerReferences"):
        if reference.get("kind") == KIND and reference.get("controller") is True:
            return text_at(reference, "uid")
    return ""


def digest_of(template: Mapping[str, Any]) -> str:
    """Return a short digest of a template."""
    text = json.dumps(template, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def body_of(spec: ClusterEnvironmentSpec, namespace: str, live: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the Environment to create, or to write over `live`."""
    reference = {"apiVersion": API_VERSION, "kind": KIND, "name": spec.name, "uid": spec.uid, "controller": True}
    meta: dict[str, Any] = dict(map_at(live or {}, "metadata")) or {"name": spec.name, "namespace": namespace}
    labels = {**texts_at(meta, "labels"), OWNER_LABEL: spec.name}
    annotations = {**texts_at(meta, "annotations"), TEMPLATE: digest_of(spec.template)}
    owned = {"labels": labels, "annotations": annotations}
    if live is None:
        owned["ownerReferences"] = [reference]  # type: ignore[assignment]
    body: dict[str, Any] = {"apiVersion": API_VERSION, "kind": "Environment"}
    return {**body, "metadata": {**meta, **owned}, "spec": dict(spec.template)}
