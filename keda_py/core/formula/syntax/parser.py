"""Tokens -> syntax tree, with expr-lang 1.17's precedence; `formula/compiler.py` gives the tree its meaning.

Pure. Each level of nesting counts toward MAX_DEPTH, so that no formula exhausts the stack. `??` binds tightest of all
binary operators: `1 + 2 ?? 3 + 4` is 1 + (2 ?? 3) + 4 = 7.
"""

import math
from collections.abc import Callable

from keda_py.core.formula.syntax.lexer import Token, TokenKind, is_letter, tokenise
from keda_py.core.formula.syntax.limits import MAX_DEPTH, FormulaError
from keda_py.core.formula.syntax.nodes import (
    Array,
    Binary,
    Call,
    Chain,
    Conditional,
    Let,
    Literal,
    Map,
    MemberAccess,
    MethodCall,
    Name,
    Node,
    Pointer,
    Predicate,
    Sequence,
    Slice,
    Unary,
)

BINARY = {
    "|": 0,
    **dict.fromkeys(("or", "||"), 10),
    **dict.fromkeys(("and", "&&"), 15),
    **dict.fromkeys(("==", "!=", "<", ">", ">=", "<=", "in", "matches", "contains", "startsWith", "endsWith"), 20),
    "..": 25,
    **dict.fromkeys("+-", 30),
    **dict.fromkeys("*/%", 60),
    **dict.fromkeys(("**", "^"), 100),
    "??": 500,
}
RIGHT_ASSOCIATIVE = frozenset({"**", "^"})
UNARY = {"not": 50, "!": 50, "-": 90, "+": 90}
NEGATABLE = frozenset({"in", "matches", "contains", "startsWith", "endsWith"})
COMPARISONS = frozenset({"<", ">", "<=", ">="})
SPELLINGS = {"||": "or", "&&": "and", "^": "**", "!": "not"}
LITERALS: dict[str, bool | None] = {"true": True, "false": False, "nil": None}

PREDICATES = {
    **dict.fromkeys(("all", "none", "any", "one", "filter", "map"), "ep"),
    **dict.fromkeys(("find", "findIndex", "findLast", "findLastIndex", "groupBy"), "ep"),
    **dict.fromkeys(("count", "sum"), "eP"),
    **dict.fromkeys(("sortBy", "reduce"), "epE"),
}
"""Builtins that take a predicate, and their arguments: e an expression, p a predicate; capitals are optional."""


def parse(source: str) -> Node:
    """Parse a whole formula. Raises FormulaError."""
    parser = _Parser(tokenise(source))
    node = parser.sequence()
    parser.expect_end()
    return node


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self._index = tokens, 0
        self._depth = self._predicates = 0

    @property
    def _token(self) -> Token:
        return self._tokens[self._index]

    def _next(self) -> Token:
        token = self._token
        self._index = min(self._index + 1, len(self._tokens) - 1)
        return token

    def _is(self, text: str) -> bool:
        return self._token.text == text and self._token.kind in (TokenKind.OPERATOR, TokenKind.BRACKET)

    def _accept(self, text: str) -> bool:
        if self._is(text):
            self._next()
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._unexpected(f'expected "{text}"')

    def _expect_name(self) -> Token:
        if self._token.kind is not TokenKind.NAME:
            raise self._unexpected("expected a name")
        return self._next()

    def _unexpected(self, wanted: str) -> FormulaError:
        return FormulaError(f"unexpected {self._token}; {wanted}", self._token.at)

    def expect_end(self) -> None:
        if self._token.kind is not TokenKind.END:
            raise self._unexpected("expected an operator or the end of the formula")

    def sequence(self) -> Node:
        parts = [self.expression()]
        while self._accept(";"):
            if self._token.kind is TokenKind.END:
                break
            parts.append(self.expression())
        return parts[0] if len(parts) == 1 else Sequence(parts=tuple(parts), at=parts[0].at)

    def expression(self, precedence: int = 0) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise FormulaError(f"more than {MAX_DEPTH} brackets or operators inside each other", self._token.at)
        if precedence == 0 and self._is("let"):
            node = self._let()
        elif precedence == 0 and self._is("if"):
            node = self._if()
        else:
            node = self._binary(self._primary(), precedence)
            if precedence == 0:
                node = self._conditional(node)
        self._depth -= 1
        return node

    def _let(self) -> Node:
        self._next()
        name = self._expect_name()
        self._expect("=")
        value = self.expression()
        self._expect(";")
        return Let(name=name.text, value=value, body=self.sequence(), at=name.at)

    def _if(self) -> Node:
        at = self._next().at
        condition = self.expression()
        then = self._block()
        self._expect("else")
        if not self._is("if"):
            return Conditional(condition=condition, then=then, otherwise=self._block(), at=at)
        return Conditional(condition=condition, then=then, otherwise=self.expression(), at=at)

    def _block(self) -> Node:
        self._expect("{")
        node = self.sequence()
        self._expect("}")
        return node

    def _conditional(self, node: Node) -> Node:
        while self._is("?"):
            at = self._next().at
            if self._accept(":"):
                node = Conditional(condition=node, then=node, otherwise=self.expression(), at=at)
                continue
            then = self.expression()
            self._expect(":")
            node = Conditional(condition=node, then=then, otherwise=self.expression(), at=at)
        return node

    def _binary(self, left: Node, precedence: int) -> Node:
        previous = ""
        while self._token.kind is TokenKind.OPERATOR:
            negation = self._token if self._is("not") else None
            token = self._tokens[self._index + 1] if negation else self._token
            if negation and token.text not in NEGATABLE:
                raise FormulaError(f'unexpected {token} after "not"; expected "in" or "matches" or the like', token.at)
            if BINARY.get(token.text, -1) < precedence:
                break
            self._index += 2 if negation else 1
            left = self._operation(left, token, previous)
            if negation:
                left = Unary(operator="not", operand=left, at=negation.at)
            previous = token.text
        return left

    def _operation(self, left: Node, token: Token, previous: str) -> Node:
        operator = token.text
        if operator == "|":
            return self._call(self._expect_name(), (left,))
        if previous == "??" and operator != "??":
            text = f'"??" and "{operator}" beside each other are ambiguous; put brackets around one of them'
            raise FormulaError(text, token.at)
        if operator in COMPARISONS:
            return self._comparison(left, token)
        right = self.expression(BINARY[operator] + (operator not in RIGHT_ASSOCIATIVE))
        return Binary(operator=SPELLINGS.get(operator, operator), left=left, right=right, at=token.at)

    def _comparison(self, left: Node, token: Token) -> Node:
        """Parse comparisons; a chain such as `1 < x < 3` means `1 < x and x < 3`."""
        chain: Node | None = None
        while True:
            right = self.expression(BINARY[token.text] + 1)
            pair = Binary(operator=token.text, left=left, right=right, at=token.at)
            chain = Binary(operator="and", left=chain, right=pair, at=token.at) if chain else pair
            if not (self._token.kind is TokenKind.OPERATOR and self._token.text in COMPARISONS):
                return chain
            left, token = right, self._next()

    def _primary(self) -> Node:
        token = self._token
        if token.kind is TokenKind.OPERATOR and token.text in UNARY:
            self._next()
            operand = self.expression(UNARY[token.text])
            return self._postfix(Unary(operator=SPELLINGS.get(token.text, token.text), operand=operand, at=token.at))
        if self._accept("("):
            node = self.sequence()
            self._expect(")")
            return self._postfix(node)
        if self._predicates and (self._is("#") or self._is(".")):
            return self._postfix(self._pointer())
        if self._accept("::"):
            return self._postfix(self._call(self._expect_name(), ()))
        return self._secondary()

    def _pointer(self) -> Node:
        at, name = self._token.at, ""
        if self._accept("#") and self._token.kind is TokenKind.NAME:
            name = self._next().text
        return Pointer(name=name, at=at)

    def _secondary(self) -> Node:
        token = self._token
        match token.kind:
            case TokenKind.NUMBER:
                self._next()
                return Literal(value=_read_number(token), at=token.at)
            case TokenKind.TEXT:
                self._next()
                return self._postfix(Literal(value=token.text, at=token.at))
            case TokenKind.NAME:
                self._next()
                if token.text in LITERALS:
                    return Literal(value=LITERALS[token.text], at=token.at)
                return self._postfix(self._call(token, ()) if self._is("(") else Name(name=token.text, at=token.at))
        if self._is("["):
            return self._postfix(self._array())
        if self._is("{"):
            return self._postfix(self._map())
        raise self._unexpected("expected a value")

    def _call(self, name: Token, first: tuple[Node, ...]) -> Node:
        self._expect("(")
        if name.text in PREDICATES:
            return self._predicate_call(name, first)
        arguments = list(first)
        self._listed(")", lambda: arguments.append(self.expression()))
        return Call(name=name.text, arguments=tuple(arguments), at=name.at)

    def _listed(self, closing: str, item: Callable[[], None]) -> None:
        """Parse items between commas up to the closing bracket; one comma may follow the last."""
        if not self._accept(closing):
            item()
            while not self._accept(closing):
                self._expect(",")
                if self._accept(closing):
                    return
                item()

    def _predicate_call(self, name: Token, first: tuple[Node, ...]) -> Node:
        arguments = list(first)
        for index, kind in enumerate(PREDICATES[name.text][len(first) :]):
            if self._is(")"):
                if kind.isupper():
                    break
                raise self._unexpected(f"{name.text}() takes an array and a predicate such as {{# > 1}}")
            if index:
                self._expect(",")
                if kind.isupper() and self._is(")"):
                    break
            arguments.append(self._predicate() if kind in "pP" else self.expression())
        self._accept(",")
        self._expect(")")
        return Call(name=name.text, arguments=tuple(arguments), at=name.at)

    def _predicate(self) -> Node:
        at = self._token.at
        self._predicates += 1
        body = self._block() if self._is("{") else self.expression()
        self._predicates -= 1
        return Predicate(body=body, at=at)

    def _array(self) -> Node:
        at = self._next().at
        items: list[Node] = []
        self._listed("]", lambda: items.append(self.expression()))
        return Array(items=tuple(items), at=at)

    def _map(self) -> Node:
        at = self._next().at
        pairs: list[tuple[Node, Node]] = []
        self._listed("}", lambda: pairs.append(self._pair()))
        return Map(pairs=tuple(pairs), at=at)

    def _pair(self) -> tuple[Node, Node]:
        token = self._token
        if token.kind in (TokenKind.NUMBER, TokenKind.TEXT, TokenKind.NAME):
            self._next()
            key: Node = Literal(value=token.text, at=token.at)
        elif self._is("("):
            key = self.expression()
        else:
            raise self._unexpected("expected a key: a name, a text, a number, or an expression in round brackets")
        self._expect(":")
        return key, self.expression()

    def _postfix(self, node: Node) -> Node:
        links = 0
        while self._is(".") or self._is("?.") or self._is("["):
            links += 1
            if links > MAX_DEPTH:
                raise FormulaError(f"more than {MAX_DEPTH} members in a row", self._token.at)
            optional = self._is("?.")
            token = self._token
            if self._accept("["):
                node = self._index_or_slice(node, token.at, optional=False)
                continue
            self._next()
            if optional and self._accept("["):
                node = self._index_or_slice(node, token.at, optional=True)
            else:
                node = self._property(node, optional)
        return node

    def _property(self, node: Node, optional: bool) -> Node:
        token = self._next()
        if token.kind is not TokenKind.NAME and not (token.kind is TokenKind.OPERATOR and is_letter(token.text[0])):
            raise FormulaError(f"unexpected {token}; expected the name of a member", token.at)
        base = node.inner if isinstance(node, Chain) else node
        key = Literal(value=token.text, at=token.at)
        member: Node = MemberAccess(base=base, key=key, optional=optional, at=token.at)
        if self._accept("(") and isinstance(member, MemberAccess):
            arguments: list[Node] = []
            self._listed(")", lambda: arguments.append(self.expression()))
            member = MethodCall(callee=member, name=token.text, arguments=tuple(arguments), at=token.at)
        return Chain(inner=member, at=token.at) if optional or isinstance(node, Chain) else member

    def _index_or_slice(self, base: Node, at: int, *, optional: bool) -> Node:
        start = None if self._is(":") else self.expression()
        if self._accept(":"):
            end = None if self._is("]") else self.expression()
            self._expect("]")
            return Slice(base=base, start=start, end=end, at=at)
        self._expect("]")
        if start is None:
            raise self._unexpected("expected an index")
        member = MemberAccess(base=base, key=start, optional=optional, at=at)
        return Chain(inner=member, at=at) if optional else member


def _read_number(token: Token) -> int | float:
    text = token.text.replace("_", "").lower()
    try:
        if text.startswith(("0x", "0b", "0o")):
            number: int | float = int(text, 0)
        elif "." in text or "e" in text:
            number = float(text)
        else:
            number = int(text)
    except ValueError:
        raise FormulaError(f"{token} is not a number", token.at) from None
    if math.isinf(number) or (isinstance(number, int) and number >= 2**63):
        raise FormulaError(f"{token} is too large a number", token.at)
    return number
