"""Defaults: the fields that decoding adds to an object.

They come from the schema's `default`s and, for built-in kinds, from rules about other fields (`builtin_defaults`: an
image without a tag is always pulled). Called between `schemas.prune` and `validation.validate`. Nothing is changed in
place.
"""

from typing import Any

from keda_py.schema.builtin_defaults import complete
from keda_py.schema.canonical import canonical
from keda_py.schema.resources import Obj
from keda_py.schema.schemas import Schema, is_builtin, rooted


def apply_defaults(obj: Obj, schema: Schema) -> Obj:
    """Fill in all defaults; a null counts as an absent field unless the schema has `nullable`."""
    filled: Obj = _fill(obj, rooted(schema))
    return complete(filled) if is_builtin(schema) else filled


def _fill(value: Any, schema: Schema) -> Any:
    if isinstance(value, dict):
        return _fill_object(value, schema)
    if isinstance(value, list):
        items = schema.get("items")
        return [_fill(item, items) for item in value] if isinstance(items, dict) else value
    return canonical(value, schema["x-canonical"]) if "x-canonical" in schema else value


def _fill_object(obj: Obj, schema: Schema) -> Obj:
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    filled: Obj = {}
    for key, value in obj.items():
        shape = properties.get(key, others)
        if not isinstance(shape, dict):
            filled[key] = value
        elif value is not None or shape.get("nullable"):
            filled[key] = _fill(value, shape)
    for key, shape in properties.items():
        if "default" in shape and key not in filled:
            filled[key] = _fill(shape["default"], shape)
    return filled
