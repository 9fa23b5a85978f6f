"""Fields of a JSON object, of the types that servers written in Go and Erlang mean; another type is an error.

What is missing or null is 0, "" or nothing, as such servers write it; `json_values.py` leaves it None.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from keda_py.errors import ScalerError
from scalers.shared.answers import json_values
from scalers.shared.answers.json_values import INLINE_BYTES, read_json

__all__ = ["INLINE_BYTES", "Object", "child", "children", "json_object", "number", "string", "whole", "whole_or_none"]

Object: TypeAlias = Mapping[str, object]


def json_object(text: bytes) -> Object:
    """Parse an answer that is an object. Raises ScalerError."""
    document = read_json(text)
    if not isinstance(document, dict):
        raise ScalerError("the answer is JSON, but no object")
    return document


def whole(item: Object, name: str) -> int:
    """Read a whole number of 64 bits, 0 if missing. Raises ScalerError."""
    return whole_or_none(item, name) or 0


def whole_or_none(item: Object, name: str) -> int | None:
    """Read a whole number of 64 bits, None if missing or null. Raises ScalerError."""
    return json_values.whole_or_none(item.get(name), name)


def number(item: Object, name: str) -> float:
    """Read a number, 0 if missing. Raises ScalerError."""
    return json_values.number_or_none(item.get(name), name) or 0.0


def string(item: Object, name: str) -> str:
    """Read a text, "" if missing. Raises ScalerError."""
    value = item.get(name)
    if value is not None and not isinstance(value, str):
        raise ScalerError(f"{name} in the answer is not text")
    return value or ""


def child(item: Object, name: str) -> Object:
    """Read an object, empty if missing. Raises ScalerError."""
    value = item.get(name)
    if value is not None and not isinstance(value, dict):
        raise ScalerError(f"{name} in the answer is not an object")
    return value or {}


def children(item: Object, name: str) -> Sequence[Object]:
    """Read a list of objects, empty if missing. Raises ScalerError."""
    value = item.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ScalerError(f"{name} in the answer is not a list of objects")
    return value
