"""The rest of an object that the schema refuses, so that one run tells all its mistakes.

A refused value is taken out; where it is required, a short one of the right type takes its place. A mistake that is
then found about such a value, or about the map or list that holds it, may come from the mending: `is_beside` says
which mistakes do not.
"""

from collections.abc import Collection, Iterator
from copy import deepcopy
from typing import Any

import re2

from keda_py.schema.defaults import apply_defaults
from keda_py.schema.schemas import Schema, property_schema, prune
from keda_py.schema.validation import check_structure, is_within

# A value that is put in may need others below it; the schemas are less deep than this.
_ROUNDS = 8
_SHORT: dict[str, Any] = {"object": {}, "array": [], "string": "x", "integer": 1, "number": 1, "boolean": False}


def mend(body: dict[str, Any], schema: Schema) -> tuple[dict[str, Any], frozenset[str]] | None:
    """The object without the values that the schema refuses, and their fields; None if it cannot be mended."""
    mended = deepcopy(prune(body, schema)[0])
    touched: set[str] = set()
    for _ in range(_ROUNDS):
        refused = {cause.field for cause in check_structure(apply_defaults(mended, schema), schema)}
        if not refused:
            return mended, frozenset(touched)
        if refused <= touched or "<nil>" in refused or any(field.startswith("metadata") for field in refused):
            return None
        for field in refused:
            touched.add(field)
            _mend_field(mended, schema, field)
    return None


def is_beside(field: str, touched: Collection[str]) -> bool:
    """Whether a mistake of `field` is about none of these fields, nothing in them, and nothing that holds one."""
    return not any(is_within(field, one) or is_within(one, field) for one in touched)


def _mend_field(body: dict[str, Any], schema: Schema, field: str) -> None:
    """Walk to the field, as far as the object goes: names with dots, as in labels, end the walk at their map."""
    at: Any = body
    steps = list(_steps(field))
    for number, step in enumerate(steps):
        inner = property_schema(schema, step) if isinstance(step, str) else schema.get("items") or {}
        there = step in at if isinstance(step, str) else step < len(at)
        last = number == len(steps) - 1
        if last or not there or not isinstance(at[step], dict | list):
            if isinstance(step, str) and step not in (schema.get("required") or ()):
                at.pop(step, None)
            elif isinstance(step, str) or there:
                at[step] = _stand_in(inner)
            return
        at, schema = at[step], inner


def _stand_in(schema: Schema) -> Any:
    if allowed := schema.get("enum"):
        return allowed[0]
    return deepcopy(_SHORT.get(schema.get("type", ""), "x"))


def _steps(field: str) -> Iterator[str | int]:
    for name, index in re2.findall(r"([^.\[\]]+)|\[(\d+)\]", field):
        yield name or int(index)
