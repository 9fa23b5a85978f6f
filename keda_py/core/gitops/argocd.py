"""Applications as Argo CD writes them: what they manage, whether they ignore a count, and the entries to add.

Two settings are needed, as Argo CD has it: an ignored difference starts no self-heal, and with
RespectIgnoreDifferences a sync does not write it either. `doctor/` tells both to people, and `operator/gitops/` adds
them while members sleep.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import re2

from keda_py.apis.foreign import list_at, map_at, maps_at, text_at, value_at

RESPECT = "RespectIgnoreDifferences=true"
OUR_MANAGER = "keda-py"
HPA_MANAGER = "kube-controller-manager"
"""Manager of counts that an HPA wrote."""
_HERE = ("https://kubernetes.default.svc", "in-cluster", "")
_PATH = re2.compile(r"""(\.?(\[("[^"]*"|'[^']*')\]|[A-Za-z_][A-Za-z0-9_]*)\??)+""")
_STEP = re2.compile(r"""\["([^"]*)"\]|\['([^']*)'\]|([A-Za-z_][A-Za-z0-9_]*)""")
_LONGEST = 1000
Place = tuple[str, str, str, str]
"""(group, kind, namespace, name)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountField:
    """Field of a workload that we write; `by_hpa`: an HPA writes it, too."""

    group: str
    kind: str
    namespace: str
    name: str
    field: str = "replicas"
    by_hpa: bool = False

    @property
    def place(self) -> Place:
        return self.group, self.kind, self.namespace, self.name

    @property
    def pointer(self) -> str:
        """Return its JSON pointer."""
        return f"/spec/{self.field}"

    @property
    def entry(self) -> dict[str, Any]:
        """Return the entry of `ignoreDifferences` for it alone."""
        return {
            "group": self.group,
            "kind": self.kind,
            "name": self.name,
            "namespace": self.namespace,
            "jsonPointers": [self.pointer],
        }


def managed_places(application: object) -> Iterator[Place]:
    """Yield the resources that an Application manages in this cluster."""
    destination = map_at(application, "spec", "destination")
    if text_at(destination, "server") in _HERE and text_at(destination, "name") in _HERE:
        for resource in maps_at(application, "status", "resources"):
            group, kind, namespace, name = (text_at(resource, part) for part in ("group", "kind", "namespace", "name"))
            yield group, kind, namespace, name


def syncs_itself(application: object) -> bool:
    """Whether it syncs without a person."""
    automated = value_at(application, "spec", "syncPolicy", "automated")
    return isinstance(automated, dict) and automated.get("enabled") is not False


def ignores(application: object, count: CountField) -> bool | None:
    """Whether `ignoreDifferences` covers a count; None if an expression would have to be run."""
    answers = [
        _covers(entry, count) for entry in maps_at(application, "spec", "ignoreDifferences") if _matches(entry, count)
    ]
    return True if True in answers else None if None in answers else False


def _matches(entry: dict[str, Any], count: CountField) -> bool:
    """Whether an entry is about the workload; group and kind may be patterns, as in Argo CD."""
    name, namespace = text_at(entry, "name"), text_at(entry, "namespace")
    return (
        fnmatchcase(count.group, text_at(entry, "group"))
        and fnmatchcase(count.kind, text_at(entry, "kind"))
        and name in ("", count.name)
        and namespace in ("", count.namespace)
    )


def _covers(entry: dict[str, Any], count: CountField) -> bool | None:
    pointers = [one for one in list_at(entry, "jsonPointers") if isinstance(one, str)]
    if any(pointer in ("/spec", count.pointer) for pointer in pointers):
        return True
    writers = {OUR_MANAGER, HPA_MANAGER} if count.by_hpa else {OUR_MANAGER}
    if writers <= {one for one in list_at(entry, "managedFieldsManagers") if isinstance(one, str)}:
        return True
    paths = [read_path(one) for one in list_at(entry, "jqPathExpressions") if isinstance(one, str)]
    if any(path in (("spec",), ("spec", count.field)) for path in paths):
        return True
    return None if None in paths else False


def read_path(expression: str) -> tuple[str, ...] | None:
    """Read a jq expression that is a plain path, such as `.spec.replicas`; None for all others."""
    text = expression.strip()
    if len(text) > _LONGEST or not text.startswith(".") or not _PATH.fullmatch(text):
        return None
    return tuple("".join(part or "" for part in step.groups()) for step in _STEP.finditer(text))


def respects(application: object) -> bool:
    """Whether a sync leaves ignored fields as they are."""
    return RESPECT in list_at(application, "spec", "syncPolicy", "syncOptions")


def respecting_options(application: object) -> list[str]:
    """Return all its sync options with the one that is missing: a list in a merge patch replaces the other."""
    options = [one for one in list_at(application, "spec", "syncPolicy", "syncOptions") if isinstance(one, str)]
    return [*(one for one in options if not one.startswith("RespectIgnoreDifferences=")), RESPECT]


def lines_to_add(application: object, counts: Sequence[CountField]) -> dict[str, Any]:
    """Return what a person adds to the manifest: the entries, and the sync option where it is missing."""
    spec: dict[str, Any] = {"ignoreDifferences": [count.entry for count in counts]}
    if not respects(application):
        spec["syncPolicy"] = {"syncOptions": respecting_options(application)}
    return {"spec": spec}
