"""Label and field selectors: parsed once, matched against plain objects.

Refusals use the real parser's words. Next in the flow: `store.py`, which filters lists and watches with them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from keda_py.localkube.resources import Obj
from keda_py.localkube.status import StatusError, bad_request

_PUNCTUATION = "(),!=<>"


class Selector(Protocol):
    """Anything that picks objects."""

    def matches(self, obj: Obj) -> bool:
        """Whether the object is picked."""
        ...


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
    """All requirements hold; none at all picks everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, obj: Obj) -> bool:
        """Whether `metadata.labels` fulfils every requirement."""
        labels = obj["metadata"].get("labels") or {}
        return all(requirement.matches(labels) for requirement in self.requirements)

    @classmethod
    def parse(cls, text: str) -> "LabelSelector":
        """Read the query form, `team in (core,infra),!absent`; StatusError 400 in the real parser's words."""
        return cls(tuple(_Parser(text).requirements()))

    @classmethod
    def of(cls, selector: Obj | None) -> "LabelSelector":
        """Read the object form (matchLabels, matchExpressions); a missing one picks nothing a controller owns."""
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
    """The grammar of label selectors, one requirement after another."""

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
        if operator in (">", "<") and self._peek().lstrip("-").isdigit():
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

    def _refusal(self, found: str, expected: str) -> StatusError:
        return bad_request(f"unable to parse requirement: found '{found}', expected: {expected}")


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


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Equalities and inequalities on dotted paths; `terms` are (path, wanted, equal?)."""

    terms: tuple[tuple[str, str, bool], ...] = ()

    def matches(self, obj: Obj) -> bool:
        """Whether every path has (or has not) its value; an absent field reads as ""."""
        return all((_text_at(obj, path) == wanted) is equal for path, wanted, equal in self.terms)

    @classmethod
    def parse(cls, text: str) -> "FieldSelector":
        """Read `metadata.name=web,status.phase!=Running`; StatusError 400 on anything else."""
        return cls(tuple(_field_term(part) for part in text.split(",") if part))

    def equal_to(self, path: str) -> str | None:
        """The one value the path must have, where the selector fixes it."""
        return next((wanted for at, wanted, equal in self.terms if equal and at == path), None)


def _field_term(part: str) -> tuple[str, str, bool]:
    for operator, equal in (("!=", False), ("==", True), ("=", True)):
        path, found, wanted = part.partition(operator)
        if found:
            return path.strip(), wanted.strip(), equal
    raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")


def _text_at(obj: Any, path: str) -> str:
    for key in path.split("."):
        obj = obj.get(key) if isinstance(obj, dict) else None
    if isinstance(obj, bool):
        return "true" if obj else "false"
    return "" if obj is None else str(obj)
