"""Formula text -> tokens, as expr-lang 1.17 cuts them; `syntax/parser.py` parses them.

Pure. An invalid character, literal or escape raises FormulaError with its place in the text.
"""

import enum
import unicodedata
from dataclasses import dataclass

from keda_py.core.formula.syntax.limits import FormulaError

WORD_OPERATORS = frozenset(
    ("not", "in", "or", "and", "matches", "contains", "startsWith", "endsWith", "let", "if", "else")
)
_DOUBLED = {"?": ".?", "|": "|", ":": ":", ".": ".", **dict.fromkeys("&!=*<>", "&=*")}
_SINGLE = frozenset(",;%+-^/")
_BRACKETS = frozenset("()[]{}")
_DIGITS = {"x": "0123456789abcdefABCDEF_", "o": "01234567_", "b": "01_"}
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_CODE_LENGTHS = {"x": 2, "u": 4, "U": 8}


class TokenKind(enum.Enum):
    """The kinds of tokens; NAME includes true, false and nil."""

    NAME = "name"
    NUMBER = "number"
    TEXT = "text"
    OPERATOR = "operator"
    BRACKET = "bracket"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `at` is its offset, `text` of a TEXT token is the literal's value."""

    kind: TokenKind
    text: str
    at: int

    def __str__(self) -> str:
        return "end of the formula" if self.kind is TokenKind.END else f'"{self.text}"'


def tokenise(source: str) -> list[Token]:
    """Return all tokens and an END. Raises FormulaError."""
    half = next((at for at, char in enumerate(source) if "\ud800" <= char <= "\udfff"), -1)
    if half >= 0:
        raise FormulaError("half of a pair of surrogates is no character", half)
    return list(_Lexer(source).tokens())


def is_letter(char: str) -> bool:
    """Whether a name may begin with the character."""
    return char == "_" or char == "$" or char.isalpha()


def _is_name_char(char: str) -> bool:
    return is_letter(char) or unicodedata.category(char) == "Nd" if char else False


class _Lexer:
    def __init__(self, source: str) -> None:
        self._source, self._at = source, 0

    def tokens(self) -> "list[Token]":
        found = []
        while (token := self._next()).kind is not TokenKind.END:
            found.append(token)
        return [*found, token]

    def _next(self) -> Token:
        self._skip_blanks()
        start = self._at
        char = self._peek()
        if not char:
            return Token(TokenKind.END, "", start)
        if char in "\"'":
            return Token(TokenKind.TEXT, self._quoted(char), start)
        if char == "`":
            return Token(TokenKind.TEXT, self._raw(), start)
        if char.isascii() and char.isdigit():
            return self._number(start)
        if is_letter(char):
            while _is_name_char(self._peek()):
                self._at += 1
            word = self._source[start : self._at]
            return Token(TokenKind.OPERATOR if word in WORD_OPERATORS else TokenKind.NAME, word, start)
        return self._symbol(char, start)

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._source[at] if at < len(self._source) else ""

    def _skip_blanks(self) -> None:
        while True:
            if self._peek().isspace():
                self._at += 1
            elif self._source.startswith("//", self._at):
                end = self._source.find("\n", self._at)
                self._at = len(self._source) if end < 0 else end + 1
            elif self._source.startswith("/*", self._at):
                end = self._source.find("*/", self._at + 2)
                if end < 0:
                    raise FormulaError("this comment has no end; close it with */", self._at)
                self._at = end + 2
            else:
                return

    def _symbol(self, char: str, start: int) -> Token:
        self._at += 1
        if char in _BRACKETS:
            return Token(TokenKind.BRACKET, char, start)
        if char == "." and self._peek().isascii() and self._peek().isdigit():
            self._at = start
            return self._number(start)
        if char == "#":
            # `#index` is two tokens, and a second # belongs to the first.
            if self._peek() == "#":
                self._at += 1
        elif char in _DOUBLED:
            if self._peek() and self._peek() in _DOUBLED[char]:
                self._at += 1
        elif char not in _SINGLE:
            raise FormulaError(f'"{char}" has no meaning in a formula', start)
        return Token(TokenKind.OPERATOR, self._source[start : self._at], start)

    def _number(self, start: int) -> Token:
        digits = "0123456789_"
        if self._peek() == "0":
            self._at += 1
            base = self._peek().lower()
            if base and base in _DIGITS:
                digits = _DIGITS[base]
                self._at += 1
        self._run(digits)
        if self._peek() == "." and self._peek(1) != ".":
            self._at += 1
            self._run(digits)
        if self._peek() != "." and self._peek() and self._peek() in "eE":
            self._at += 1
            if self._peek() and self._peek() in "+-":
                self._at += 1
            self._run(digits)
        if _is_name_char(self._peek()):
            raise FormulaError(f'"{self._source[start : self._at + 1]}" is neither a number nor a name', start)
        return Token(TokenKind.NUMBER, self._source[start : self._at], start)

    def _run(self, allowed: str) -> None:
        while self._peek() and self._peek() in allowed:
            self._at += 1

    def _raw(self) -> str:
        start = self._at
        parts = []
        self._at += 1
        while True:
            end = self._source.find("`", self._at)
            if end < 0:
                raise FormulaError("this text has no end; close it with `", start)
            parts.append(self._source[self._at : end])
            self._at = end + 1
            if self._peek() != "`":
                return "`".join(parts)
            self._at += 1

    def _quoted(self, quote: str) -> str:
        start = self._at
        self._at += 1
        parts = []
        while (char := self._peek()) != quote:
            if char in ("", "\n"):
                raise FormulaError(f"this text has no end; close it with {quote}", start)
            self._at += 1
            parts.append(self._escape(quote) if char == "\\" else char)
        self._at += 1
        return "".join(parts)

    def _escape(self, quote: str) -> str:
        start, char = self._at - 1, self._peek()
        self._at += 1
        if char == quote:
            return quote
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "u" and self._peek() == "{":
            end = self._source.find("}", self._at)
            digits = self._source[self._at + 1 : end] if end > 0 else ""
            self._at = end + 1
            return _code_point(digits if len(digits) <= 6 else "", 16, start)
        if char in _CODE_LENGTHS:
            return _code_point(self._take(_CODE_LENGTHS[char]), 16, start)
        if char and char in "01234567":
            return _code_point(char + self._take(2), 8, start)
        raise FormulaError(f'"\\{char}" is no escape of a text; write \\\\ for a backslash', start)

    def _take(self, count: int) -> str:
        taken = self._source[self._at : self._at + count]
        self._at += count
        return taken if len(taken) == count else ""


def _code_point(digits: str, base: int, at: int) -> str:
    allowed = "01234567" if base == 8 else "0123456789abcdefABCDEF"
    number = int(digits, base) if digits and all(digit in allowed for digit in digits) else -1
    if not 0 <= number <= 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        raise FormulaError("this escape names no character", at)
    return chr(number)
