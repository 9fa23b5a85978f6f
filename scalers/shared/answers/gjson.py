r"""The part of GJSON's path language that picks one value out of a JSON answer.

`queues.0.length`, `queues.#` (how many), `queues.#.length` (each one's), `queues.#(name=="jobs").length` (the first
that fits, `#(...)#` for all), `*` and `?` in names, `\.` for a dot in a name, `@this` for the whole answer. Other
modifiers (`@reverse`) and multipaths (`{a,b}`, `[a,b]`) are refused: none of them can answer one number.

A path is read once, into a function of a document, and followed within a budget of steps. It may run in another process
(`ScalerContext.parse`), so this file imports little.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final

import orjson
import re2

from keda_py.errors import ScalerError
from scalers.shared.answers.json_values import read_json
from scalers.shared.answers.location import plain
from scalers.shared.remembered import remembered


class _Missing(Enum):
    MISSING = "missing"


# The value of a path that leads nowhere; GJSON calls it Null as well.
MISSING: Final = _Missing.MISSING

# Any path through a longer answer may take more than 10 ms.
INLINE_BYTES: Final = 8 * 1024
LONGEST: Final = 1_000
"""Characters of a path."""
# Items looked at, and characters of names compared with a pattern, in following a path once; a second at most.
MOST_STEPS: Final = 1_000_000

_ITSELF = "@this"
_DEEPEST = 64
_DEEPEST_CONDITION = 8
_CONDITION = re2.compile(r"([^=!<>%]*?)\s*(==|=|!=|<=|<|>=|>|!%|%)\s*(.*)")
_NUMBER = re2.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class Steps:
    """The budget of steps for following a path once."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_STEPS

    def take(self, steps: int) -> None:
        """Raises ScalerError when that is too much."""
        self.left -= steps
        if self.left < 0:
            raise ScalerError(f"the path takes more than {MOST_STEPS} steps through this answer: make it more direct")


_Follow = Callable[[object, Steps], object]


def scalar_in(text: bytes | str, path: str) -> object:
    """Find a value as `value_in` does, but with [] for lists and mappings."""
    return plain(value_in(text, path))


def scalars_in(text: bytes | str, paths: Sequence[str]) -> list[object]:
    """Find a scalar at each path of an object. Raises ScalerError for a document of another kind, too."""
    document, steps = read_json(text), Steps()
    if not isinstance(document, dict):
        raise ScalerError("the answer is not a JSON object")
    found = [compile_path(path)(document, steps) for path in paths]
    return [None if one is MISSING else plain(one) for one in found]


def value_in(text: bytes | str, path: str) -> object:
    """The value at the path, None if missing. Raises ScalerError for what is not JSON, or not a known path."""
    follow = compile_path(path)
    found = follow(read_json(text), Steps())
    return None if found is MISSING else found


def path_problem(path: str) -> str:
    """Explain why a path is invalid; "" if it is valid."""
    try:
        compile_path(path)
    except ScalerError as error:
        return str(error)
    return ""


@remembered
def compile_path(path: str) -> _Follow:
    """A function that follows the path. Raises ScalerError, which names what is not known."""
    if len(path) > LONGEST:
        raise ScalerError(f"valueLocation is a path of more than {LONGEST} characters, which is not supported")
    try:
        return _compile(path, 0)
    except ValueError:
        text = f'valueLocation "{path}" is not supported: name fields, indexes, # and #(field==value)'
        raise ScalerError(text) from None


def _compile(path: str, depth: int) -> _Follow:
    steps = _split(path)
    if len(steps) > _DEEPEST or depth > _DEEPEST_CONDITION:
        raise ValueError(path)
    if any(step[:1] in ("@", "{", "[", "!") and step != _ITSELF for step in steps):
        raise ValueError(path)
    return _chain([step for step in steps if step != _ITSELF], depth)


def _split(path: str) -> list[str]:
    """Split at dots and pipes that are neither escaped nor inside a query."""
    steps, begin, depth, escaped = [], 0, 0, False
    for at, character in enumerate(path):
        if not escaped:
            depth += (character == "(") - (character == ")")
            if character in ".|" and not depth:
                steps.append(path[begin:at])
                begin = at + 1
        escaped = character == "\\" and not escaped
    return [*steps, path[begin:]]


def _chain(steps: Sequence[str], depth: int) -> _Follow:
    """Compile a step together with the steps after it."""
    if not steps:
        return lambda here, _: here
    step, rest = steps[0], steps[1:]
    if step == "#":
        return _each(_chain(rest, depth)) if rest else _count
    if step.startswith("#("):
        return _query(step, rest, depth)
    return _then(_child(step), _chain(rest, depth)) if rest else _child(step)


def _then(first: _Follow, rest: _Follow) -> _Follow:
    def follow(here: object, steps: Steps) -> object:
        found = first(here, steps)
        return MISSING if found is MISSING else rest(found, steps)

    return follow


def _child(step: str) -> _Follow:
    index = int(step[:9]) if step.isascii() and step.isdigit() else None
    by_name = _by_pattern(step) if _is_wild(step) else _by_name(_unescape(step))

    def follow(here: object, steps: Steps) -> object:
        if isinstance(here, list):
            return here[index] if index is not None and index < len(here) else MISSING
        return by_name(here, steps) if isinstance(here, dict) else MISSING

    return follow


def _is_wild(step: str) -> bool:
    plain_step = step.replace("\\*", "").replace("\\?", "")
    return "*" in plain_step or "?" in plain_step


def _by_name(name: str) -> Callable[[Mapping[str, object], Steps], object]:
    return lambda here, _: here.get(name, MISSING)


def _by_pattern(wild: str) -> Callable[[Mapping[str, object], Steps], object]:
    fits = _pattern(wild)

    def follow(here: Mapping[str, object], steps: Steps) -> object:
        return next((value for name, value in here.items() if fits(name, steps)), MISSING)

    return follow


def _unescape(step: str) -> str:
    result, escaped = [], False
    for character in step:
        escaped = character == "\\" and not escaped
        if not escaped:
            result.append(character)
    return "".join(result)


def _pattern(wild: str) -> Callable[[str, Steps], bool]:
    """ "*" is any run of characters, "?" any one; matched in time that grows with text and pattern, and no faster."""
    parts, escaped, width = ["(?s)"], False, 1 + len(wild) // 16
    for character in wild:
        if character == "\\" and not escaped:
            escaped = True
            continue
        special = {"*": ".*", "?": "."}.get(character) if not escaped else None
        parts.append(special or re2.escape(character))
        escaped = False
    compiled = re2.compile("".join(parts))

    def fits(text: str, steps: Steps) -> bool:
        steps.take(4 + (len(text) * width >> 4))
        return compiled.fullmatch(text) is not None

    return fits


def _count(here: object, _: Steps) -> object:
    return len(here) if isinstance(here, list) else MISSING


def _each(follow: _Follow) -> _Follow:
    def follow_each(here: object, steps: Steps) -> object:
        if not isinstance(here, list):
            return MISSING
        steps.take(len(here))
        return [value for item in here if (value := follow(item, steps)) is not MISSING]

    return follow_each


def _query(step: str, rest: Sequence[str], depth: int) -> _Follow:
    every = step.endswith(")#")
    fits = _condition(step[2:-2] if every else step[2:-1], depth + 1)
    after = _chain(rest, depth)
    if every and rest:
        after = _count if list(rest) == ["#"] else _each(after)

    def follow(here: object, steps: Steps) -> object:
        if not isinstance(here, list):
            return MISSING
        steps.take(2 * len(here))
        if every:
            return after([item for item in here if fits(item, steps)], steps)
        first = next((item for item in here if fits(item, steps)), MISSING)
        return first if first is MISSING else after(first, steps)

    return follow


_Fits = Callable[[object, Steps], bool]


def _condition(text: str, depth: int) -> _Fits:
    """`name=="x"`, `n>1`, `name%"a*"` (a pattern), or `name` alone: it is there."""
    parts = _CONDITION.fullmatch(text)
    if parts is None:
        there = _compile(text, depth)
        return lambda item, steps: there(item, steps) is not MISSING
    path, comparison, literal = parts[1], parts[2], parts[3]
    compare = _comparison(comparison, _literal(literal))
    if not path:
        return compare
    find = _compile(path, depth)

    def fits(item: object, steps: Steps) -> bool:
        value = find(item, steps)
        return value is not MISSING and compare(value, steps)

    return fits


def _literal(text: str) -> object:
    """A number, a text in quotes, true, false or null; anything else is a text without quotes."""
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return text if isinstance(value, list | dict) else value


_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _comparison(symbol: str, wanted: object) -> _Fits:
    if symbol in ("%", "!%"):
        fits, positive = _pattern(str(wanted)), symbol == "%"
        return lambda value, steps: isinstance(value, str) and fits(value, steps) == positive
    if symbol in ("=", "=="):
        return lambda value, _: (type(value) is not bool and value == wanted) or value is wanted
    if symbol == "!=":
        return lambda value, _: value != wanted
    order = _ORDER[symbol]
    return lambda value, _: _ordered(value, wanted, order)


def _ordered(value: object, wanted: object, order: Callable[..., bool]) -> bool:
    numbers = isinstance(value, int | float) and isinstance(wanted, int | float)
    texts = isinstance(value, str) and isinstance(wanted, str)
    return (numbers or texts) and order(value, wanted)
