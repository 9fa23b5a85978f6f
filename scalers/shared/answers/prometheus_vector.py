"""The answer to an instant query of Prometheus or Loki: how many series it has, and the sample of the first."""

from math import isinf
from typing import Final, TypeAlias

import orjson

from keda_py.errors import ScalerError

INLINE_BYTES: Final = 32 * 1024
"""A longer answer may take more than 10 ms."""
LONGEST_NUMBER: Final = 400


Sample: TypeAlias = "list[float | str | None]"
"""Time and value."""


def read_vector(text: bytes, source: str = "prometheus") -> tuple[int, Sample]:
    """The number of series, and the first one's sample, empty where it has none. Raises ScalerError."""
    try:
        document: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise _no_vector(source) from None
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, dict) or data.get("resultType", "vector") != "vector":
        raise _no_vector(source)
    result = data.get("result")  # servers written in Go say null where there is nothing
    if result is None:
        return 0, []
    if not isinstance(result, list):
        raise _no_vector(source)
    return len(result), _sample(result[0], source) if result else []


def sample_number(value: float | str, source: str = "prometheus") -> float:
    """The value of a sample, a text, as Go's strconv reads it: no spaces, no digits of other scripts, no 1e400.

    Raises ScalerError.
    """
    if not isinstance(value, str):
        raise ScalerError(f"{source} query api returned a sample value that is not text")
    try:
        number = float(value if value.isascii() and value == value.strip() else "")
    except ValueError:
        number = None
    if number is None or (isinf(number) and "n" not in value.lower()):
        raise ScalerError(f"{source} query api returned a sample value that is not a number")
    return number


def _sample(series: object, source: str) -> Sample:
    if not isinstance(series, dict):
        raise _no_vector(source)
    value = series.get("value")
    if value is None:
        return []
    if not isinstance(value, list) or not all(_is_plain(part) for part in value[:2]):
        raise _no_vector(source)
    return value[:2]


def _is_plain(part: object) -> bool:
    return part is None or isinstance(part, int | float) or (isinstance(part, str) and len(part) <= LONGEST_NUMBER)


def _no_vector(source: str) -> ScalerError:
    return ScalerError(f"{source} query api returned something else than a vector of series")
