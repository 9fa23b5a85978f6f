"""Label selectors: parsed once, matched against the labels of plain objects.

Pure. Refusals are ValueErrors in the words of Kubernetes' own parser. The parser is hand-written and bounded, without
regular expressions: selectors come from tenants and from any caller, and each object is compared with each requirement.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

# Characters of a selector; parsing a longer one takes over 5 ms, at each poll.
MAX_LENGTH = 4096
MAX_REQUIREMENTS = 100

_PUNCTUATION = "(),!=<>"
_LONGEST_NUMBER = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One term of a label selector: `operator` is exists, !, in or notin (= and != are sets of one), gt or lt."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels fulfil the term; `notin` holds for an absent key too."""
        present = self.key in labels
        if self.operator == "exists":
            return present
        if self.operator == "!":
            return not present
        if self.operator == "in":
            return present and labels[self.key] in self.values
        if self.operator == "notin":
            return not present or labels[self.key] not in self.values
        return present and self._compare(labels[self.key])

    def _compare(self, text: str) -> bool:
        bound = int(next(iter(self.values)))
        try:
            value = int(text)
        except ValueError:
            return False
        return value > bound if self.operator == "gt" else value < bound


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A conjunction of requirements; without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether `metadata.labels` fulfils every requirement."""
        labels = obj["metadata"].get("labels") or {}
        return all(requirement.matches(labels) for requirement in self.requirements)

    @classmethod
    def parse(cls, text: str) -> "LabelSelector":
        """Parse the query form, `team in (core,infra),!absent`; ValueError in the real parser's words."""
        if len(text) > MAX_LENGTH:
            raise ValueError(f"a label selector has at most {MAX_LENGTH} characters")
        requirements = tuple(islice(_Parser(text).requirements(), MAX_REQUIREMENTS + 1))
        if len(requirements) > MAX_REQUIREMENTS:
            raise ValueError(f"a label selector has at most {MAX_REQUIREMENTS} requirements")
        return cls(requirements)

    @classmethod
    def of(cls, selector: Mapping[str, Any] | None) -> "LabelSelector":
        """Parse the object form (matchLabels, matchExpressions); a missing one matches no controller's objects."""
        selector = selector or {}
        operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
        equal = [
            Requirement(key=key, operator="in", values=frozenset([value]))
            for key, value in (selector.get("matchLabels") or {}).items()
        ]
        sets = [
            Requirement(key=e["key"], operator=operators[e["operator"]], values=frozenset(e.get("values") or ()))
            for e in selector.get("matchExpressions") or ()
        ]
        return cls((*equal, *sets))


class _Parser:
    """Parser of label selectors, one requirement after another."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def requirements(self) -> Iterator[Requirement]:
        if not self._tokens:
            return
        while True:
            yield self._requirement()
            if self._peek() == "":
                return
            self._expect(",")

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._next()
            return Requirement(key=self._identifier("identifier"), operator="!")
        key = self._identifier("!, identifier, or ''")
        operator = self._peek()
        if operator in ("", ","):
            return Requirement(key=key, operator="exists")
        self._next()
        if operator in ("in", "notin"):
            return Requirement(key=key, operator=operator, values=frozenset(self._set()))
        if operator in ("=", "==", "!="):
            value = self._next() if self._peek() not in ("", ",") else ""
            return Requirement(key=key, operator="notin" if operator == "!=" else "in", values=frozenset([value]))
        if operator in (">", "<") and _is_int(self._peek()):
            return Requirement(key=key, operator={">": "gt", "<": "lt"}[operator], values=frozenset([self._next()]))
        raise self._refusal(operator, "in, notin, =, ==, !=, gt, lt")

    def _set(self) -> Iterator[str]:
        self._expect("(")
        while True:
            token = self._peek()
            if token == "" or (token in _PUNCTUATION and token not in (",", ")")):
                raise self._refusal(token, "',', ')' or identifier")
            yield "" if token in (",", ")") else self._next()
            if self._peek() == ")":
                self._next()
                return
            self._expect(",", "',' or ')'")

    def _identifier(self, wanted: str) -> str:
        token = self._peek()
        if not token or token[0] in _PUNCTUATION:
            raise self._refusal(token, wanted)
        return self._next()

    def _expect(self, token: str, wanted: str = "") -> None:
        if self._peek() != token:
            raise self._refusal(self._peek(), wanted or f"'{token}'")
        self._next()

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _refusal(self, found: str, expected: str) -> ValueError:
        return ValueError(f"unable to parse requirement: found '{found}', expected: {expected}")


def _is_int(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_NUMBER


def _tokens(text: str) -> Iterator[str]:
    word = ""
    for at, char in enumerate(text):
        if char not in _PUNCTUATION and not char.isspace():
            word += char
            continue
        if word:
            yield word
            word = ""
        if char == "=" and at and text[at - 1] in "=!":
            continue
        if char in "=!" and text[at + 1 : at + 2] == "=":
            yield char + "="
        elif not char.isspace():
            yield char
    if word:
        yield word
