"""Static types of formulas, so that `a > 1` alone is refused when a manifest is applied.

Pure. The rules are those of expr-lang's checker: if a type is not known (ANY), evaluation does the check.
"""

import enum
from dataclasses import dataclass
from typing import Optional

from keda_py.core.formula.syntax.limits import FormulaError


class ValueKind(enum.Enum):
    """The kinds of values; messages use the enum's values."""

    ANY = "any value"
    NIL = "nil"
    BOOL = "true or false"
    INT = "a whole number"
    FLOAT = "a number"
    TEXT = "text"
    ARRAY = "an array"
    MAP = "a map"
    TIME = "a point in time"
    DURATION = "a duration"
    NAMED = "a month or weekday"
    ZONE = "a time zone"


@dataclass(frozen=True, slots=True)
class Type:
    """A kind, and for arrays and maps the type of their elements. `text_keys`: a map with text as its keys."""

    kind: ValueKind
    element: Optional["Type"] = None
    text_keys: bool = False

    @property
    def is_number(self) -> bool:
        return self.kind in (ValueKind.INT, ValueKind.FLOAT)

    @property
    def is_any(self) -> bool:
        return self.kind is ValueKind.ANY

    @property
    def of(self) -> "Type":
        """The type of the elements."""
        return self.element or ANY

    def __str__(self) -> str:
        return self.kind.value


ANY, NIL, BOOL, INT, FLOAT, TEXT = map(
    Type, (ValueKind.ANY, ValueKind.NIL, ValueKind.BOOL, ValueKind.INT, ValueKind.FLOAT, ValueKind.TEXT)
)
TIME, DURATION, NAMED, ZONE = map(Type, (ValueKind.TIME, ValueKind.DURATION, ValueKind.NAMED, ValueKind.ZONE))
ARRAY = Type(ValueKind.ARRAY)
MAP = Type(ValueKind.MAP, text_keys=True)
NUMBERS = frozenset({ValueKind.INT, ValueKind.FLOAT})

_ORDERED = (NUMBERS, *(frozenset({kind}) for kind in (ValueKind.TEXT, ValueKind.TIME, ValueKind.DURATION)))
_TEXTS = (frozenset({ValueKind.TEXT}),)
_INTS = (frozenset({ValueKind.INT}),)
_LIKE_KINDS = {
    **dict.fromkeys(("<", ">", "<=", ">="), (_ORDERED, BOOL)),
    **dict.fromkeys(("matches", "contains", "startsWith", "endsWith"), (_TEXTS, BOOL)),
    **dict.fromkeys(("/", "**"), ((NUMBERS,), FLOAT)),
    "and": ((frozenset({ValueKind.BOOL}),), BOOL),
    "or": ((frozenset({ValueKind.BOOL}),), BOOL),
    "%": (_INTS, INT),
    "..": (_INTS, Type(ValueKind.ARRAY, INT)),
}
"""Operators whose operands are of one group of kinds, with their result types."""

_T, _D = ValueKind.TIME, ValueKind.DURATION
_ARITHMETIC = {
    "+": {(ValueKind.TEXT, ValueKind.TEXT): TEXT, (_T, _D): TIME, (_D, _T): TIME, (_D, _D): DURATION},
    "-": {(_T, _T): DURATION, (_T, _D): TIME, (_D, _D): DURATION},
    "*": {
        (_D, _D): DURATION,
        **{pair: DURATION for number in NUMBERS for pair in ((_D, number), (number, _D))},
    },
}
"""The operators `+`, `-` and `*` on kinds other than numbers."""


def binary_type(operator: str, left: Type, right: Type) -> Type:
    """Return the type of `left operator right`. Raises FormulaError if it can never work."""
    if operator in _LIKE_KINDS:
        groups, gives = _LIKE_KINDS[operator]
        found = gives if any(_both_in(group, left, right) for group in groups) else None
    elif operator in _ARITHMETIC:
        found = _arithmetic(operator, left, right)
    elif operator == "in":
        found = BOOL if _can_contain(left, right) else None
    elif operator == "??":
        found = merge(left, right) if NIL in (left, right) or left.kind is right.kind else ANY
    else:
        found = BOOL if comparable(left, right) else None
    if found is None:
        raise FormulaError(f'"{operator}" cannot be applied to {left} and {right}{_remedy(operator)}')
    return found


def unary_type(operator: str, operand: Type) -> Type:
    """Return the type of `-x`, `+x` or `not x`. Raises FormulaError."""
    if operator == "not" and operand.kind in (ValueKind.BOOL, ValueKind.ANY):
        return BOOL
    if operator != "not" and (operand.is_number or operand.is_any):
        return operand
    raise FormulaError(f'"{operator}" cannot be applied to {operand}')


def merge(left: Type, right: Type) -> Type:
    """Return the common type of two alternatives."""
    if left == NIL:
        return right
    if right == NIL or left == right:
        return left
    if left.kind is not right.kind:
        return ANY
    return ARRAY if left.kind is ValueKind.ARRAY else left


def comparable(left: Type, right: Type) -> bool:
    """Whether `==` can compare them: numbers with numbers, like with like, and nil with everything."""
    free = {ValueKind.ANY, ValueKind.NIL}
    return bool({left.kind, right.kind} & free) or left.kind is right.kind or (left.is_number and right.is_number)


def _both_in(group: frozenset[ValueKind], left: Type, right: Type) -> bool:
    return all(one.is_any or one.kind in group for one in (left, right))


def _arithmetic(operator: str, left: Type, right: Type) -> Type | None:
    if left.is_number and right.is_number:
        return FLOAT if ValueKind.FLOAT in (left.kind, right.kind) else INT
    pairs = _ARITHMETIC[operator]
    if left.is_any or right.is_any:
        taken = NUMBERS | {kind for pair in pairs for kind in pair}
        return ANY if _both_in(frozenset(taken), left, right) else None
    return pairs.get((left.kind, right.kind))


def _can_contain(needle: Type, within: Type) -> bool:
    match within.kind:
        case ValueKind.ANY:
            return True
        case ValueKind.ARRAY:
            return comparable(needle, within.of)
        case ValueKind.MAP:
            return needle.kind in (ValueKind.ANY, ValueKind.TEXT) or not within.text_keys
        case _:
            return False


def _remedy(operator: str) -> str:
    match operator:
        case "%":
            return "; triggers are numbers with a fraction, write int(name) % 2"
        case "and" | "or":
            return "; compare first, as in a > 0 and b > 0"
        case _:
            return ""
