"""Server-side apply: merge by ownership, with managedFields and conflicts.

`server_side_apply` is called for PATCH with `application/apply-patch+yaml`; `note_update` after every other write, so
that an applier loses the fields that another manager changes. The algebra is in `field_sets`. managedFields has one
entry for each applier, and one for each updater once any manager has applied (before that none can conflict).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from keda_py.apis.foreign import map_at, maps_at, text_at
from keda_py.localkube.patch import field_sets
from keda_py.localkube.patch.field_sets import FieldSet, Path
from keda_py.localkube.patch.strategic_merge import ordered
from keda_py.schema.resources import Obj
from keda_py.schema.schemas import Schema, property_schema, prune, rooted
from keda_py.schema.status import StatusError

# Identity and bookkeeping are not owned by any manager.
_STRIPPED: FieldSet = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    }
)


_MISSING: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """The writer of a request: its fieldManager, apiVersion, subresource and time (RFC 3339)."""

    manager: str
    api_version: str
    now: str
    subresource: str = ""

    def ownership(self, operation: str, fields: FieldSet) -> "Ownership":
        """Build the writer's entry in managedFields."""
        return Ownership(
            manager=self.manager,
            operation=operation,
            api_version=self.api_version,
            time=self.now,
            fields=fields,
            subresource=self.subresource,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """One entry of managedFields: a manager, its kind of write, and the fields that it owns."""

    manager: str
    operation: str
    api_version: str
    time: str
    fields: FieldSet
    subresource: str = ""

    @property
    def identity(self) -> tuple[str, str, str]:
        """Writes of the same identity share an entry."""
        return self.manager, self.operation, self.subresource

    def entry(self) -> Obj:
        """Encode the entry for the wire."""
        head = {"manager": self.manager, "operation": self.operation, "apiVersion": self.api_version, "time": self.time}
        tail = {"subresource": self.subresource} if self.subresource else {}
        return {**head, "fieldsType": "FieldsV1", "fieldsV1": field_sets.encode(self.fields), **tail}

    def describe(self) -> str:
        """Describe the manager as conflict messages do."""
        name = f'"{self.manager}"'
        if self.operation == "Apply":
            return name
        via = f' with subresource "{self.subresource}"' if self.subresource else ""
        return f"{name}{via} using {self.api_version}"


def ownerships(obj: Obj) -> list[Ownership]:
    """Parse an object's managedFields."""
    return [
        Ownership(
            manager=text_at(entry, "manager"),
            operation=text_at(entry, "operation") or "Update",
            api_version=text_at(entry, "apiVersion"),
            time=text_at(entry, "time"),
            fields=field_sets.decode(map_at(entry, "fieldsV1")),
            subresource=text_at(entry, "subresource"),
        )
        for entry in maps_at(obj, "metadata", "managedFields")
    ]


def server_side_apply(live: Obj | None, applied: Obj, *, writer: Writer, force: bool, schema: Schema) -> Obj:
    """Apply the writer's statement `applied` to `live`; None creates the object.

    The result lacks defaults: decode it as any other. Raises StatusError 409 with every field that another manager owns
    with another value, unless `force` takes these over.
    """
    schema = rooted(schema)
    _, unknown = prune(applied, schema)
    if unknown:
        raise _untyped(applied, [f".{path}: field not declared in schema" for path in unknown])
    try:
        return _apply(live or {}, applied, writer, schema, force=force)
    except field_sets.OmittedKey as error:
        raise _untyped(applied, [str(error)]) from None


def _untyped(applied: Obj, problems: Sequence[str]) -> StatusError:
    """Build the refusal of fields without a schema: apply has to know the type of every field."""
    metadata = applied.get("metadata") or {}
    name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    kind = f"{applied.get('apiVersion')}, Kind={applied.get('kind')}"
    text = problems[0] if len(problems) == 1 else "errors:\n" + "\n".join(f"  {problem}" for problem in problems)
    return StatusError(500, "", f"failed to create typed patch object ({name}; {kind}): {text}")


def _apply(live: Obj, applied: Obj, writer: Writer, schema: Schema, *, force: bool) -> Obj:
    before = field_sets.values_of(live, schema)
    stated = {path: v for path, v in field_sets.values_of(applied, schema).items() if path not in _STRIPPED}
    changed = frozenset(path for path, value in stated.items() if before.get(path, _MISSING) != value)
    own = writer.ownership("Apply", frozenset(stated))
    owners = ownerships(live)
    others = [owner for owner in owners if owner.identity != own.identity]
    if not force:
        _refuse_conflicts(others, changed)
    # Only with `force` is there anything to take: otherwise a conflict has been raised.
    others = _without(others, changed)
    previous = next((owner for owner in owners if owner.identity == own.identity), None)
    merged: Obj = _merge(live, applied, schema)
    if previous is not None:
        # Fields that the applier no longer states go, unless another manager owns them: this is how apply deletes.
        given_up = previous.fields - own.fields
        merged = _remove(merged, _unowned(given_up, [own, *others]), schema)
        # An apply that changes nothing keeps its time, or each repeat would be a write and an event to all watchers.
        own = replace(own, time=previous.time) if not changed and previous.fields == own.fields else own
    return _with_owners(merged, [own, *others] if own.fields else others)


def _refuse_conflicts(others: Sequence[Ownership], changed: FieldSet) -> None:
    """Raise StatusError 409 if another manager owns a field that would change."""
    found = [
        (owner.describe(), field_sets.format_path(path)) for owner in others for path in sorted(owner.fields & changed)
    ]
    if not found:
        return
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {owner}", "field": path} for owner, path in found
    ]
    if len(found) == 1:
        text = f"Apply failed with 1 conflict: conflict with {found[0][0]}: {found[0][1]}"
    else:
        lines: list[str] = []
        for owner, paths in groupby(sorted(found), key=lambda pair: pair[0]):
            lines += [f"conflicts with {owner}:", *(f"- {path}" for _, path in paths)]
        text = f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
    raise StatusError(409, "Conflict", text, {"causes": causes})


def _without(owners: Sequence[Ownership], fields: FieldSet) -> list[Ownership]:
    """Remove `fields` from all owners; those without any left are dropped."""
    left = [replace(owner, fields=owner.fields - fields) for owner in owners]
    return [owner for owner in left if owner.fields]


def _unowned(fields: FieldSet, owners: Sequence[Ownership]) -> FieldSet:
    """The fields that no manager owns, neither themselves nor anything below them."""
    held = {path[:length] for owner in owners for path in owner.fields for length in range(1, len(path) + 1)}
    return fields - held


def _with_owners(obj: Obj, owners: Sequence[Ownership]) -> Obj:
    entries = sorted(owners, key=lambda owner: (owner.operation, owner.time, owner.manager))
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k != "managedFields"}
    if entries:
        metadata["managedFields"] = [owner.entry() for owner in entries]
    return {**obj, "metadata": metadata}


def _merge(live: Any, applied: Any, schema: Schema) -> Any:
    """Merge `applied` into `live`: maps and keyed lists merge, everything else replaces."""
    if type(live) is not type(applied) or field_sets.is_atomic(applied, schema):
        return applied
    if isinstance(applied, dict):
        return live | {key: _merge(live.get(key), v, property_schema(schema, key)) for key, v in applied.items()}
    if isinstance(applied, list):
        return _merge_list(live, applied, schema)
    return applied


def _merge_list(live: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    def segment(item: Any) -> str:
        return field_sets.item_segment(item, schema)

    merged = {segment(item): item for item in live}
    for item in applied:
        merged[segment(item)] = _merge(merged.get(segment(item)), item, schema.get("items", {}))
    return ordered(list(merged.values()), applied, live, segment)


def _remove(value: Any, paths: FieldSet, schema: Schema) -> Any:
    """Remove the fields at `paths`; a map or list that becomes empty is removed, too."""
    below: dict[str, set[Path]] = {}
    for path in paths:
        below.setdefault(path[0], set()).add(path[1:])
    if not below or field_sets.is_atomic(value, schema):
        return value
    if isinstance(value, dict):
        kept = {
            key: _removed(child, below.get(f"f:{key}"), property_schema(schema, key)) for key, child in value.items()
        }
        return {key: child for key, child in kept.items() if child is not _MISSING}
    if isinstance(value, list):
        items = schema.get("items", {})
        children = [_removed(item, below.get(field_sets.item_segment(item, schema)), items) for item in value]
        return [child for child in children if child is not _MISSING]
    return value


def _removed(child: Any, paths: set[Path] | None, schema: Schema) -> Any:
    if not paths:
        return child
    if () in paths:
        return _MISSING
    left = _remove(child, frozenset(paths), schema)
    return _MISSING if left in ({}, []) else left


def note_update(live: Obj, new: Obj, *, writer: Writer, schema: Schema) -> Obj:
    """Update the ownership after a write other than apply: the writer takes the fields that it changed.

    Without appliers nothing is recorded. A client that omits managedFields keeps them, one that empties them resets
    them.
    """
    owners = ownerships(live)
    sent = (new.get("metadata") or {}).get("managedFields")
    if not owners or sent in ([], [{}]):
        return _with_owners(new, []) if sent is not None else new
    schema = rooted(schema)
    before, after = field_sets.values_of(live, schema), field_sets.values_of(new, schema)
    changed = frozenset(path for path, value in after.items() if before.get(path, _MISSING) != value) - _STRIPPED
    removed = frozenset(before.keys() - after.keys()) - _STRIPPED
    if not changed and not removed:
        return _with_owners(new, owners)
    own = writer.ownership("Update", changed)
    known = frozenset(path for owner in owners if owner.identity == own.identity for path in owner.fields)
    others = _without([owner for owner in owners if owner.identity != own.identity], changed | removed)
    own = replace(own, fields=(known | changed) - removed)
    return _with_owners(new, [own, *others] if own.fields else others)
