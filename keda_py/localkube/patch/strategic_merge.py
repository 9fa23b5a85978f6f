"""Strategic merge patch: lists merge by key, as kubectl apply, set and rollout send it for built-in kinds.

The schema has the rules: `x-kubernetes-patch-strategy` (merge, retainKeys) and `x-kubernetes-patch-merge-key`.
Supported directives: `$patch` (merge, replace, delete), `$retainKeys`, `$setElementOrder/F`,
`$deleteFromPrimitiveList/F`. Custom resources have no strategic merge. The caller decodes the result: `schemas.prune`,
`apply_defaults`.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import orjson

from keda_py.schema.resources import Obj
from keda_py.schema.schemas import Schema, property_schema
from keda_py.schema.status import StatusError, bad_request

_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"


def strategic_merge(obj: Obj, patch: Obj, schema: Schema) -> Obj:
    """Merge `patch` into `obj`. Raises StatusError 400 for an invalid directive, 500 for a missing merge key."""
    match patch.get("$patch"):
        case None | "merge":
            pass
        case "replace":
            return {key: value for key, value in patch.items() if key != "$patch"}
        case "delete":
            return {}
        case other:
            raise bad_request(f"unknown patch type: {other}")
    merged = _retain(dict(obj), patch)
    # Orders are applied last, when the lists that they sort have their merged items.
    orders = {key.removeprefix(_ORDER): _list(key, value) for key, value in patch.items() if key.startswith(_ORDER)}
    for key, value in patch.items():
        if key.startswith(_DELETE):
            field = key.removeprefix(_DELETE)
            merged[field] = [item for item in merged.get(field) or [] if item not in _list(key, value)]
        elif not key.startswith("$"):
            _merge_field(merged, key, value, schema)
    for field, order in orders.items():
        if isinstance(merged.get(field), list):
            merge_key = property_schema(schema, field).get("x-kubernetes-patch-merge-key", "")
            merged[field] = ordered(merged[field], order, obj.get(field) or [], _by(merge_key))
    return merged


def _retain(obj: Obj, patch: Obj) -> Obj:
    """Apply `$retainKeys`: a union such as a Deployment's strategy loses the members that the patch omits."""
    if "$retainKeys" not in patch:
        return obj
    keep = _list("$retainKeys", patch["$retainKeys"])
    stray = [key for key in patch if not key.startswith("$") and key not in keep]
    if stray:
        raise bad_request("invalid patch format of retainKeys: the patch sets a key that the list does not retain")
    return {key: value for key, value in obj.items() if key in keep}


def _list(directive: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise bad_request(f"invalid patch format of {directive}: it must be a list")
    return value


def _merge_field(merged: Obj, key: str, value: Any, schema: Schema) -> None:
    shape = property_schema(schema, key)
    before = merged.get(key)
    strategies = shape.get("x-kubernetes-patch-strategy", "").split(",")
    if value is None:
        merged.pop(key, None)
    elif isinstance(value, dict) and "replace" not in strategies:
        merged[key] = strategic_merge(before if isinstance(before, dict) else {}, value, shape)
    elif isinstance(value, list) and "merge" in strategies:
        merged[key] = _merge_list(before if isinstance(before, list) else [], value, shape)
    else:
        merged[key] = value


def _merge_list(before: list[Any], patch: list[Any], shape: Schema) -> list[Any]:
    merge_key = shape.get("x-kubernetes-patch-merge-key", "")
    if not merge_key:
        distinct = {_hashable(item): item for item in (*before, *patch)}
        return ordered(list(distinct.values()), patch, before, _by(""))
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if not isinstance(item, dict) or "$patch" not in item]
    merged = {_key_of(item, merge_key): item for item in before}
    items = shape.get("items", {})
    for item in patch:
        key = _key_of(item, merge_key)
        if item.get("$patch") == "delete":
            merged.pop(key, None)
        else:
            merged[key] = strategic_merge(merged.get(key, {}), item, items)
    return ordered(list(merged.values()), patch, before, _by(merge_key))


def _key_of(item: Any, merge_key: str) -> Hashable:
    if not isinstance(item, dict) or merge_key not in item:
        raise StatusError(500, "", f"map: {item} does not contain declared merge key: {merge_key}")
    return _hashable(item[merge_key])


def ordered(
    items: Sequence[Any], wanted: Sequence[Any], live: Sequence[Any], key: Callable[[Any], Hashable]
) -> list[Any]:
    """Sort the items of `wanted` in its order; the others stay before the wanted item that follows them in `live`."""
    wanted_at = {key(item): position for position, item in reversed(list(enumerate(wanted)))}
    live_at = {key(item): position for position, item in reversed(list(enumerate(live)))}
    named = sorted((item for item in items if key(item) in wanted_at), key=lambda item: wanted_at[key(item)])
    others = [item for item in items if key(item) not in wanted_at]
    result: list[Any] = []
    for item in named:
        place = live_at.get(key(item))
        while others and place is not None and live_at.get(key(others[0]), place) < place:
            result.append(others.pop(0))
        result.append(item)
    return [*result, *others]


def _by(merge_key: str) -> Callable[[Any], Hashable]:
    return lambda item: _hashable(item.get(merge_key) if merge_key and isinstance(item, dict) else item)


def _hashable(value: Any) -> Hashable:
    """Make a key of any JSON value: patches may state lists and maps where scalars are due."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS) if isinstance(value, list | dict) else value
