"""What the API server serves: one `Resource` per group, version and plural, in discovery order.

`localkube/builtin/builtins.py` holds the table of the built-in kinds; CustomResourceDefinitions and APIServices add to
the `Registry` at run time. Next in the flow: `localkube/store/store.py`, which keeps the objects of each resource.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Obj = dict[str, Any]
"""A Kubernetes object as plain JSON. A stored one is never mutated."""

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CRD_PRIORITY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class PrinterColumn:
    """One printer column; `path` is the JSONPath of a CRD's additionalPrinterColumns."""

    name: str
    type: str
    format: str = ""
    description: str = ""
    priority: int = 0
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePaths:
    """Where `/scale` finds its three values; dotted paths such as `.spec.replicas`."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One served resource; `storage` names the (group, plural) whose objects it shows, where that is not its own."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: frozenset[str] = frozenset()
    storage: tuple[str, str] | None = None
    has_generation: bool = False
    custom: bool = False
    scale: ScalePaths | None = None
    columns: tuple[PrinterColumn, ...] = ()
    schema: Mapping[str, Any] | None = field(default=None, hash=False, compare=False, repr=False)

    @property
    def key(self) -> tuple[str, str]:
        """Whose objects these are: all versions of a kind share one."""
        return self.storage or (self.group, self.plural)

    @property
    def api_version(self) -> str:
        """`v1`, `apps/v1` ..."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """`deployments.apps`, as messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """An API group's place in discovery: higher priority first, then by name."""

    name: str
    versions: tuple[str, ...]
    priority: int = CRD_PRIORITY


class Registry:
    """The served resources; CRDs come and go, so nothing here may be cached without asking `version`."""

    def __init__(self, groups: Iterable[Group], resources: Iterable[Resource]) -> None:
        self._groups = {group.name: group for group in groups}
        self._resources = {(r.group, r.version, r.plural): r for r in resources}
        self._by_kind = {(r.group, r.version, r.kind): r for r in self._resources.values()}
        self.version = 0

    def __iter__(self) -> Iterator[Resource]:
        return iter(tuple(self._resources.values()))

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource at a path, or None."""
        return self._resources.get((group, version, plural))

    def of_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource of a manifest's apiVersion and kind, or None."""
        return self._by_kind.get((group, version, kind))

    def get(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind that is known to be served; KeyError otherwise."""
        group, _, version = api_version.rpartition("/")
        return self._by_kind[(group, version, kind)]

    def storages(self) -> list[Resource]:
        """One resource for each stored kind: what has to be emptied when a namespace goes."""
        first: dict[tuple[str, str], Resource] = {}
        for resource in self._resources.values():
            if resource.storage is None and "list" in resource.verbs:
                first.setdefault(resource.key, resource)
        return list(first.values())

    def groups(self) -> list[Group]:
        """Every named group in discovery order."""
        named = (group for group in self._groups.values() if group.name)
        return sorted(named, key=lambda group: (-group.priority, group.name))

    def group(self, name: str) -> Group | None:
        """One group's place, or None."""
        return self._groups.get(name)

    def resources(self, group: str, version: str) -> list[Resource]:
        """The resources of one group version, by name."""
        found = (r for r in self._resources.values() if (r.group, r.version) == (group, version))
        return sorted(found, key=lambda r: r.plural)

    def serve(self, resource: Resource, priority: int = CRD_PRIORITY) -> None:
        """Add or replace a resource, and its group where that is new."""
        known = self._groups.get(resource.group, Group(name=resource.group, versions=(), priority=priority))
        if resource.version not in known.versions:
            known = Group(name=known.name, versions=(*known.versions, resource.version), priority=known.priority)
        self._groups[resource.group] = known
        self._resources[(resource.group, resource.version, resource.plural)] = resource
        self._by_kind[(resource.group, resource.version, resource.kind)] = resource
        self.version += 1

    def withdraw(self, resource: Resource) -> None:
        """Serve the resource no longer; the last one of a group takes the group along."""
        self._resources.pop((resource.group, resource.version, resource.plural), None)
        self._by_kind.pop((resource.group, resource.version, resource.kind), None)
        left = {r.version for r in self._resources.values() if r.group == resource.group}
        known = self._groups.pop(resource.group, None)
        if known is not None and left:
            versions = tuple(version for version in known.versions if version in left)
            self._groups[known.name] = Group(name=known.name, versions=versions, priority=known.priority)
        self.version += 1
