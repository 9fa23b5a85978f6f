"""Structural schemas: the fields of a kind, and the removal of unknown fields.

A `Schema` is OpenAPI v3 as a plain dict with `x-kubernetes-*` extensions: the `openAPIV3Schema` of a CRD version, or
the result of `builtin_kinds.schema_of`. The server decodes a body in this order: `decoding.check_types`, `prune`,
`defaults.apply_defaults`, `validation.validate`. Nothing is changed in place; an object without changes is returned as
it is.
"""

from typing import Any, TypeAlias

from keda_py.schema.builtin_kinds import OBJECT_META
from keda_py.schema.resources import Obj

Schema: TypeAlias = dict[str, Any]


def property_schema(schema: Schema, key: str) -> Schema:
    """The schema of a field; empty if the parent does not define it."""
    found = (schema.get("properties") or {}).get(key)
    if found is None:
        found = schema.get("additionalProperties")
    return found if isinstance(found, dict) else {}


def is_open(schema: Schema) -> bool:
    """Whether fields that the schema does not define are kept."""
    return bool(schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("additionalProperties") is True)


def is_builtin(schema: Schema) -> bool:
    """Whether the schema is of a built-in kind; those of custom resources never have this mark."""
    return "x-kubernetes-group-version-kind" in schema


def prune(obj: Obj, schema: Schema) -> tuple[Obj, list[str]]:
    """Remove unknown fields; also returns their paths (`spec.triggers[0].typo`), in the object's order.

    `fieldValidation=Strict` refuses an object with the paths: `unknown field "spec.typo"`.
    """
    dropped: list[str] = []
    return _prune_object(obj, rooted(schema), "", dropped), dropped


def rooted(schema: Schema) -> Schema:
    """Add apiVersion, kind and metadata to a custom resource's schema; built-in kinds have them."""
    if is_builtin(schema):
        return schema
    return {**schema, "properties": {**(schema.get("properties") or {}), **_ROOT}}


_ROOT: Schema = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": OBJECT_META}


def _prune(value: Any, schema: Schema, path: str, dropped: list[str]) -> Any:
    if isinstance(value, dict):
        return _prune_object(value, schema, path, dropped)
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        pruned = [_prune(item, items, f"{path}[{at}]", dropped) for at, item in enumerate(value)]
        return pruned if any(new is not old for new, old in zip(pruned, value, strict=True)) else value
    return value


def _prune_object(obj: Obj, schema: Schema, path: str, dropped: list[str]) -> Obj:
    if schema.get("x-kubernetes-embedded-resource"):
        schema = rooted(schema)
    known = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    keep_others = is_open(schema)
    pruned: Obj = {}
    changed = False
    for key, value in obj.items():
        shape = known.get(key, others)
        if isinstance(shape, dict):
            pruned[key] = kept = _prune(value, shape, _joined(path, key), dropped)
            changed = changed or kept is not value
        elif keep_others:
            pruned[key] = value
        else:
            dropped.append(_joined(path, key))
            changed = True
    # The same object tells callers, without a comparison, that nothing was dropped.
    return pruned if changed else obj


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
