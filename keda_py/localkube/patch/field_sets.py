"""Sets of field paths, on which server-side apply computes, and their wire form FieldsV1.

A path is a tuple of FieldsV1 segments: `f:spec`, `k:{"name":"c"}` (list item by key), `v:"a"` (item of a set). A
`FieldSet` is a frozenset of paths, so union, difference and intersection are Python's own. `values_of` has the fields
that an applied object states: every leaf, every keyed list item, and each atomic list or map as one.
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
    """Decode a `fieldsV1` object to a set."""
    return frozenset(_decode(fields, ()))


def _decode(node: Obj, path: Path) -> Iterator[Path]:
    if path and (not node or "." in node):
        yield path
    for segment in node:
        if segment != ".":
            yield from _decode(map_at(node, segment), (*path, segment))


def encode(paths: FieldSet) -> Obj:
    """Encode a set as a `fieldsV1` object; a member that has members below it gets a dot."""
    root: Obj = {}
    for path in sorted(paths):
        node = root
        for segment in path:
            node = node.setdefault(segment, {})
    # A second pass, since only with all paths in place is it known which members have others below them.
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
    """All fields that `obj` states, with their values; an item of a keyed list has None, for its presence alone."""
    return dict(_values(obj, schema, ()))


def _values(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and not is_atomic(value, schema):
        for key, child in value.items():
            below = (*path, f"f:{key}")
            yield from _values(child, property_schema(schema, key), below)
            # An empty map has no leaf, and an entry of a free-form map exists by itself: both are owned as such.
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
    """Whether a map or list has one owner as a whole: by default lists do, maps do not."""
    if isinstance(value, list):
        return bool(schema.get("x-kubernetes-list-type", "atomic") == "atomic")
    return bool(schema.get("x-kubernetes-map-type") == "atomic")


def item_segment(item: Any, schema: Schema) -> str:
    """The segment of a list item: its keys (defaults included), or its value in a set."""
    if schema.get("x-kubernetes-list-type") == "set":
        return f"v:{orjson.dumps(item).decode()}"
    keys = item_keys(item, schema)
    return f"k:{orjson.dumps(keys, option=orjson.OPT_SORT_KEYS).decode()}"


def item_keys(item: Any, schema: Schema) -> Obj:
    """The keys of an item in a keyed list. Raises OmittedKey."""
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


def format_path(path: Path) -> str:
    """Format a path for messages: `.spec.template.spec.containers[name="c"].image`."""
    return "".join(_format_segment(segment) for segment in path)


def _format_segment(segment: str) -> str:
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
