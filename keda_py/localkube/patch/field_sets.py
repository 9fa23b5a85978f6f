"""Sets of field paths, the currency of server-side apply, and their wire form FieldsV1.

A path is a tuple of FieldsV1 segments: `f:spec`, `k:{"name":"c"}` (list item by key), `v:"a"` (item of a set). A
`FieldSet` is a frozenset of paths, so union, difference and intersection are Python's own. `values_of` says which
fields an applied object states: every leaf, every keyed list item, and atomic lists and maps as one.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import orjson

from keda_py.apis.foreign import map_at
from keda_py.schema.resources import Obj
from keda_py.schema.schemas import Schema, property_schema

Path: TypeAlias = tuple[str, ...]
FieldSet: TypeAlias = frozenset[Path]


class OmittedKey(Exception):
    """An item of a keyed list lacks a key that has no default."""


def decode(fields: Obj) -> FieldSet:
    """The set that a `fieldsV1` object stands for."""
    return frozenset(_decode(fields, ()))


def _decode(node: Obj, path: Path) -> Iterator[Path]:
    if path and (not node or "." in node):
        yield path
    for segment in node:
        if segment != ".":
            yield from _decode(map_at(node, segment), (*path, segment))


def encode(paths: FieldSet) -> Obj:
    """The `fieldsV1` object of a set; a member that has members below it carries a dot."""
    root: Obj = {}
    for path in sorted(paths):
        node = root
        for segment in path:
            node = node.setdefault(segment, {})
    for path in paths:
        node = root
        for segment in path:
            node = node[segment]
        if node and "." not in node:
            members = dict(node)
            node.clear()
            node.update({".": {}, **members})
    return root


def values_of(obj: Obj, schema: Schema) -> dict[Path, Any]:
    """Every field that `obj` states, with its value; an item of a keyed list stands for its presence alone."""
    return dict(_values(obj, schema, ()))


def _values(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and not is_atomic(value, schema):
        for key, child in value.items():
            below = (*path, f"f:{key}")
            yield from _values(child, property_schema(schema, key), below)
            if child == {} or (isinstance(child, dict) and key not in (schema.get("properties") or {})):
                yield below, None
    elif isinstance(value, list) and not is_atomic(value, schema):
        for item in value:
            below = (*path, item_segment(item, schema))
            if isinstance(item, dict):
                yield from _values(item, schema.get("items", {}), below)
            yield below, None
    elif path:
        yield path, value


def is_atomic(value: Any, schema: Schema) -> bool:
    """Whether a map or list has one owner as a whole: maps if the schema says so, lists unless it says otherwise."""
    if isinstance(value, list):
        return bool(schema.get("x-kubernetes-list-type", "atomic") == "atomic")
    return bool(schema.get("x-kubernetes-map-type") == "atomic")


def item_segment(item: Any, schema: Schema) -> str:
    """How a list item is named: by its keys (defaults count), or by its value in a set."""
    if schema.get("x-kubernetes-list-type") == "set":
        return f"v:{orjson.dumps(item).decode()}"
    keys = item_keys(item, schema)
    return f"k:{orjson.dumps(keys, option=orjson.OPT_SORT_KEYS).decode()}"


def item_keys(item: Any, schema: Schema) -> Obj:
    """The values that tell an item of a keyed list from the others."""
    properties = (schema.get("items") or {}).get("properties") or {}
    keys = {}
    for name in schema.get("x-kubernetes-list-map-keys", []):
        default = (properties.get(name) or {}).get("default")
        value = item.get(name, default) if isinstance(item, dict) else None
        if value is not None:
            keys[name] = value
    if not keys:
        names = ", ".join(f'"{name}"' for name in schema.get("x-kubernetes-list-map-keys", []))
        raise OmittedKey(f"associative list with keys has an element that omits key field {names}")
    return keys


def printed(path: Path) -> str:
    """A path for people: `.spec.template.spec.containers[name="c"].image`."""
    return "".join(_printed_segment(segment) for segment in path)


def _printed_segment(segment: str) -> str:
    form, _, rest = segment.partition(":")
    match form:
        case "f":
            return f".{rest}"
        case "k":
            keys = orjson.loads(rest)
            return "[" + ",".join(f"{name}={orjson.dumps(keys[name]).decode()}" for name in sorted(keys)) + "]"
        case "v":
            return f"[={rest}]"
        case _:
            return f"[{rest}]"
