"""Steps into JSON of which the shape is known: each is an error where the answer has another shape.

What uses them may run in another process (`ScalerContext.parse`), so this file imports little.
"""

from collections.abc import Mapping
from typing import TypeGuard

from keda_py.errors import ScalerError


def mapping(value: object) -> Mapping[str, object]:
    """The value, if it is one. Raises ScalerError."""
    if not isinstance(value, dict):
        raise ScalerError("the answer has another shape than expected")
    return value


def listed(value: object) -> list[object]:
    """The list; none where it is null, as servers written in Go say of an empty one. Raises ScalerError."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise ScalerError("the answer has another shape than expected")
    return value


def texts(value: object) -> list[str]:
    """A list of texts. Raises ScalerError."""
    found = listed(value)
    if not all(isinstance(one, str) for one in found):
        raise ScalerError("the answer has another shape than expected")
    return [one for one in found if isinstance(one, str)]


def whole(value: object) -> int:
    """A whole number; 0 where it is missing, as in Go. Raises ScalerError."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise ScalerError("the answer has another shape than expected")
    return value


def is_number(value: object) -> TypeGuard[int | float]:
    """True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
