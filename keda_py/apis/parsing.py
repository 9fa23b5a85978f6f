"""Parsing of a JSON object into its model, with errors in plain words.

The API server has checked objects against the CRD before we see them, but a file, an older CRD or a webhook request may
hold anything. Rule: the text of a pydantic error is never shown, because it repeats values; only numbers are, and words
if the field is a choice of words.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from keda_py.errors import ConfigError

M = TypeVar("M", bound=BaseModel)

_EXPECTED = {
    "string_type": "must be text; put the value in quotes",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a map of keys and values",
    "model_type": "must be a map of keys and values",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
}

MOST_FIELD_NAMES = 1024
_FIELD_NAMES: dict[frozenset[str], set[str]] = {}
MOST_SHOWN = 10
"""Errors shown for one object."""
LONGEST_WORD = 253
"""Characters of a key or word in an error text."""


def parse_object(model: type[M], body: Mapping[str, Any]) -> M:
    """Parse an object. Raises ConfigError that names every wrong field and its remedy; `field` is the first."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=True)
        shown = [f"{_path(detail)}: {_sentence(detail)}" for detail in details[:MOST_SHOWN]]
        text = "; ".join([*shown, *([f"and {len(details) - len(shown)} more"] if len(details) > len(shown) else [])])
        field = _path(details[0])
    # Raised outside of the handler: as __context__ the pydantic error would print its input in a traceback.
    raise ConfigError(text, field=field)


def share_field_names(parsed: M) -> M:
    """Let a frozen model that is kept share the set of its given fields with equal ones: each set takes 230 bytes."""
    given = parsed.model_fields_set
    if len(_FIELD_NAMES) >= MOST_FIELD_NAMES:
        _FIELD_NAMES.clear()
    object.__setattr__(parsed, "__pydantic_fields_set__", _FIELD_NAMES.setdefault(frozenset(given), given))
    return parsed


def parse_manifest(model: type[M], body: Mapping[str, Any]) -> M:
    """Parse an object without its status, so that another client's status cannot make the object unreadable."""
    return parse_object(model, {name: value for name, value in body.items() if name != "status"})


def _path(detail: ErrorDetails) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step[:LONGEST_WORD]}" for step in detail["loc"])
    return "".join(steps).removeprefix(".") or "the object"


def _sentence(detail: ErrorDetails) -> str:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    shown = f"{value} " if _is_number(value) else ""
    match kind:
        case "missing":
            return "is required; add it"
        case "literal_error":
            word = f'"{value[:LONGEST_WORD]}" ' if isinstance(value, str) else ""
            return f"{word}is unknown; use {context['expected'].replace(chr(39), chr(34))}"
        case "too_long":
            return f"has more than {context['max_length']} entries; split the object"
        case "string_too_long":
            return f"is longer than {context['max_length']} characters"
        case "greater_than_equal":
            return f"{shown}is too low; use {context['ge']} or more"
        case "less_than_equal":
            return f"{shown}is too high; use {context['le']} or less"
        case _:
            return f"{shown}{_EXPECTED.get(kind, 'is not understood')}"


def _is_number(value: object) -> bool:
    """Return whether a value is a number that can be shown: Python refuses to print integers of many digits."""
    if isinstance(value, int):
        return not isinstance(value, bool) and value.bit_length() <= 64
    return isinstance(value, float)
