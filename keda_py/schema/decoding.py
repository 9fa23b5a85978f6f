"""Type checks in the manner of Go's decoder: the first mismatch ends decoding with 400, before any validation.

Built-in kinds are decoded whole; of a custom resource only `metadata` is (`validation` checks the rest, with 422). The
server calls `check_types` first; all later code may rely on the types of built-in kinds.
"""

from collections.abc import Callable
from typing import Any

from keda_py.schema.builtin_kinds import OBJECT_META
from keda_py.schema.canonical import is_quantity, is_time
from keda_py.schema.resources import Obj
from keda_py.schema.schemas import Schema, is_builtin, property_schema
from keda_py.schema.status import bad_request

_INT_LIMITS = {"int32": 2**31, "int64": 2**63}
_STRUCTS = {"containers": "Container", "initContainers": "Container", "env": "EnvVar", "metadata": "ObjectMeta"}
_QUANTITY_PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"


class _Mismatch(Exception):
    """A mismatch, with the text of Go's decoding error."""


def check_types(obj: Obj, schema: Schema) -> None:
    """Raise StatusError 400 for a field whose JSON type does not fit its Go type."""
    kind = str(obj.get("kind", ""))
    try:
        if is_builtin(schema):
            _check(obj, schema, (), kind)
        else:
            _check(obj.get("metadata"), OBJECT_META, ("metadata",), "ObjectMeta")
    except _Mismatch as mismatch:
        version = str(obj.get("apiVersion", "")).rpartition("/")[2]
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {mismatch}') from None


_ZEROS: dict[str, Callable[[], Any]] = {"object": dict, "string": str, "integer": int, "boolean": bool}


def replace_nulls(obj: Obj, schema: Schema) -> Obj:
    """Replace nulls in lists by the zero value of their items, as Go's decoder does."""
    if is_builtin(schema):
        completed: Obj = _replace_nulls(obj, schema)
        return completed
    return {**obj, "metadata": _replace_nulls(obj.get("metadata"), OBJECT_META)} if "metadata" in obj else obj


def _replace_nulls(value: Any, schema: Schema) -> Any:
    if isinstance(value, dict):
        return {key: _replace_nulls(child, property_schema(schema, key)) for key, child in value.items()}
    items = schema.get("items")
    if not isinstance(value, list) or not isinstance(items, dict):
        return value
    zero = _ZEROS.get(items.get("type", ""), lambda: None)
    return [_replace_nulls(item, items) if item is not None else zero() for item in value]


def _check(value: Any, schema: Schema, path: tuple[str, ...], struct: str) -> None:
    # Go decodes null as an absent field, whatever the field's type.
    if value is None:
        return
    if form := schema.get("x-canonical"):
        _check_form(value, form)
    wanted = schema.get("type")
    if wanted is not None and not _fits(value, wanted, schema.get("format", "")):
        _refuse(value, schema, path, struct)
    if isinstance(value, dict):
        known = schema.get("properties") or {}
        for key, child in value.items():
            if shape := property_schema(schema, key):  # Go leaves keys of maps out of the path
                _check(child, shape, (*path, key) if key in known else path, _struct_of(path, struct))
    elif isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for item in value:
            _check(item, items, path, struct)


def _struct_of(path: tuple[str, ...], struct: str) -> str:
    """The name of the Go struct of the fields at `path`: a known one, else kind and field (DeploymentSpec)."""
    if not path:
        return struct
    return _STRUCTS.get(path[-1], f"{struct}{path[-1][:1].upper()}{path[-1][1:]}" if len(path) == 1 else struct)


def _fits(value: Any, wanted: str, form: str) -> bool:
    match wanted:
        case "integer":
            whole = isinstance(value, int) and not isinstance(value, bool)
            limit = _INT_LIMITS.get(form, 2**63)
            return whole and -limit <= value < limit
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return True


def _refuse(value: Any, schema: Schema, path: tuple[str, ...], struct: str) -> None:
    targets = {
        "integer": schema.get("format", "int64"),
        "boolean": "bool",
        "array": f"[]v1.{_title(path)}",
        "object": f"v1.{_title(path)}",
    }
    target = targets.get(schema["type"], schema["type"])
    field = f"{struct}.{'.'.join(path)}"
    raise _Mismatch(f"json: cannot unmarshal {_go_name(value)} into Go struct field {field} of type {target}")


def _title(path: tuple[str, ...]) -> str:
    last = path[-1] if path else ""
    return _STRUCTS.get(last, last[:1].upper() + last[1:])


def _go_name(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return f"number {value}" if abs(value) >= 2**31 else "number"
        case float():
            return f"number {value}"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _check_form(value: Any, form: str) -> None:
    """Raise _Mismatch for an invalid quantity or time."""
    if form == "quantity":
        if not is_quantity(value):
            raise _Mismatch(f"quantities must match the regular expression '{_QUANTITY_PATTERN}'")
    elif isinstance(value, str) and not is_time(value):
        layout = "2006-01-02T15:04:05.000000Z07:00" if form == "micro-time" else "2006-01-02T15:04:05Z07:00"
        raise _Mismatch(f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"')
