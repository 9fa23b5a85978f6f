"""JSON answers of sources: parse the document, and pick one value.

May run in another process (`ScalerContext.parse`), so it imports little.
"""

from collections.abc import Sequence
from typing import Final

import orjson

from keda_py.errors import ScalerError

# Bytes of an answer to parse on the loop; a longer one may take more than 10 ms: a megabyte of `[],` takes 80 ms.
INLINE_BYTES: Final = 32 * 1024

Step = str | int


def read_json(text: bytes | str) -> object:
    """Parse a document. Raises ScalerError, which never repeats the text."""
    try:
        document: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ScalerError("the answer is not JSON") from None
    return document


def at(value: object, *steps: Step) -> object:
    """Follow names of mappings and indexes of lists; None if missing."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def required_at(text: bytes, steps: Sequence[Step]) -> object:
    """Return the value at a path. Raises ScalerError if it is missing or null, since "do not know" is never 0."""
    found = at(read_json(text), *steps)
    if found is None:
        raise ScalerError(f"the answer has nothing at {'.'.join(map(str, steps)) or 'its top'}")
    return found
