"""The values of formulas and their arithmetic, as Go computes it: int64 that wraps around, float64, bytes of text.

Pure. Nothing here reads an attribute of a value by a name from a formula. Walks over nested values are metered, because
`let x = 1..1000; map(x, map(x, x))` names a thousand million elements in a few bytes.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import NoneType
from zoneinfo import ZoneInfo

from keda_py.core.formula.syntax.limits import FormulaError, Meter
from keda_py.core.formula.types import ValueKind


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration in nanoseconds, as Go counts it."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A month or a weekday: its number and its name."""

    number: int
    name: str


@dataclass(frozen=True, slots=True)
class Key:
    """A map key for a number, true or false: `groupBy` tells 1, 1.0 and true apart, a dict does not."""

    kind: str
    value: bool | int | float


Value = (
    None
    | bool
    | int
    | float
    | str
    | list["Value"]
    | dict["MapKey", "Value"]
    | datetime
    | Duration
    | NamedValue
    | ZoneInfo
)
MapKey = str | datetime | Duration | NamedValue | ZoneInfo | Key | None
Number = int | float


def wrap(number: int) -> int:
    """Wrap an integer to int64, as Go does on overflow: 2**63 becomes -2**63."""
    return (number + 2**63) % 2**64 - 2**63


def to_int(number: float) -> int:
    """Cut a float toward zero; one that does not fit an int64 becomes its lowest value, as on amd64."""
    return int(number) if -(2.0**63) <= number < 2.0**63 else -(2**63)


def is_number(value: Value) -> bool:
    """Whether the value is an int or a float; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


_KINDS = {
    NoneType: ValueKind.NIL,
    bool: ValueKind.BOOL,
    int: ValueKind.INT,
    float: ValueKind.FLOAT,
    str: ValueKind.TEXT,
    list: ValueKind.ARRAY,
    dict: ValueKind.MAP,
    datetime: ValueKind.TIME,
    Duration: ValueKind.DURATION,
    NamedValue: ValueKind.NAMED,
    ZoneInfo: ValueKind.ZONE,
}


def kind_of(value: Value) -> ValueKind:
    """Return the kind of a value."""
    return _KINDS[type(value)]


def describe(value: Value) -> str:
    """Name the kind of a value, for messages."""
    return ValueKind.FLOAT.value if is_number(value) else kind_of(value).value


def mismatch(operator: str, *values: Value) -> FormulaError:
    """Build the error for operands that an operator does not take."""
    nil = "; a trigger beyond its failure threshold is nil, catch it with ??" if any(v is None for v in values) else ""
    return FormulaError(f'"{operator}" cannot be applied to {" and ".join(map(describe, values))}{nil}')


def expect_bool(value: Value) -> bool:
    """Return the value if it is true or false; raise FormulaError otherwise."""
    if not isinstance(value, bool):
        raise FormulaError(f"expected true or false, found {describe(value)}")
    return value


def expect_int(value: Value) -> int:
    """Return the value if it is an int; raise FormulaError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise FormulaError(f"expected a whole number, found {describe(value)}; int() makes one")
    return value


def expect_index(value: Value) -> int:
    """Return an index; a float is cut, as Go's ToInt does."""
    return to_int(value) if isinstance(value, float) else expect_int(value)


def expect_text(value: Value) -> str:
    """Return the value if it is text; raise FormulaError otherwise."""
    if not isinstance(value, str):
        raise FormulaError(f"expected text, found {describe(value)}")
    return value


def expect_list(value: Value) -> list[Value]:
    """Return the value if it is an array; raise FormulaError otherwise."""
    if not isinstance(value, list):
        raise FormulaError(f"expected an array, found {describe(value)}")
    return value


def expect_map(value: Value) -> dict[MapKey, Value]:
    """Return the value if it is a map; raise FormulaError otherwise."""
    if not isinstance(value, dict):
        raise FormulaError(f"expected a map, found {describe(value)}")
    return value


def to_key(value: Value) -> MapKey:
    """Turn a value into the key of a map; 1, 1.0 and true are three keys. Raises FormulaError."""
    match value:
        case None | str():
            return value
        case bool() | int() | float():
            return Key(type(value).__name__, value)
        case list() | dict():
            raise FormulaError(f"{describe(value)} cannot be the key of a map")
        case _:
            return value


def from_key(key: MapKey) -> Value:
    """Return the value that a key stands for."""
    return key.value if isinstance(key, Key) else key


def add(left: Value, right: Value, meter: Meter) -> Value:
    """Add numbers, texts, durations, or a point in time and a duration."""
    match left, right:
        case (bool(), _) | (_, bool()):
            pass
        case int(), int():
            return wrap(left + right)
        case ((int() | float()), (int() | float())):
            return float(left) + float(right)
        case str(), str():
            meter.make(len(left) + len(right))
            return left + right
        case Duration(), Duration():
            return Duration(wrap(left.nanoseconds + right.nanoseconds))
        case datetime(), Duration():
            return shift(left, right)
        case Duration(), datetime():
            return shift(right, left)
    raise mismatch("+", left, right)


def subtract(left: Value, right: Value, meter: Meter) -> Value:
    """Subtract numbers, durations, and points in time."""
    match left, right:
        case (bool(), _) | (_, bool()):
            pass
        case int(), int():
            return wrap(left - right)
        case ((int() | float()), (int() | float())):
            return float(left) - float(right)
        case Duration(), Duration():
            return Duration(wrap(left.nanoseconds - right.nanoseconds))
        case datetime(), datetime():
            return Duration(((left - right) // timedelta(microseconds=1)) * 1000)
        case datetime(), Duration():
            return shift(left, Duration(-right.nanoseconds))
    raise mismatch("-", left, right)


def multiply(left: Value, right: Value, meter: Meter) -> Value:
    """Multiply numbers and durations."""
    match left, right:
        case (bool(), _) | (_, bool()):
            pass
        case int(), int():
            return wrap(left * right)
        case ((int() | float()), (int() | float())):
            return float(left) * float(right)
        case Duration(), (int() | float()):
            return _scaled(left, right)
        case ((int() | float()), Duration()):
            return _scaled(right, left)
        case Duration(), Duration():
            return Duration(wrap(left.nanoseconds * right.nanoseconds))
    raise mismatch("*", left, right)


def _scaled(duration: Duration, factor: Number) -> Value:
    """Multiply a duration. By a float, Go's expr makes a number of it: duration("1h") * 2.5 is 9e12 nanoseconds."""
    if isinstance(factor, int):
        return Duration(wrap(duration.nanoseconds * factor))
    return duration.nanoseconds * factor


def divide(left: Value, right: Value, meter: Meter) -> float:
    """Divide; the result is always a float: 7/2 is 3.5, 1/0 is +Inf, 0/0 is NaN."""
    dividend, divisor = _float("/", left, right)
    if divisor:
        return dividend / divisor
    if not dividend or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def power(left: Value, right: Value, meter: Meter) -> float:
    """Raise to a power; the result is always a float: (-1) ** 0.5 is NaN, 0 ** -1 is +Inf."""
    base, exponent = _float("**", left, right)
    try:
        return math.pow(base, exponent)
    except ValueError:
        if base:
            return math.nan
        odd = exponent % 2 == 1
        return math.copysign(math.inf, base) if odd else math.inf
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def remainder(left: Value, right: Value, meter: Meter) -> int:
    """Return the remainder of ints; its sign is the left one's: -7 % 3 is -1."""
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in (left, right)):
        raise mismatch("%", left, right)
    dividend, divisor = expect_int(left), expect_int(right)
    if not divisor:
        raise FormulaError("the remainder of a division by 0")
    rest = abs(dividend) % abs(divisor)
    return -rest if dividend < 0 else rest


def _float(operator: str, left: Value, right: Value) -> tuple[float, float]:
    match left, right:
        case (bool(), _) | (_, bool()):
            pass
        case ((int() | float()), (int() | float())):
            return float(left), float(right)
    raise mismatch(operator, left, right)


def negate(value: Value) -> Value:
    """Return the value with the opposite sign. Raises FormulaError for kinds without one."""
    if isinstance(value, float):
        return -value
    if isinstance(value, int) and not isinstance(value, bool):
        return wrap(-value)
    raise mismatch("-", value)


def shift(moment: datetime, by: Duration) -> datetime:
    """Move a point in time. Raises FormulaError outside the years 1 to 9999."""
    try:
        return moment + timedelta(microseconds=by.nanoseconds / 1000)
    except OverflowError:
        raise FormulaError("this point in time lies outside the years 1 to 9999") from None


def less(left: Value, right: Value, operator: str = "<") -> bool:
    """Compare two numbers, texts, points in time or durations. Raises FormulaError."""
    match left, right:
        case (bool(), _) | (_, bool()):
            pass
        case int(), int():
            return left < right
        case ((int() | float()), (int() | float())):
            return float(left) < float(right)
        case str(), str():
            return left < right
        case datetime(), datetime():
            return left < right
        case Duration(), Duration():
            return left.nanoseconds < right.nanoseconds
    raise mismatch(operator, left, right)


def at_most(left: Value, right: Value, operator: str = "<=") -> bool:
    """Compare with `<=`; false if one is NaN."""
    if is_number(left) and is_number(right):
        return less(left, right, operator) or equal(left, right, Meter())
    return not less(right, left, operator)


def equal(left: Value, right: Value, meter: Meter, depth: int = 0) -> bool:
    """Compare ints and floats by value, arrays and maps element by element; different kinds are never equal."""
    meter.descend(depth)
    match left, right:
        case bool(), bool():
            return left is right
        case (bool(), _) | (_, bool()):
            return False
        case int(), int():
            return left == right
        case ((int() | float()), (int() | float())):
            return float(left) == float(right)
        case list(), list():
            pairs = zip(left, right, strict=False)
            return len(left) == len(right) and all(equal(a, b, meter, depth + 1) for a, b in pairs)
        case dict(), dict():
            same_keys = left.keys() == right.keys()
            return same_keys and all(equal(left[key], right[key], meter, depth + 1) for key in left)
    return type(left) is type(right) and left == right


def contains(needle: Value, within: Value, meter: Meter) -> bool:
    """Evaluate `needle in within`: an element of an array or a key of a map; nil contains nothing."""
    match within:
        case None:
            return False
        case list():
            return any(equal(one, needle, meter) for one in within)
        case dict():
            return to_key(needle) in within
    raise mismatch("in", needle, within)


def numbers_in(values: list[Value], name: str, meter: Meter, depth: int = 0) -> Iterator[Number]:
    """Yield all numbers of nested arrays, in order. Raises FormulaError for other elements."""
    for value in values:
        meter.descend(depth)
        if isinstance(value, list):
            yield from numbers_in(value, name, meter, depth + 1)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield value
        else:
            raise FormulaError(f"{name}() takes numbers and arrays of numbers, found {describe(value)}")


BINARY: dict[str, Callable[[Value, Value, Meter], Value]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "**": power,
    "==": equal,
    "!=": lambda left, right, meter: not equal(left, right, meter),
    "<": lambda left, right, meter: less(left, right),
    ">": lambda left, right, meter: less(right, left, ">"),
    "<=": lambda left, right, meter: at_most(left, right),
    ">=": lambda left, right, meter: at_most(right, left, ">="),
    "in": contains,
}
"""Operators whose operands are both evaluated; those on text and ranges are in `formula/text.py`."""
