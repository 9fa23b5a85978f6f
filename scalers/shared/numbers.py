"""Conversion of sources' answers to float: numbers of databases, and text that is a number."""

import math
from decimal import Decimal

from keda_py.sdk.metadata.values import parse_float
from keda_py.sdk.scaler import Reading, ScalerError

_NO_NUMBERS = frozenset({"nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"})


def float_of(text: str) -> float:
    """Parse as Go does, with "NaN" and "Inf", which `reading_of` handles. Raises ValueError that shows nothing."""
    return float(text) if text.lower() in _NO_NUMBERS else parse_float(text)


def cell_number(cell: object) -> float:
    """A number of a database, or text that is one. Raises ScalerError that shows the kind, never the value."""
    try:
        match cell:
            case bool():
                pass
            case int() | float():
                return float(cell)
            case Decimal():
                return _float_of_decimal(cell)
            case str():
                return float_of(cell.strip())
            case bytes() | bytearray():
                return float_of(cell.decode().strip())
    except OverflowError:
        raise ScalerError("the answer is out of range: select a number that fits in 64 bits") from None
    except ValueError:
        pass
    kind = "NULL" if cell is None else "text" if isinstance(cell, str | bytes) else f"a {type(cell).__name__}"
    raise ScalerError(f"the answer is {kind}, which is not a number: select a count or a number")


def reading_of(value: float) -> Reading:
    """Make a Reading, with a note where the value is not finite and its metric 0; infinity is active, as in KEDA."""
    return Reading(value=value, note="" if math.isfinite(value) else f"{value} counts as 0 in the metric")


def finite_reading(value: float) -> Reading:
    """The value, or 0 with the reason where it is not finite, so that infinity is inactive.

    In KEDA infinity is active and its metric is 0: a workload is woken for what its HPA sees as no work.
    """
    return Reading(value=value) if math.isfinite(value) else Reading(value=0.0, note=f"{value} counts as 0")


def _float_of_decimal(cell: Decimal) -> float:
    """Raises OverflowError for 1e400, which is no infinity, and which Python would make one."""
    value = float(cell)
    if math.isinf(value) and cell.is_finite():
        raise OverflowError
    return value
