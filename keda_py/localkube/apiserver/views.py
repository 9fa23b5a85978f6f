"""Views of stored objects: another version of the kind, a Table, metadata alone.

A kind is stored in one version; `builtin/conversions.py` converts the few that differ in another. As from a real
server, list items of built-in kinds carry no apiVersion and kind, those of custom resources do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from keda_py.clock import Clock
from keda_py.localkube.builtin.conversions import from_storage
from keda_py.localkube.model.calls import Call
from keda_py.localkube.printing.tables import build_table
from keda_py.schema.resources import Obj, Resource

_METADATA_LIST, _METADATA = "as=PartialObjectMetadataList", "as=PartialObjectMetadata"


def in_version(resource: Resource, obj: Obj) -> Obj:
    """Convert a stored object to the resource's version."""
    if obj.get("apiVersion") == resource.api_version:
        return obj
    return {**from_storage(resource, obj), "kind": resource.kind, "apiVersion": resource.api_version}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The form in which a request wants its objects; the clock dates the ages of a Table."""

    resource: Resource
    form: str
    clock: Clock

    @classmethod
    def of(cls, call: Call, resource: Resource, clock: Clock) -> "View":
        """Choose the first form of the Accept header that this server supports."""
        for choice in call.accept.split(","):
            for form in ("as=Table", _METADATA_LIST, _METADATA):
                if form in choice and "protobuf" not in choice:
                    return cls(resource=resource, form=form, clock=clock)
            if "json" in choice:
                break
        return cls(resource=resource, form="", clock=clock)

    def one(self, obj: Obj) -> Obj:
        """Render one object."""
        if self.form == "as=Table":
            return self._table([obj], {"resourceVersion": obj["metadata"]["resourceVersion"]})
        if self.form:
            return _metadata_of(obj, _METADATA)
        return in_version(self.resource, obj)

    def many(self, objects: Sequence[Obj], metadata: Obj) -> Obj:
        """Render a list."""
        if self.form == "as=Table":
            return self._table(objects, metadata)
        if self.form:
            items = [_metadata_of(obj, _METADATA) for obj in objects]
            head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
            return {**head, "metadata": metadata, "items": items}
        head = {"kind": f"{self.resource.kind}List", "apiVersion": self.resource.api_version}
        return {**head, "metadata": metadata, "items": list(self._items(objects))}

    def _items(self, objects: Iterable[Obj]) -> Iterable[Obj]:
        if self.resource.custom:
            return (in_version(self.resource, obj) for obj in objects)
        converted = (from_storage(self.resource, obj) for obj in objects)
        return ({k: v for k, v in obj.items() if k not in ("kind", "apiVersion")} for obj in converted)

    def _table(self, objects: Sequence[Obj], metadata: Obj) -> Obj:
        return {**build_table(self.resource, objects, self.clock.now()), "metadata": metadata}


def _metadata_of(obj: Obj, form: str) -> Obj:
    return {"kind": form.removeprefix("as="), "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
