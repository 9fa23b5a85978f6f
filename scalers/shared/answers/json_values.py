"""JSON, picked apart step by step: what is missing is None, what is of another kind than it should be is an error."""

from typing import Final

import orjson

from keda_py.errors import ScalerError

INLINE_BYTES: Final = 32 * 1024
"""A longer answer may take more than 10 ms."""
LONGEST_TEXT: Final = 400
"""Characters of a text that is shown, or could be a number."""

Step = str | int


def read_json(text: bytes | str) -> object:
    """The document. Raises ScalerError, which never repeats the text."""
    try:
        document: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ScalerError("the answer is not JSON") from None
    return document


def at(value: object, *steps: Step) -> object:
    """What is there, by names of mappings and indexes of lists; None if missing."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def items_of(value: object, name: str) -> list[object]:
    """A list; missing and null are an empty one. Raises ScalerError for anything else."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise ScalerError(f"{name} in the answer is not a list")
    return value


def number_or_none(value: object, name: str) -> float | None:
    """A number; None where it is missing or null. Raises ScalerError for a text, a truth, a list."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScalerError(f"{name} in the answer is not a number")
    return float(value)


def short_text(value: object) -> str:
    """A text of the source's own, cut where it is long; "" for anything else."""
    return value[:LONGEST_TEXT] if isinstance(value, str) else ""
