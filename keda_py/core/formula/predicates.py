"""The builtins of formulas that apply a predicate to each element of an array.

Pure. `test` is the predicate on one element and its index; it counts its own steps.
"""

from collections.abc import Callable
from typing import Literal

from keda_py.core.formula.builtins import order
from keda_py.core.formula.syntax.limits import Meter
from keda_py.core.formula.types import ANY, BOOL, INT, Type, ValueKind
from keda_py.core.formula.values import MapKey, Value, add, expect_bool, to_key

Test = Callable[[Value, int], Value]
Apply = Callable[[list[Value], Test, Meter], Value]


def _all(values: list[Value], test: Test, meter: Meter) -> Value:
    return all(expect_bool(test(value, at)) for at, value in enumerate(values))


def _any(values: list[Value], test: Test, meter: Meter) -> Value:
    return any(expect_bool(test(value, at)) for at, value in enumerate(values))


def _count(values: list[Value], test: Test, meter: Meter) -> int:
    return sum(expect_bool(test(value, at)) for at, value in enumerate(values))


def _filter(values: list[Value], test: Test, meter: Meter) -> Value:
    kept = [value for at, value in enumerate(values) if expect_bool(test(value, at))]
    meter.make(len(kept))
    return kept


def _map(values: list[Value], test: Test, meter: Meter) -> Value:
    meter.make(len(values))
    return [test(value, at) for at, value in enumerate(values)]


def _sum(values: list[Value], test: Test, meter: Meter) -> Value:
    total: Value = 0
    for at, value in enumerate(values):
        total = add(total, test(value, at), meter)
    return total


def _position(values: list[Value], test: Test, step: int) -> int | None:
    positions = range(len(values))[::step]
    return next((at for at in positions if expect_bool(test(values[at], at))), None)


def _find(step: Literal[1, -1], *, index: bool) -> Apply:
    def apply(values: list[Value], test: Test, meter: Meter) -> Value:
        at = _position(values, test, step)
        if at is None:
            return None
        return at if index else values[at]

    return apply


def _group(values: list[Value], test: Test, meter: Meter) -> Value:
    groups: dict[MapKey, list[Value]] = {}
    meter.make(2 * len(values))
    for at, value in enumerate(values):
        groups.setdefault(to_key(test(value, at)), []).append(value)
    return dict(groups.items())


def sort_by(values: list[Value], test: Test, direction: Value, meter: Meter) -> Value:
    """Sort the values by the results of the predicate."""
    meter.make(2 * len(values))
    return [values[at] for at in order([test(value, at) for at, value in enumerate(values)], direction, meter)]


APPLY: dict[str, Apply] = {
    "all": _all,
    "any": _any,
    "none": lambda values, test, meter: not _any(values, test, meter),
    "one": lambda values, test, meter: _count(values, test, meter) == 1,
    "count": _count,
    "filter": _filter,
    "map": _map,
    "sum": _sum,
    "find": _find(1, index=False),
    "findIndex": _find(1, index=True),
    "findLast": _find(-1, index=False),
    "findLastIndex": _find(-1, index=True),
    "groupBy": _group,
}
"""All but `sortBy` and `reduce`, which take one more argument."""

TESTS = frozenset(("all", "any", "none", "one", "count", "filter", "find", "findIndex", "findLast", "findLastIndex"))
"""Builtins whose predicate must give true or false."""


def result_type(name: str, array: Type, body: Type) -> Type:
    """Return the type of a call, from the types of the array and of the predicate's result."""
    match name:
        case "all" | "any" | "none" | "one":
            return BOOL
        case "count" | "findIndex" | "findLastIndex":
            return INT
        case "find" | "findLast":
            return array.of
        case "filter" | "sortBy":
            return Type(ValueKind.ARRAY, array.of)
        case "map":
            return Type(ValueKind.ARRAY, body)
        case "groupBy":
            return Type(ValueKind.MAP, Type(ValueKind.ARRAY, array.of))
        case "sum" | "reduce":
            return body
        case _:
            return ANY
