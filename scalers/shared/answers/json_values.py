"""Values of JSON, checked step by step: a missing one is None, one of another kind than expected is an error.

Next to it, `json_fields.py` reads the fields of objects whose servers leave out zeros.
"""

from collections.abc import Mapping
from typing import Final, TypeGuard

from keda_py.core.documents.json_values import INLINE_BYTES, at, read_json
from keda_py.errors import ScalerError

__all__ = [
    "INLINE_BYTES",
    "LONGEST_TEXT",
    "at",
    "is_number",
    "items_of",
    "mapping",
    "number_or_none",
    "read_json",
    "short_text",
    "texts_of",
    "whole_or_none",
]

LONGEST_TEXT: Final = 400
"""Characters of a text that is shown, or could be a number."""

_MOST: Final = 2**63


def mapping(value: object) -> Mapping[str, object]:
    """The value, if it is one. Raises ScalerError."""
    if not isinstance(value, dict):
        raise ScalerError("the answer has another shape than expected")
    return value


def items_of(value: object, name: str) -> list[object]:
    """A list; missing and null are an empty one. Raises ScalerError for anything else."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise ScalerError(f"{name} in the answer is not a list")
    return value


def texts_of(value: object, name: str) -> list[str]:
    """A list of texts, as `items_of`. Raises ScalerError."""
    found = items_of(value, name)
    texts = [one for one in found if isinstance(one, str)]
    if len(texts) < len(found):
        raise ScalerError(f"{name} in the answer is not a list of texts")
    return texts


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell numbers from True and False, which Python calls int."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def number_or_none(value: object, name: str) -> float | None:
    """A number; None where it is missing or null. Raises ScalerError for a text, a truth, a list."""
    if value is None:
        return None
    if not is_number(value):
        raise ScalerError(f"{name} in the answer is not a number")
    return float(value)


def whole_or_none(value: object, name: str) -> int | None:
    """A whole number of 64 bits; None where it is missing or null. Raises ScalerError."""
    if value is None:
        return None
    if type(value) is not int or not -_MOST <= value < _MOST:
        raise ScalerError(f"{name} in the answer is not a whole number")
    return value


def short_text(value: object) -> str:
    """A text of the source's own, cut where it is long; "" for anything else."""
    return value[:LONGEST_TEXT] if isinstance(value, str) else ""
