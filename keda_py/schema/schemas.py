"""Structural schemas: what a kind's fields are, and the removal of fields that it does not have.

A `Schema` is OpenAPI v3 as a plain dict with `x-kubernetes-*` extensions: the `openAPIV3Schema` of a CRD version, or
what `builtin_schemas.schema_of` returns. The server decodes a body in this order: `decoding.check_types`, `prune`,
`defaults.apply_defaults`, `validation.validate`. Nothing is changed in place; what needs no change is returned as is.
"""

from typing import Any, TypeAlias

from keda_py.schema.meta import OBJECT_META
from keda_py.schema.resources import Obj

Schema: TypeAlias = dict[str, Any]


def property_schema(schema: Schema, key: str) -> Schema:
    """The schema of one field; empty where the parent does not know it."""
    found = (schema.get("properties") or {}).get(key)
    if found is None:
        found = schema.get("additionalProperties")
    return found if isinstance(found, dict) else {}


def is_open(schema: Schema) -> bool:
    """Whether fields that the schema does not name are kept."""
    return bool(schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("additionalProperties") is True)


def is_builtin(schema: Schema) -> bool:
    """Whether the schema is one of ours, for a kind of Kubernetes itself; custom resources never carry the mark."""
    return "x-kubernetes-group-version-kind" in schema


def prune(obj: Obj, schema: Schema) -> tuple[Obj, list[str]]:
    """The object without unknown fields, and their paths (`spec.triggers[0].typo`), in the object's order.

    The paths are what `fieldValidation=Strict` complains about: `unknown field "spec.typo"`.
    """
    dropped: list[str] = []
    return _prune_object(obj, rooted(schema), "", dropped), dropped


def rooted(schema: Schema) -> Schema:
    """A custom resource's schema with what every object has; built-in kinds have it already."""
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
    return pruned if changed else obj


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
