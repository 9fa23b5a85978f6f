"""The resources that the API server serves: one `Resource` per group, version and plural, in discovery order.

`localkube/builtin/builtins.py` has the table of the built-in kinds; CustomResourceDefinitions and APIServices extend
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
    """A printer column; `path` is the JSONPath of a CRD's additionalPrinterColumns."""

    name: str
    type: str
    format: str = ""
    description: str = ""
    priority: int = 0
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePaths:
    """The paths of the three values of `/scale`, dotted as `.spec.replicas`."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A served resource; `storage` is the (group, plural) of the objects that it shows, if that is not its own."""

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
        """The (group, plural) under which the objects are stored; all versions of a kind share it."""
        return self.storage or (self.group, self.plural)

    @property
    def api_version(self) -> str:
        """The apiVersion of manifests: the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """Plural and group, as messages and CRD names have them: `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """An API group in discovery, sorted by descending priority, then by name."""

    name: str
    versions: tuple[str, ...]
    priority: int = CRD_PRIORITY


class Registry:
    """The served resources; CRDs change them, so a cache of anything here must compare `version`."""

    def __init__(self, groups: Iterable[Group], resources: Iterable[Resource]) -> None:
        self._groups = {group.name: group for group in groups}
        self._resources = {(r.group, r.version, r.plural): r for r in resources}
        self._by_kind = {(r.group, r.version, r.kind): r for r in self._resources.values()}
        self.version = 0

    def __iter__(self) -> Iterator[Resource]:
        return iter(tuple(self._resources.values()))

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._resources.get((group, version, plural))

    def of_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource of a manifest's apiVersion and kind, or None."""
        return self._by_kind.get((group, version, kind))

    def get(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind. Raises KeyError if it is not served."""
        group, _, version = api_version.rpartition("/")
        return self._by_kind[(group, version, kind)]

    def storages(self) -> list[Resource]:
        """One resource for each stored kind: a terminating namespace is emptied of these."""
        first: dict[tuple[str, str], Resource] = {}
        for resource in self._resources.values():
            if resource.storage is None and "list" in resource.verbs:
                first.setdefault(resource.key, resource)
        return list(first.values())

    def groups(self) -> list[Group]:
        """All named groups in discovery order."""
        named = (group for group in self._groups.values() if group.name)
        return sorted(named, key=lambda group: (-group.priority, group.name))

    def group(self, name: str) -> Group | None:
        return self._groups.get(name)

    def resources(self, group: str, version: str) -> list[Resource]:
        """The resources of a group version, by name."""
        found = (r for r in self._resources.values() if (r.group, r.version) == (group, version))
        return sorted(found, key=lambda r: r.plural)

    def serve(self, resource: Resource, priority: int = CRD_PRIORITY) -> None:
        """Add or replace a resource, and its group if that is new."""
        known = self._groups.get(resource.group, Group(name=resource.group, versions=(), priority=priority))
        if resource.version not in known.versions:
            known = Group(name=known.name, versions=(*known.versions, resource.version), priority=known.priority)
        self._groups[resource.group] = known
        self._resources[(resource.group, resource.version, resource.plural)] = resource
        self._by_kind[(resource.group, resource.version, resource.kind)] = resource
        self.version += 1

    def withdraw(self, resource: Resource) -> None:
        """Remove a resource, and its group with the last one."""
        self._resources.pop((resource.group, resource.version, resource.plural), None)
        self._by_kind.pop((resource.group, resource.version, resource.kind), None)
        left = {r.version for r in self._resources.values() if r.group == resource.group}
        known = self._groups.pop(resource.group, None)
        if known is not None and left:
            versions = tuple(version for version in known.versions if version in left)
            self._groups[known.name] = Group(name=known.name, versions=versions, priority=known.priority)
        self.version += 1
