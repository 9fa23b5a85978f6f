"""Validation of a decoded object: every broken rule becomes a cause, in the API server's words.

The texts differ: custom resources have OpenAPI's ("spec.x in body should be greater than or equal to 1"), built-in
kinds Go's ("must be greater than or equal to 1"). Rules beyond schemas are in `metadata_rules`, `builtin_rules`
(comparisons of fields, immutability) and `cel` (`x-kubernetes-validations`).
"""

from collections.abc import Collection, Iterator
from typing import Any

import orjson
import re2

from keda_py.schema import causes
from keda_py.schema.builtin_rules import check_builtin
from keda_py.schema.canonical import is_time
from keda_py.schema.cel import compile_rule
from keda_py.schema.cel_functions import CelError
from keda_py.schema.metadata_rules import check_metadata
from keda_py.schema.resources import Obj
from keda_py.schema.schemas import Schema, is_builtin
from keda_py.schema.status import Cause

_EMPTY: Obj = {}
_READ = re2.compile(r"\bself\.(\w+)")
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}

_BLOCKING = frozenset(f"FieldValue{kind}" for kind in ("NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid"))
"""Reasons of causes after which CEL rules are not evaluated; beside a number out of bounds they are."""
RULES_NOT_CHECKED = Cause(
    reason="FieldValueInvalid",
    message="Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
    field="<nil>",
)


def validate(obj: Obj, schema: Schema, old: Obj | None = None) -> list[Cause]:
    """All causes to refuse `obj`; `old` is the object that it replaces, None at creation."""
    found = list(check_metadata(obj, schema))
    if is_builtin(schema):
        return [*found, *_check(obj, schema, "", builtin=True), *check_builtin(obj, schema, old)]
    found += check_structure(obj, schema)
    if any(cause.reason in _BLOCKING for cause in found):
        return [*found, RULES_NOT_CHECKED] if _has_rules(schema) else found
    return [*found, *check_rules(obj, schema, "", old)]


def check_structure(obj: Obj, schema: Schema) -> Iterator[Cause]:
    """Types, bounds and required fields of a custom resource; its CEL rules are judged after these."""
    return _check(obj, schema, "", builtin=False)


def _check(value: Any, schema: Schema, path: str, *, builtin: bool) -> Iterator[Cause]:
    if value is None and schema.get("nullable"):
        return
    problem = None if builtin else _mistyped(value, schema, path)
    if problem is not None:
        yield problem
        return
    yield from _check_value(value, schema, path, builtin=builtin)
    yield from _check_alternatives(value, schema, path)
    if isinstance(value, dict):
        yield from _check_object(value, schema, path, builtin=builtin)
    elif isinstance(value, list):
        yield from _check_list(value, schema, path, builtin=builtin)


def _mistyped(value: Any, schema: Schema, path: str) -> Cause | None:
    wanted = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        wanted, fits = "integer,string", isinstance(value, int | str) and not isinstance(value, bool)
    elif wanted is None:
        return None
    else:
        fits = isinstance(value, _TYPES.get(wanted, (object,))) and not (
            isinstance(value, bool) and wanted != "boolean"
        )
        fits = fits or (wanted == "integer" and isinstance(value, float) and value.is_integer())
    if fits:
        return None
    actual = type_name(value)
    return causes.mistyped(path, actual, f'{path} in body must be of type {wanted}: "{actual}"')


def type_name(value: Any) -> str:
    """The JSON type of a value, as OpenAPI names it."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _check_value(value: Any, schema: Schema, path: str, *, builtin: bool) -> Iterator[Cause]:
    # "" is Go's zero value: for built-in kinds the check of required fields reports it.
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed and not (builtin and value == ""):
        yield causes.unsupported(path, value, allowed)
    if isinstance(value, str):
        yield from _check_text(value, schema, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _check_number(value, schema, path, builtin=builtin)


def _check_number(value: float, schema: Schema, path: str, *, builtin: bool) -> Iterator[Cause]:
    lead = "must be" if builtin else f"{path} in body should be"
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and schema.get("exclusiveMinimum") and value <= least:
        yield causes.invalid(path, value, f"{lead} greater than {least}")
    elif least is not None and value < least:
        yield causes.invalid(path, value, f"{lead} greater than or equal to {least}")
    if most is not None and schema.get("exclusiveMaximum") and value >= most:
        yield causes.invalid(path, value, f"{lead} less than {most}")
    elif most is not None and value > most:
        yield causes.invalid(path, value, f"{lead} less than or equal to {most}")
    if (step := schema.get("multipleOf")) and value % step:
        yield causes.invalid(path, value, f"{path} in body should be a multiple of {step}")


def _check_text(value: str, schema: Schema, path: str) -> Iterator[Cause]:
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if shortest is not None and len(value) < shortest:
        yield causes.invalid(path, value, f"{path} in body should be at least {shortest} chars long")
    if longest is not None and len(value) > longest:
        yield causes.too_long(path, longest)
    pattern = schema.get("pattern")
    if pattern is not None and re2.search(pattern, value) is None:
        yield causes.invalid(path, value, f"{path} in body should match '{pattern}'")
    if schema.get("format") == "date-time" and "x-canonical" not in schema and not is_time(value):
        yield causes.invalid(path, value, f"{path} in body must be of type date-time: {causes.quoted(value)}")


def _check_object(obj: Obj, schema: Schema, path: str, *, builtin: bool) -> Iterator[Cause]:
    for name in schema.get("required") or ():
        shape = (schema.get("properties") or {}).get(name) or {}
        if builtin and name not in obj and "required" in shape:  # an absent Go struct decodes as an empty one
            yield from _check(_EMPTY, shape, _joined(path, name), builtin=True)
        elif name not in obj or (builtin and obj[name] in (None, "", [])):
            yield causes.required(_joined(path, name))
    fewest, most = schema.get("minProperties"), schema.get("maxProperties")
    if fewest is not None and len(obj) < fewest:
        yield causes.invalid(path, len(obj), f"{path} in body should have at least {fewest} properties")
    if most is not None and len(obj) > most:
        yield causes.too_many(path, len(obj), most)
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for key, value in obj.items():
        shape = properties.get(key, others)
        if isinstance(shape, dict) and (path or key != "metadata"):
            yield from _check(value, shape, _joined(path, key), builtin=builtin)


def _check_list(items: list[Any], schema: Schema, path: str, *, builtin: bool) -> Iterator[Cause]:
    fewest, most = schema.get("minItems"), schema.get("maxItems")
    if fewest is not None and len(items) < fewest:
        yield causes.invalid(path, len(items), f"{path} in body should have at least {fewest} items")
    if most is not None and len(items) > most:
        yield causes.too_many(path, len(items), most)
    shape = schema.get("items")
    if isinstance(shape, dict):
        for at, item in enumerate(items):
            yield from _check(item, shape, f"{path}[{at}]", builtin=builtin)
    if not builtin:
        yield from _check_duplicates(items, schema, path)


def _check_duplicates(items: list[Any], schema: Schema, path: str) -> Iterator[Cause]:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or []
    if kind not in ("set", "map"):
        return
    seen: set[bytes] = set()
    for at, item in enumerate(items):
        key = {name: item.get(name) for name in keys} if kind == "map" and isinstance(item, dict) else item
        # JSON text is hashable and tells 1 from true, which are one key in Python.
        identity = orjson.dumps(key, option=orjson.OPT_SORT_KEYS)
        if identity in seen:
            yield causes.duplicate(f"{path}[{at}]", key)
        seen.add(identity)


def _check_alternatives(value: Any, schema: Schema, path: str) -> Iterator[Cause]:
    """Check allOf, anyOf, oneOf and not, which structural schemas allow for values only."""

    def fits(alternative: Schema) -> bool:
        return next(_check(value, alternative, path, builtin=False), None) is None

    for part in schema.get("allOf") or ():
        yield from _check(value, part, path, builtin=False)
    if (choices := schema.get("anyOf")) and not any(fits(choice) for choice in choices):
        yield causes.invalid(path, "", f'"{path}" must validate at least one schema (anyOf)')
    if choices := schema.get("oneOf"):
        matching = sum(1 for choice in choices if fits(choice))
        if matching != 1:
            found = f"Found {matching} valid alternatives" if matching else "Found none valid"
            yield causes.invalid(path, "", f'"{path}" must validate one and only one schema (oneOf). {found}')
    if (refused := schema.get("not")) is not None and fits(refused):
        yield causes.invalid(path, "", f'"{path}" must not validate the schema (not)')


def _has_rules(schema: Schema) -> bool:
    """Return whether any part of a schema has CEL rules."""
    parts = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return bool(schema.get("x-kubernetes-validations")) or any(
        _has_rules(part) for part in parts if isinstance(part, dict)
    )


def check_rules(
    value: Any, schema: Schema, path: str = "", old: Any = None, unknown: Collection[str] = ()
) -> Iterator[Cause]:
    """Check CEL rules, outer ones first; a rule about oldSelf needs a previous value.

    Rules that read one of the fields in `unknown` are left out.
    """
    for rule in schema.get("x-kubernetes-validations") or ():
        text = str(rule.get("rule", ""))
        if ("oldSelf" not in text or old is not None) and not _reads_any(text, path, unknown):
            yield from _check_rule(value, rule, path, old)
    if isinstance(value, dict):
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        for key, child in value.items():
            shape = properties.get(key, others)
            if isinstance(shape, dict):
                before = old.get(key) if isinstance(old, dict) else None
                yield from check_rules(child, shape, _joined(path, key), before, unknown)
    elif isinstance(value, list) and isinstance(shape := schema.get("items"), dict):
        for at, item in enumerate(value):
            yield from check_rules(item, shape, f"{path}[{at}]", None, unknown)


def _reads_any(rule: str, path: str, fields: Collection[str]) -> bool:
    """Whether the rule reads one of the fields: those that it calls `self.name`, else all below the path."""
    read = [_joined(path, name) for name in _READ.findall(rule)] or [path]
    return any(is_within(one, field) or is_within(field, one) for field in fields for one in read)


def is_within(inner: str, outer: str) -> bool:
    """Whether the one field is the other, or below it."""
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


def _check_rule(value: Any, rule: Obj, path: str, old: Any) -> Iterator[Cause]:
    text = str(rule["rule"])
    field = path + str(rule.get("fieldPath", ""))
    try:
        holds = compile_rule(text)({"self": value, "oldSelf": old})
    except CelError as error:
        yield causes.invalid(field, type_name(value), f"{error} evaluating rule: {rule.get('message', text)}")
        return
    if holds is not True:
        detail = str(rule.get("message") or f"failed rule: {text}").strip()
        whole = isinstance(value, dict | list)
        yield causes.broken(field or "<nil>", detail) if whole else causes.invalid(field or "<nil>", value, detail)


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
