"""Fields of a JSON object, of the types that servers written in Go and Erlang mean; another type is an error.

What is missing or null is 0, "" or nothing, as such servers write it.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import orjson

from keda_py.errors import ScalerError

INLINE_BYTES: Final = 32 * 1024
"""A longer answer may take more than 10 ms."""
_MOST = 2**63

Object: TypeAlias = Mapping[str, object]


def json_object(text: bytes) -> Object:
    """The whole answer. Raises ScalerError."""
    try:
        document: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ScalerError("the answer is not JSON") from None
    if not isinstance(document, dict):
        raise ScalerError("the answer is JSON, but no object")
    return document


def whole(item: Object, name: str) -> int:
    """A whole number of 64 bits. Raises ScalerError."""
    value = item.get(name)
    if value is None:
        return 0
    if type(value) is not int or not -_MOST <= value < _MOST:
        raise ScalerError(f"{name} in the answer is not a whole number")
    return value


def whole_or_none(item: Object, name: str) -> int | None:
    """As `whole`; None, not 0, if missing or null. Raises ScalerError."""
    return None if item.get(name) is None else whole(item, name)


def number(item: Object, name: str) -> float:
    """Any number. Raises ScalerError."""
    value = item.get(name)
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScalerError(f"{name} in the answer is not a number")
    return float(value)


def string(item: Object, name: str) -> str:
    """A text. Raises ScalerError."""
    value = item.get(name)
    if value is not None and not isinstance(value, str):
        raise ScalerError(f"{name} in the answer is not text")
    return value or ""


def child(item: Object, name: str) -> Object:
    """An object. Raises ScalerError."""
    value = item.get(name)
    if value is not None and not isinstance(value, dict):
        raise ScalerError(f"{name} in the answer is not an object")
    return value or {}


def children(item: Object, name: str) -> Sequence[Object]:
    """A list of objects. Raises ScalerError."""
    value = item.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ScalerError(f"{name} in the answer is not a list of objects")
    return value
