"""CustomResourceDefinitions as served resources: every stored CRD is registered, version by version.

`controllers/definitions.py` writes the `Established` condition that clients wait for. Next in the flow:
`preparation.py`, which defaults, prunes and validates by the resource's schema.
"""

from collections.abc import Iterable, Iterator

from keda_py.apis.foreign import map_at, text_at
from keda_py.localkube.store.store import Store
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj, PrinterColumn, Resource, ScalePaths

KEY = ("apiextensions.k8s.io", "customresourcedefinitions")


class CustomResources:
    """Keeps a registry up to date with the CRDs of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._served: dict[str, list[Resource]] = {}
        store.listen(self._follow)

    def _follow(self, event: Event) -> None:
        if event.resource.key != KEY:
            return
        # Withdraw first: the changed CRD may no longer serve one of the versions.
        for resource in self._served.pop(event.name, []):
            self._store.resources.withdraw(resource)
        if event.type == DELETED:
            return
        served = list(resources_of(event.object))
        self._served[event.name] = served
        for resource in served:
            self._store.resources.serve(resource)


def resources_of(crd: Obj) -> Iterator[Resource]:
    """Build one resource per served version."""
    spec = crd["spec"]
    names = spec["names"]
    for version in spec["versions"]:
        if version.get("served"):
            subresources = version.get("subresources") or {}
            yield Resource(
                group=spec["group"],
                version=version["name"],
                kind=names["kind"],
                plural=names["plural"],
                singular=names.get("singular") or names["kind"].lower(),
                namespaced=spec["scope"] == "Namespaced",
                short_names=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                subresources=frozenset(subresources),
                has_generation=True,
                custom=True,
                scale=_scale(subresources.get("scale")),
                columns=tuple(_columns(version.get("additionalPrinterColumns") or ())),
                schema=(version.get("schema") or {}).get("openAPIV3Schema"),
            )


def with_defaults(crd: Obj) -> Obj:
    """Fill in the names that a writer may omit; without a kind this is left to the validation."""
    spec, names = map_at(crd, "spec"), map_at(crd, "spec", "names")
    if not (kind := text_at(names, "kind")):
        return crd
    filled = {"listKind": f"{kind}List", "singular": kind.lower(), **names}
    return {**crd, "spec": {"conversion": {"strategy": "None"}, **spec, "names": filled}}


def _scale(paths: Obj | None) -> ScalePaths | None:
    if paths is None:
        return None
    return ScalePaths(
        spec_replicas=paths["specReplicasPath"],
        status_replicas=paths["statusReplicasPath"],
        selector=paths.get("labelSelectorPath", ""),
    )


def _columns(columns: Iterable[Obj]) -> Iterator[PrinterColumn]:
    for column in columns:
        yield PrinterColumn(
            name=column["name"],
            type=column["type"],
            format=column.get("format", ""),
            description=column.get("description", ""),
            priority=column.get("priority", 0),
            path=column["jsonPath"],
        )
