"""CEL, as far as `x-kubernetes-validations` of CRDs need it: `has(self.min) ? self.min <= self.max : true`.

A small evaluator instead of a library: cel-python would cost 23 MiB for the rules of a handful of CRDs. It supports
field access, indexing, `has`, `size`, arithmetic, comparison, `in`, `&&`, `||`, `!`, `?:`, list literals, and the
string methods and macros of `cel_functions`. `validation` calls `compile_rule`; anything else is a `CelError`.
"""

import operator
from functools import lru_cache
from typing import Any

import re2

from keda_py.schema.cel_functions import (
    FUNCTIONS,
    LEVELS,
    MACROS,
    METHODS,
    CelError,
    Expression,
    checked,
    has,
    macro,
    select,
    short_circuit,
    variable,
)

_TOKEN = re2.compile(
    r'\s*(?:(?P<number>\d+\.\d+|\d+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<text>"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')'
    r"|(?P<symbol>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]]))"
)


# A rule is compiled once and evaluated on every write of every object of its kind.
@lru_cache(maxsize=512)
def compile_rule(rule: str) -> Expression:
    """Compile a rule to a function of its variables (`self`, `oldSelf`). Raises CelError for an unsupported rule."""
    parser = _RuleParser(_tokens(rule))
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


class _RuleParser:
    """A recursive-descent parser, with one method for each level of precedence."""

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
            left = short_circuit(left, self._both(), verdict=True)
        return left

    def _both(self) -> Expression:
        left = self._binary(0)
        while self._accept("&&"):
            left = short_circuit(left, self._binary(0), verdict=False)
        return left

    def _binary(self, level: int) -> Expression:
        if level == len(LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self.kind in ("symbol", "name") and self.text in LEVELS[level]:
            function = LEVELS[level][self._take()]
            left = checked(function, left, self._binary(level + 1))
        return left

    def _unary(self) -> Expression:
        if self._accept("!"):
            return checked(operator.not_, self._unary())
        if self._accept("-"):
            return checked(operator.neg, self._unary())
        return self._postfix(self._primary())

    def _postfix(self, value: Expression) -> Expression:
        while True:
            if self._accept("."):
                value = self._member(value, self._identifier())
            elif self._accept("["):
                key = self.ternary()
                self._expect("]")
                value = checked(operator.getitem, value, key)
            else:
                return value

    def _member(self, target: Expression, name: str) -> Expression:
        if not self._accept("("):
            return select(target, name)
        if name in MACROS:
            item_name = self._identifier()
            self._expect(",")
            body = self.ternary()
            self._expect(")")
            return macro(name, target, item_name, body)
        if name not in METHODS:
            raise CelError(f"CEL: method {name} is not known here")
        return checked(METHODS[name], target, *self._arguments())

    def _arguments(self) -> list[Expression]:
        """Parse the arguments up to the closing bracket."""
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
            return variable(name)
        if name == "has":
            return self._presence()
        if name not in FUNCTIONS:
            raise CelError(f"CEL: function {name} is not known here")
        return checked(FUNCTIONS[name], *self._arguments())

    def _presence(self) -> Expression:
        """Parse has(a.b.c): all but the last step must exist."""
        path = [self._identifier()]
        while self._accept("."):
            path.append(self._identifier())
        self._expect(")")
        root, *steps = path
        if not steps:
            raise CelError("CEL: has() needs a field, as in has(self.name)")
        target = variable(root)
        for step in steps[:-1]:
            target = select(target, step)
        return has(target, steps[-1])


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
