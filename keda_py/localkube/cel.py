"""CEL, as far as `x-kubernetes-validations` of CRDs need it: `has(self.min) ? self.min <= self.max : true`.

A small evaluator instead of a library: cel-python would cost 23 MiB for the rules of a handful of CRDs. Understood are
field access, indexing, `has`, `size`, arithmetic, comparison, `in`, `&&`, `||`, `!`, `?:`, list literals, the string
methods and macros named below. `compile_rule` is called by `validation`; what it cannot read is a `CelError`.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import re2

Scope: TypeAlias = Mapping[str, Any]
Expression: TypeAlias = Callable[[Scope], Any]

_TOKEN = re2.compile(
    r'\s*(?:(?P<number>\d+\.\d+|\d+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<text>"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')'
    r"|(?P<symbol>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]]))"
)


class CelError(ValueError):
    """The expression cannot be read, or has no value for this object."""


@lru_cache(maxsize=512)
def compile_rule(rule: str) -> Expression:
    """A function from variables (`self`, `oldSelf`) to the rule's value; CelError if the rule cannot be read."""
    parser = _Parser(_tokens(rule))
    expression = parser.ternary()
    if parser.kind != "end":
        raise CelError(f"CEL rule {rule!r}: unexpected {parser.text!r}")
    return expression


def _tokens(rule: str) -> list[tuple[str, str]]:
    tokens, position = [], 0
    end = len(rule.rstrip())
    while position < end:
        found = _TOKEN.match(rule, position)
        if found is None:
            raise CelError(f"CEL rule {rule!r}: cannot read {rule[position:]!r}")
        kind = next(name for name, text in found.groupdict().items() if text is not None)
        tokens.append((kind, found.group(kind)))
        position = found.end()
    return [*tokens, ("end", "")]


def _equal(one: Any, other: Any) -> bool:
    """CEL's booleans are no numbers, as Python's are."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _divide(one: Any, other: Any) -> Any:
    """Integers divide toward zero: -7 / 2 is -3."""
    if isinstance(one, int) and isinstance(other, int):
        quotient = abs(one) // abs(other)
        return quotient if (one < 0) == (other < 0) else -quotient
    return one / other


def _remainder(one: Any, other: Any) -> Any:
    """The sign follows the dividend: -7 % 2 is -1."""
    return one - other * _divide(one, other)


_LEVELS: tuple[dict[str, Callable[[Any, Any], Any]], ...] = (
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


def _checked(function: Callable[..., Any], *operands: Expression) -> Expression:
    """Apply a function to evaluated operands; a wrong type or a division by zero is no value."""

    def evaluate(scope: Scope) -> Any:
        values = [operand(scope) for operand in operands]
        try:
            return function(*values)
        except (TypeError, ZeroDivisionError, KeyError, IndexError, AttributeError) as error:
            raise CelError(f"no such overload: {error}") from None

    return evaluate


def _decides(left: Expression, right: Expression, verdict: bool) -> Expression:
    """`||` (verdict True) and `&&` (False): a side that decides does so even if the other has no value."""

    def evaluate(scope: Scope) -> Any:
        try:
            if left(scope) is verdict:
                return verdict
        except CelError:
            if right(scope) is verdict:
                return verdict
            raise
        return right(scope)

    return evaluate


def _select(target: Expression, name: str) -> Expression:
    def evaluate(scope: Scope) -> Any:
        value = target(scope)
        if not isinstance(value, dict) or name not in value:
            raise CelError(f"no such key: {name}")
        return value[name]

    return evaluate


def _has(target: Expression, name: str) -> Expression:
    def evaluate(scope: Scope) -> bool:
        value = target(scope)
        return isinstance(value, dict) and value.get(name) is not None

    return evaluate


_METHODS: dict[str, Callable[..., Any]] = {
    "startsWith": lambda text, prefix: text.startswith(prefix),
    "endsWith": lambda text, suffix: text.endswith(suffix),
    "contains": lambda text, part: part in text,
    "matches": lambda text, pattern: re2.search(pattern, text) is not None,
    "size": len,
    "lowerAscii": lambda text: text.lower(),
    "upperAscii": lambda text: text.upper(),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "size": len,
    "int": int,
    "double": float,
    "string": lambda value: str(value).lower() if isinstance(value, bool) else str(value),
}
_MACROS: dict[str, Callable[[Sequence[Any], Callable[[Any], Any]], Any]] = {
    "all": lambda items, test: all(test(item) for item in items),
    "exists": lambda items, test: any(test(item) for item in items),
    "exists_one": lambda items, test: sum(1 for item in items if test(item)) == 1,
    "filter": lambda items, test: [item for item in items if test(item)],
    "map": lambda items, change: [change(item) for item in items],
}


def _macro(name: str, target: Expression, variable: str, body: Expression) -> Expression:
    def evaluate(scope: Scope) -> Any:
        return _MACROS[name](list(target(scope)), lambda item: body({**scope, variable: item}))

    return evaluate


class _Parser:
    """Recursive descent, one method for each level of precedence."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens, self._at = tokens, 0

    @property
    def kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def text(self) -> str:
        return self._tokens[self._at][1]

    def _take(self) -> str:
        text = self.text
        self._at += 1
        return text

    def _identifier(self) -> str:
        if self.kind != "name":
            raise CelError(f"CEL: expected a name before {self.text!r}")
        return self._take()

    def _accept(self, symbol: str) -> bool:
        if self.kind in ("symbol", "name") and self.text == symbol:
            self._at += 1
            return True
        return False

    def _expect(self, symbol: str) -> None:
        if not self._accept(symbol):
            raise CelError(f"CEL: expected {symbol!r} before {self.text!r}")

    def ternary(self) -> Expression:
        condition = self._either()
        if not self._accept("?"):
            return condition
        yes = self.ternary()
        self._expect(":")
        no = self.ternary()
        return lambda scope: yes(scope) if condition(scope) else no(scope)

    def _either(self) -> Expression:
        left = self._both()
        while self._accept("||"):
            left = _decides(left, self._both(), True)
        return left

    def _both(self) -> Expression:
        left = self._binary(0)
        while self._accept("&&"):
            left = _decides(left, self._binary(0), False)
        return left

    def _binary(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self.kind in ("symbol", "name") and self.text in _LEVELS[level]:
            function = _LEVELS[level][self._take()]
            left = _checked(function, left, self._binary(level + 1))
        return left

    def _unary(self) -> Expression:
        if self._accept("!"):
            return _checked(operator.not_, self._unary())
        if self._accept("-"):
            return _checked(operator.neg, self._unary())
        return self._postfix(self._primary())

    def _postfix(self, value: Expression) -> Expression:
        while True:
            if self._accept("."):
                value = self._member(value, self._identifier())
            elif self._accept("["):
                key = self.ternary()
                self._expect("]")
                value = _checked(operator.getitem, value, key)
            else:
                return value

    def _member(self, target: Expression, name: str) -> Expression:
        if not self._accept("("):
            return _select(target, name)
        if name in _MACROS:
            variable = self._identifier()
            self._expect(",")
            body = self.ternary()
            self._expect(")")
            return _macro(name, target, variable, body)
        if name not in _METHODS:
            raise CelError(f"CEL: method {name} is not known here")
        return _checked(_METHODS[name], target, *self._arguments())

    def _arguments(self) -> list[Expression]:
        """What follows an opening bracket, up to its end."""
        arguments: list[Expression] = []
        while not self._accept(")"):
            if arguments:
                self._expect(",")
            arguments.append(self.ternary())
        return arguments

    def _primary(self) -> Expression:
        kind, text = self.kind, self.text
        if self._accept("("):
            inner = self.ternary()
            self._expect(")")
            return inner
        if self._accept("["):
            return self._list()
        if kind not in ("number", "text", "name"):
            raise CelError(f"CEL: unexpected {text!r}")
        self._at += 1
        if kind == "name":
            return self._name(text)
        value: Any = _unquoted(text) if kind == "text" else float(text) if "." in text else int(text)
        return lambda scope: value

    def _list(self) -> Expression:
        items: list[Expression] = []
        while not self._accept("]"):
            if items:
                self._expect(",")
            items.append(self.ternary())
        return lambda scope: [item(scope) for item in items]

    def _name(self, name: str) -> Expression:
        if name in ("true", "false", "null"):
            value = {"true": True, "false": False, "null": None}[name]
            return lambda scope: value
        if not self._accept("("):
            return lambda scope: scope[name]
        if name == "has":
            return self._presence()
        if name not in _FUNCTIONS:
            raise CelError(f"CEL: function {name} is not known here")
        return _checked(_FUNCTIONS[name], *self._arguments())

    def _presence(self) -> Expression:
        """has(a.b.c): everything but the last step must exist."""
        path = [self._identifier()]
        while self._accept("."):
            path.append(self._identifier())
        self._expect(")")
        root, *steps = path
        if not steps:
            raise CelError("CEL: has() needs a field, as in has(self.name)")
        target: Expression = lambda scope: scope[root]  # noqa: E731 # typed as the other expressions are
        for step in steps[:-1]:
            target = _select(target, step)
        return _has(target, steps[-1])


def _unquoted(text: str) -> str:
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    plain, position, body = "", 0, text[1:-1]
    while position < len(body):
        if body[position] == "\\":
            position += 1
            plain += escapes.get(body[position], body[position])
        else:
            plain += body[position]
        position += 1
    return plain
