"""What sources answer with, made a float: numbers of databases, and text that is a number."""

import math
from decimal import Decimal

from keda_py.sdk.metadata_values import parse_float
from keda_py.sdk.scaler import Reading, ScalerError

_NO_NUMBERS = frozenset({"nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"})


def float_of(text: str) -> float:
    """As Go reads one, "NaN" and "Inf" too, which `reading_of` sees to. Raises ValueError that shows nothing."""
    return float(text) if text.lower() in _NO_NUMBERS else parse_float(text)


def cell_number(cell: object) -> float:
    """A number of a database, or text that is one. Raises ScalerError that shows the kind, never the value."""
    try:
        match cell:
            case bool():
                pass
            case int() | float() | Decimal():
                return float(cell)
            case str():
                return float_of(cell.strip())
            case bytes() | bytearray():
                return float_of(cell.decode().strip())
    except (ValueError, OverflowError):
        pass
    kind = "NULL" if cell is None else "text" if isinstance(cell, str | bytes) else f"a {type(cell).__name__}"
    raise ScalerError(f"the answer is {kind}, which is not a number: select a count or a number")


def reading_of(value: float) -> Reading:
    """With the reason why the metric will be 0, where the value is not finite."""
    return Reading(value=value, note="" if math.isfinite(value) else f"{value} counts as 0 in the metric")
