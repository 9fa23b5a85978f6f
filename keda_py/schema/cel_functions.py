"""The operators, methods and macros of CEL; `cel` parses a rule to calls of these.

An `Expression` is a function from variables to a value. It raises `CelError` if it has no value for an object.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import re2

Scope: TypeAlias = Mapping[str, Any]
Expression: TypeAlias = Callable[[Scope], Any]


class CelError(ValueError):
    """An expression that cannot be parsed, or has no value for an object."""


def _equal(one: Any, other: Any) -> bool:
    """Compare as CEL, where booleans are not numbers as in Python."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _divide(one: Any, other: Any) -> Any:
    """Divide integers toward zero: -7 / 2 is -3."""
    if isinstance(one, int) and isinstance(other, int):
        quotient = abs(one) // abs(other)
        return quotient if (one < 0) == (other < 0) else -quotient
    return one / other


def _remainder(one: Any, other: Any) -> Any:
    """Compute a remainder with the sign of the dividend: -7 % 2 is -1."""
    return one - other * _divide(one, other)


LEVELS: tuple[dict[str, Callable[[Any, Any], Any]], ...] = (
    {
        "==": _equal,
        "!=": lambda one, other: not _equal(one, other),
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "in": lambda one, other: one in other,
    },
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": _divide, "%": _remainder},
)


def checked(function: Callable[..., Any], *operands: Expression) -> Expression:
    """Apply a function to evaluated operands. A wrong type or a division by zero raises CelError."""

    def evaluate(scope: Scope) -> Any:
        values = [operand(scope) for operand in operands]
        try:
            return function(*values)
        except (TypeError, ZeroDivisionError, KeyError, IndexError, AttributeError) as error:
            raise CelError(f"no such overload: {error}") from None

    return evaluate


def short_circuit(left: Expression, right: Expression, *, verdict: bool) -> Expression:
    """Build `||` (verdict True) or `&&` (False): one deciding side is enough, even if the other raises CelError."""

    def evaluate(scope: Scope) -> Any:
        try:
            # `self.a > 0 && has(self.a)` is false without `a`, not an error: either side may decide alone.
            if left(scope) is verdict:
                return verdict
        except CelError:
            if right(scope) is verdict:
                return verdict
            raise
        return right(scope)

    return evaluate


def variable(name: str) -> Expression:
    """Look up `self`, `oldSelf` or a macro's variable."""

    def evaluate(scope: Scope) -> Any:
        if name not in scope:
            raise CelError(f"undeclared reference to {name!r}")
        return scope[name]

    return evaluate


def select(target: Expression, name: str) -> Expression:
    """Evaluate target.name."""

    def evaluate(scope: Scope) -> Any:
        value = target(scope)
        if not isinstance(value, dict) or name not in value:
            raise CelError(f"no such key: {name}")
        return value[name]

    return evaluate


def has(target: Expression, name: str) -> Expression:
    """Evaluate has(target.name), where null counts as absent."""

    def evaluate(scope: Scope) -> bool:
        value = target(scope)
        return isinstance(value, dict) and value.get(name) is not None

    return evaluate


METHODS: dict[str, Callable[..., Any]] = {
    "startsWith": lambda text, prefix: text.startswith(prefix),
    "endsWith": lambda text, suffix: text.endswith(suffix),
    "contains": lambda text, part: part in text,
    "matches": lambda text, pattern: re2.search(pattern, text) is not None,
    "size": len,
    "lowerAscii": lambda text: text.lower(),
    "upperAscii": lambda text: text.upper(),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "size": len,
    "int": int,
    "double": float,
    "string": lambda value: str(value).lower() if isinstance(value, bool) else str(value),
}
MACROS: dict[str, Callable[[Sequence[Any], Callable[[Any], Any]], Any]] = {
    "all": lambda items, test: all(test(item) for item in items),
    "exists": lambda items, test: any(test(item) for item in items),
    "exists_one": lambda items, test: sum(1 for item in items if test(item)) == 1,
    "filter": lambda items, test: [item for item in items if test(item)],
    "map": lambda items, change: [change(item) for item in items],
}


def macro(name: str, target: Expression, item_name: str, body: Expression) -> Expression:
    """Evaluate target.NAME(item, body)."""

    def evaluate(scope: Scope) -> Any:
        return MACROS[name](list(target(scope)), lambda item: body({**scope, item_name: item}))

    return evaluate
