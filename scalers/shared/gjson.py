r"""The part of GJSON's path language that picks one value out of a JSON answer.

`queues.0.length`, `queues.#` (how many), `queues.#.length` (each one's), `queues.#(name=="jobs").length` (the first
that fits, `#(...)#` for all), `*` and `?` in names, `\.` for a dot in a name. Modifiers (`@reverse`) and multipaths
(`{a,b}`, `[a,b]`) are refused: none of them can answer one number.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final

import orjson
import re2

from keda_py.scaler import ScalerError


class _Missing(Enum):
    MISSING = "missing"


MISSING: Final = _Missing.MISSING
"""What a path that leads nowhere answers; GJSON calls it Null as well."""

_Step = Callable[[object], object]
_CONDITION = re2.compile(r"([^=!<>%]*?)\s*(==|=|!=|<=|<|>=|>|!%|%)\s*(.*)")
_NUMBER = re2.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DEEPEST = 64


def value_in(text: bytes | str, path: str) -> object:
    """The value at the path, None where there is none. Raises ScalerError for what is not JSON, or not a known path."""
    try:
        document: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ScalerError("the answer is not JSON") from None
    found = _follow(document, _split(path))
    return None if found is MISSING else found


def _follow(here: object, steps: Sequence[str]) -> object:
    for index, step in enumerate(steps):
        rest = steps[index + 1 :]
        if step == "#":
            return _count_or_each(here, rest)
        if step.startswith("#("):
            return _follow_query(here, step, rest)
        here = _child(here, step)
        if here is MISSING:
            return MISSING
    return here


def _split(path: str) -> list[str]:
    """At dots and pipes that are neither escaped nor inside a query."""
    steps, depth, escaped = [""], 0, False
    for character in path:
        depth += (character == "(") - (character == ")") if not escaped else 0
        if character in ".|" and not depth and not escaped:
            steps.append("")
        else:
            steps[-1] += character
        escaped = character == "\\" and not escaped
    if len(steps) > _DEEPEST or any(step[:1] in ("@", "{", "[", "!") for step in steps):
        raise ScalerError(f'valueLocation "{path}" is not supported: name fields, indexes, # and #(field==value)')
    return steps


def _child(here: object, step: str) -> object:
    if isinstance(here, list):
        return here[int(step[:9])] if step.isdigit() and int(step[:9]) < len(here) else MISSING
    if not isinstance(here, Mapping):
        return MISSING
    if any(wild in step.replace("\\*", "").replace("\\?", "") for wild in "*?"):
        pattern = _pattern(step)
        return next((value for name, value in here.items() if pattern.fullmatch(name)), MISSING)
    return here.get(_unescape(step), MISSING)


def _unescape(step: str) -> str:
    result, escaped = "", False
    for character in step:
        if character == "\\" and not escaped:
            escaped = True
        else:
            result, escaped = result + character, False
    return result


def _pattern(wild: str) -> "re2._Regexp[str]":
    """ "*" is any run of characters, "?" any one; matched in linear time whatever the pattern is."""
    result, escaped = "(?s)", False
    for character in wild:
        if character == "\\" and not escaped:
            escaped = True
            continue
        special = {"*": ".*", "?": "."}.get(character) if not escaped else None
        result, escaped = result + (special or re2.escape(character)), False
    return re2.compile(result)


def _count_or_each(here: object, rest: Sequence[str]) -> object:
    if not isinstance(here, list):
        return MISSING
    if not rest:
        return len(here)
    return [value for item in here if (value := _follow(item, rest)) is not MISSING]


def _follow_query(here: object, step: str, rest: Sequence[str]) -> object:
    if not isinstance(here, list):
        return MISSING
    inner, every = (step[2:-2], True) if step.endswith(")#") else (step[2:-1], False)
    fits = _condition(inner)
    if every:
        chosen = [item for item in here if fits(item)]
        if not rest:
            return chosen
        return len(chosen) if rest == ["#"] else _count_or_each(chosen, rest)
    first = next((item for item in here if fits(item)), MISSING)
    return first if first is MISSING else _follow(first, rest)


def _condition(text: str) -> Callable[[object], bool]:
    """`name=="x"`, `n>1`, `name%"a*"` (a pattern), or `name` alone: it is there."""
    parts = _CONDITION.fullmatch(text)
    if parts is None:
        return lambda item: _follow(item, _split(text)) is not MISSING
    path, comparison, literal = parts[1], parts[2], parts[3]
    wanted = _literal(literal)
    compare = _comparison(comparison, wanted)

    def fits(item: object) -> bool:
        value = _follow(item, _split(path)) if path else item
        return value is not MISSING and compare(value)

    return fits


def _literal(text: str) -> object:
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _comparison(symbol: str, wanted: object) -> Callable[[object], bool]:
    if symbol in ("%", "!%"):
        pattern = _pattern(str(wanted))
        return lambda value: isinstance(value, str) and bool(pattern.fullmatch(value)) == (symbol == "%")
    if symbol in ("=", "=="):
        return lambda value: (type(value) is not bool and value == wanted) or value is wanted
    if symbol == "!=":
        return lambda value: value != wanted
    order = _ORDER[symbol]
    return lambda value: _ordered(value, wanted, order)


def _ordered(value: object, wanted: object, order: Callable[..., bool]) -> bool:
    numbers = isinstance(value, int | float) and isinstance(wanted, int | float)
    texts = isinstance(value, str) and isinstance(wanted, str)
    return (numbers or texts) and order(value, wanted)
