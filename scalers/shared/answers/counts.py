"""Counts in JSON answers: whole numbers, not text, fractions or truths. May run in another process."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from keda_py.errors import ScalerError

INLINE_BYTES: Final = 32 * 1024
"""A longer answer may take more than 10 ms."""


def json_object(text: bytes) -> dict[str, Any]:
    """The answer's object. Raises ScalerError for anything else, null too."""
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ScalerError("the answer is not JSON") from None
    if not isinstance(document, dict):
        raise ScalerError("the answer is JSON, but not an object")
    return document


def inner(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under a key, {} if missing. Raises ScalerError for another kind."""
    found = parent.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ScalerError(f"{key} is not an object in the answer")
    return found


def count_in(parent: Mapping[str, Any], key: str) -> int | None:
    """A whole number of 64 bits, None if missing or null. Raises ScalerError for another kind."""
    found = parent.get(key)
    if found is None:
        return None
    if not isinstance(found, int) or isinstance(found, bool):
        raise ScalerError(f"{key} is not a whole number in the answer")
    return found
