"""The builtins of formulas: their arguments, their result types, and their implementations.

Pure. One row per builtin; `formula/compiler.py` looks them up by name, and nothing else in a formula can be called.
Those that take a predicate are in `formula/predicates.py`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from zoneinfo import ZoneInfo

from keda_py.core.formula import text as texts
from keda_py.core.formula.syntax.limits import DATE_STEPS, DURATION_STEPS, ZONE_STEPS, FormulaError, Meter
from keda_py.core.formula.times import find_zone, parse_date, parse_duration
from keda_py.core.formula.types import ANY, ARRAY, DURATION, FLOAT, INT, MAP, TEXT, TIME, ZONE, Type, ValueKind
from keda_py.core.formula.values import (
    NamedValue,
    Number,
    Value,
    describe,
    equal,
    expect_index,
    expect_int,
    expect_list,
    expect_map,
    expect_text,
    from_key,
    kind_of,
    less,
    numbers_in,
    to_key,
    wrap,
)

_TAKEN: dict[str, frozenset[ValueKind]] = {
    "a": frozenset(ValueKind),
    "n": frozenset({ValueKind.INT, ValueKind.FLOAT}),
    "i": frozenset({ValueKind.INT}),
    "s": frozenset({ValueKind.TEXT}),
    "l": frozenset({ValueKind.ARRAY}),
    "m": frozenset({ValueKind.MAP}),
    "z": frozenset({ValueKind.ZONE}),
    "v": frozenset({ValueKind.INT, ValueKind.FLOAT, ValueKind.ARRAY}),
    "c": frozenset({ValueKind.TEXT, ValueKind.ARRAY, ValueKind.MAP}),
    "w": frozenset({ValueKind.INT, ValueKind.FLOAT, ValueKind.TEXT, ValueKind.DURATION, ValueKind.NAMED}),
}
"""One letter for each set of kinds that an argument may have."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """A row of the table. `takes` has a letter per argument for each way to call it; a + after the last: one or more.

    `gives` None: the type of the first argument. `run` gets the arguments and the meter.
    """

    takes: tuple[str, ...]
    gives: Type | None
    run: Callable[[list[Value], Meter], Value]

    def check(self, name: str, arguments: Sequence[Type]) -> Type:
        """Return the type of a call with arguments of these types. Raises FormulaError."""
        fitting = [form for form in self.takes if _fits_count(form, len(arguments))]
        if not fitting:
            counts = " or ".join(
                f"{len(form) - 1} or more" if form[-1:] == "+" else str(len(form)) for form in self.takes
            )
            raise FormulaError(f"{name}() takes {counts} arguments, not {len(arguments)}")
        if not any(_fits(form, arguments) for form in fitting):
            raise FormulaError(f"{name}() cannot be applied to {', '.join(map(str, arguments))}")
        if self.gives is not None:
            return self.gives
        return ANY if any(argument.kind in (ValueKind.ANY, ValueKind.ARRAY) for argument in arguments) else arguments[0]


def _fits_count(form: str, count: int) -> bool:
    return count >= len(form) - 1 if form[-1:] == "+" else count == len(form)


def _fits(form: str, arguments: Sequence[Type]) -> bool:
    letters = form[:-1] + form[-2] * (len(arguments) - len(form) + 1) if form[-1:] == "+" else form
    return all(one.is_any or one.kind in _TAKEN[letter] for letter, one in zip(letters, arguments, strict=True))


def length(value: Value) -> int:
    """Return the length; of text in characters. Raises FormulaError for a value without a length."""
    if isinstance(value, str | list | dict):
        return len(value)
    raise FormulaError(f"len() takes text, an array or a map, not {describe(value)}")


def _number(name: str, value: Value) -> Number:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise FormulaError(f"{name}() takes a number, not {describe(value)}")


def _absolute(value: Value) -> Value:
    number = _number("abs", value)
    return wrap(abs(number)) if isinstance(number, int) else abs(number)


def _rounded(name: str, towards: Callable[[float], float]) -> Callable[[list[Value], Meter], Value]:
    def run(arguments: list[Value], meter: Meter) -> Value:
        number = float(_number(name, arguments[0]))
        return float(towards(number)) if math.isfinite(number) else number

    return run


def _half_away(number: float) -> float:
    """Round halves away from zero: 2.5 becomes 3, -2.5 becomes -3, and 0.49999999999999994 stays 0."""
    # Not floor(number + 0.5): that sum is 1.0 for 0.49999999999999994.
    whole = math.trunc(number)
    return whole + math.copysign(1, number) if abs(number - whole) >= 0.5 else whole


def _extreme(name: str, replaces: Callable[[Number, Number], bool]) -> Callable[[list[Value], Meter], Value]:
    def run(arguments: list[Value], meter: Meter) -> Value:
        if len(arguments) == 1 and not isinstance(arguments[0], int | float | list):
            return arguments[0]
        best: Number | None = None
        for number in numbers_in(arguments, name, meter):
            if best is None or replaces(best, number):
                best = number
        return best

    return run


def _mean(arguments: list[Value], meter: Meter) -> float:
    total, count = 0.0, 0
    for number in numbers_in(arguments, "mean", meter):
        total, count = total + number, count + 1
    return total / count if count else 0.0


def _median(arguments: list[Value], meter: Meter) -> float:
    numbers = sorted(float(number) for number in numbers_in(arguments, "median", meter))
    middle = len(numbers) // 2
    if len(numbers) % 2:
        return numbers[middle]
    return (numbers[middle - 1] + numbers[middle]) / 2 if numbers else 0.0


def order(values: list[Value], descending: Value, meter: Meter) -> list[int]:
    """Return the positions of values in order. Raises FormulaError if two cannot be compared."""
    if descending not in ("asc", "desc"):
        raise FormulaError('the order is "asc" or "desc"')
    sign = -1 if descending == "desc" else 1

    def compare(one: int, other: int) -> int:
        meter.work(2)
        return sign * (less(values[other], values[one]) - less(values[one], values[other]))

    return sorted(range(len(values)), key=cmp_to_key(compare))


def _sort(arguments: list[Value], meter: Meter) -> Value:
    values = expect_list(arguments[0])
    meter.make(len(values))
    return [values[at] for at in order(values, arguments[1] if len(arguments) > 1 else "asc", meter)]


def _flatten(values: list[Value], meter: Meter, depth: int = 0) -> list[Value]:
    flat: list[Value] = []
    for value in values:
        meter.descend(depth)
        flat.extend(_flatten(value, meter, depth + 1) if isinstance(value, list) else (value,))
    meter.make(len(flat))
    return flat


def _concat(arguments: list[Value], meter: Meter) -> Value:
    lists = [expect_list(argument) for argument in arguments]
    meter.make(sum(map(len, lists)))
    return [value for one in lists for value in one]


def _unique(arguments: list[Value], meter: Meter) -> Value:
    kept: list[Value] = []
    for value in expect_list(arguments[0]):
        if not any(equal(value, one, meter) for one in kept):
            kept.append(value)
    return kept


def _take(arguments: list[Value], meter: Meter) -> Value:
    values, count = expect_list(arguments[0]), expect_int(arguments[1])
    if count < 0:
        raise FormulaError(f"take() takes a count of 0 or more, not {count}")
    meter.work(count >> 4 if count < len(values) else len(values) >> 4)
    return values[:count]


def pick(base: Value, key: Value) -> Value:
    """Return `get(base, key)`, nil for a missing key."""
    if isinstance(base, dict):
        return base.get(to_key(key))
    if isinstance(base, list):
        index = expect_index(key)
        return base[index] if -len(base) <= index < len(base) else None
    return None


def _end(index: int) -> Callable[[list[Value], Meter], Value]:
    return lambda arguments, meter: pick(arguments[0], index) if isinstance(arguments[0], list) else None


def _pairs(arguments: list[Value], meter: Meter) -> Value:
    pairs = expect_map(arguments[0])
    meter.make(3 * len(pairs))
    return [[from_key(key), value] for key, value in pairs.items()]


def _from_pairs(arguments: list[Value], meter: Meter) -> Value:
    pairs = [expect_list(pair) for pair in expect_list(arguments[0])]
    meter.make(len(pairs))
    if any(len(pair) != 2 for pair in pairs):
        raise FormulaError("fromPairs() takes an array of [key, value]")
    return {expect_text(key): value for key, value in pairs}


def _bits(compute: Callable[[int, int], int]) -> Callable[[list[Value], Meter], Value]:
    return lambda arguments, meter: wrap(compute(expect_int(arguments[0]), expect_int(arguments[1])))


def _shifted(compute: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def shift(number: int, count: int) -> int:
        if count < 0:
            raise FormulaError(f"bits can be shifted by 0 or more, not by {count}")
        return compute(number, min(count, 64))

    return shift


def _zone(name: str, meter: Meter) -> ZoneInfo:
    meter.work(ZONE_STEPS)
    return find_zone(name)


def _duration(text: str, meter: Meter) -> Value:
    meter.work(DURATION_STEPS)
    return parse_duration(text)


def _date(arguments: list[Value], meter: Meter) -> Value:
    zone = arguments[0] if isinstance(arguments[0], ZoneInfo) else None
    words = [expect_text(one) for one in (arguments[1:] if zone else arguments)]
    meter.work(DATE_STEPS)
    if len(words) == 3:
        zone = _zone(words[2], meter)
    return parse_date(words[0], words[1] if len(words) > 1 else None, zone)


_TYPE_NAMES = {
    ValueKind.NIL: "nil",
    ValueKind.BOOL: "bool",
    ValueKind.INT: "int",
    ValueKind.FLOAT: "float",
    ValueKind.TEXT: "string",
    ValueKind.ARRAY: "array",
    ValueKind.MAP: "map",
    ValueKind.TIME: "time.Time",
    ValueKind.DURATION: "time.Duration",
}


def _type_name(value: Value) -> str:
    if isinstance(value, NamedValue):
        return "time.Weekday" if value.name.endswith("day") else "time.Month"
    return _TYPE_NAMES.get(kind_of(value), "unknown")


def _text(arguments: list[Value], index: int, default: str = "") -> str:
    return expect_text(arguments[index]) if index < len(arguments) else default


def _count(arguments: list[Value], index: int) -> int:
    return expect_int(arguments[index]) if index < len(arguments) else -1


def _trim(arguments: list[Value], meter: Meter) -> Value:
    return texts.trim(_text(arguments, 0), _text(arguments, 1) if len(arguments) > 1 else None)


def _split(*, keep: bool) -> Callable[[list[Value], Meter], Value]:
    return lambda a, meter: texts.split(_text(a, 0), _text(a, 1), _count(a, 2), meter, keep=keep)


def _join(arguments: list[Value], meter: Meter) -> Value:
    return texts.join(expect_list(arguments[0]), _text(arguments, 1), meter)


BUILTINS: dict[str, Builtin] = {
    "len": Builtin(("c",), INT, lambda a, meter: length(a[0])),
    "type": Builtin(("a",), TEXT, lambda a, meter: _type_name(a[0])),
    "abs": Builtin(("n",), None, lambda a, meter: _absolute(a[0])),
    "ceil": Builtin(("n",), FLOAT, _rounded("ceil", math.ceil)),
    "floor": Builtin(("n",), FLOAT, _rounded("floor", math.floor)),
    "round": Builtin(("n",), FLOAT, _rounded("round", _half_away)),
    "int": Builtin(("w",), INT, lambda a, meter: texts.read_int(a[0])),
    "float": Builtin(("w",), FLOAT, lambda a, meter: texts.read_float(a[0])),
    "string": Builtin(("a",), TEXT, lambda a, meter: texts.print_value(a[0], meter)),
    "max": Builtin(("v+",), None, _extreme("max", lambda best, number: best < number)),
    "min": Builtin(("v+",), None, _extreme("min", lambda best, number: best > number)),
    "mean": Builtin(("v+",), None, _mean),
    "median": Builtin(("v+",), None, _median),
    "trim": Builtin(("s", "ss"), TEXT, _trim),
    "trimPrefix": Builtin(("s", "ss"), TEXT, lambda a, meter: _text(a, 0).removeprefix(_text(a, 1, " "))),
    "trimSuffix": Builtin(("s", "ss"), TEXT, lambda a, meter: _text(a, 0).removesuffix(_text(a, 1, " "))),
    "upper": Builtin(("s",), TEXT, lambda a, meter: _text(a, 0).upper()),
    "lower": Builtin(("s",), TEXT, lambda a, meter: _text(a, 0).lower()),
    "split": Builtin(("ss", "ssi"), Type(ValueKind.ARRAY, TEXT), _split(keep=False)),
    "splitAfter": Builtin(("ss", "ssi"), Type(ValueKind.ARRAY, TEXT), _split(keep=True)),
    "replace": Builtin(
        ("sss", "sssi"),
        TEXT,
        lambda a, meter: texts.replace(_text(a, 0), _text(a, 1), _text(a, 2), _count(a, 3), meter),
    ),
    "repeat": Builtin(("si",), TEXT, lambda a, meter: texts.repeat(_text(a, 0), expect_int(a[1]), meter)),
    "join": Builtin(("l", "ls"), TEXT, _join),
    "indexOf": Builtin(("ss",), INT, lambda a, meter: texts.index_of(_text(a, 0), _text(a, 1))),
    "lastIndexOf": Builtin(("ss",), INT, lambda a, meter: texts.index_of(_text(a, 0), _text(a, 1), last=True)),
    "hasPrefix": Builtin(("ss",), Type(ValueKind.BOOL), lambda a, meter: _text(a, 0).startswith(_text(a, 1))),
    "hasSuffix": Builtin(("ss",), Type(ValueKind.BOOL), lambda a, meter: _text(a, 0).endswith(_text(a, 1))),
    "toJSON": Builtin(("a",), TEXT, lambda a, meter: texts.to_json(a[0], meter)),
    "fromJSON": Builtin(("s",), ANY, lambda a, meter: texts.from_json(_text(a, 0))),
    "toBase64": Builtin(("s",), TEXT, lambda a, meter: texts.encode_base64(_text(a, 0))),
    "fromBase64": Builtin(("s",), TEXT, lambda a, meter: texts.decode_base64(_text(a, 0))),
    "duration": Builtin(("s",), DURATION, lambda a, meter: _duration(_text(a, 0), meter)),
    "date": Builtin(("s", "ss", "sss", "zs", "zss"), TIME, _date),
    "timezone": Builtin(("s",), ZONE, lambda a, meter: _zone(_text(a, 0), meter)),
    "first": Builtin(("l",), ANY, _end(0)),
    "last": Builtin(("l",), ANY, _end(-1)),
    "get": Builtin(("aa",), ANY, lambda a, meter: pick(a[0], a[1])),
    "take": Builtin(("li",), ARRAY, _take),
    "keys": Builtin(("m",), ARRAY, lambda a, meter: [from_key(key) for key in expect_map(a[0])]),
    "values": Builtin(("m",), ARRAY, lambda a, meter: list(expect_map(a[0]).values())),
    "toPairs": Builtin(("m",), ARRAY, _pairs),
    "fromPairs": Builtin(("l",), MAP, _from_pairs),
    "reverse": Builtin(("l",), ARRAY, lambda a, meter: expect_list(a[0])[::-1]),
    "uniq": Builtin(("l",), ARRAY, _unique),
    "concat": Builtin(("l+",), ARRAY, _concat),
    "flatten": Builtin(("l",), ARRAY, lambda a, meter: _flatten(expect_list(a[0]), meter)),
    "sort": Builtin(("l", "ls"), ARRAY, _sort),
    "bitand": Builtin(("ii",), INT, _bits(lambda x, y: x & y)),
    "bitor": Builtin(("ii",), INT, _bits(lambda x, y: x | y)),
    "bitxor": Builtin(("ii",), INT, _bits(lambda x, y: x ^ y)),
    "bitnand": Builtin(("ii",), INT, _bits(lambda x, y: x & ~y)),
    "bitnot": Builtin(("i",), INT, lambda a, meter: ~expect_int(a[0])),
    "bitshl": Builtin(("ii",), INT, _bits(_shifted(lambda x, y: x << y))),
    "bitshr": Builtin(("ii",), INT, _bits(_shifted(lambda x, y: x >> y))),
    "bitushr": Builtin(("ii",), INT, _bits(_shifted(lambda x, y: (x % 2**64) >> y))),
}
