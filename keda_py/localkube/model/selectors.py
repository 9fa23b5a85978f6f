"""Label and field selectors: parsed once, matched against plain objects.

Errors have the real parser's texts. Next in the flow: `store/store.py`, which filters lists and watches with them.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from keda_py.core.values.selectors import LabelSelector
from keda_py.schema.resources import Obj
from keda_py.schema.status import bad_request

_COUNTS = {"status.successful": "status.succeeded", "status.replicas": "status.replicas"}
"""Numeric fields and their paths in an object, where absent means 0; a Job's selector uses another name."""


class Selector(Protocol):
    """Selects objects."""

    def matches(self, obj: Obj) -> bool: ...


def parse_labels(text: str) -> LabelSelector:
    """Parse the query form, `team in (core,infra),!absent`. Raises StatusError 400 in the real parser's words."""
    try:
        return LabelSelector.parse(text)
    except ValueError as error:
        raise bad_request(str(error)) from None


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Equalities and inequalities on dotted paths; `terms` are (path, value, is equality)."""

    terms: tuple[tuple[str, str, bool], ...] = ()

    def matches(self, obj: Obj) -> bool:
        """Whether all terms hold; an absent field counts as ""."""
        return all((_text_at(obj, path) == wanted) is equal for path, wanted, equal in self.terms)

    @classmethod
    def parse(cls, text: str) -> "FieldSelector":
        """Parse `metadata.name=web,status.phase!=Running`. Raises StatusError 400 for anything else."""
        return cls(tuple(_field_term(part) for part in text.split(",") if part))

    def equal_to(self, path: str) -> str | None:
        """The only value that the selector allows for a path; None if it allows several."""
        return next((wanted for at, wanted, equal in self.terms if equal and at == path), None)


def _field_term(part: str) -> tuple[str, str, bool]:
    for operator, equal in (("!=", False), ("==", True), ("=", True)):
        path, found, wanted = part.partition(operator)
        if found:
            return path.strip(), wanted.strip(), equal
    raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")


def _text_at(obj: Any, path: str) -> str:
    for key in _COUNTS.get(path, path).split("."):
        obj = obj.get(key) if isinstance(obj, dict) else None
    if obj is None and path in _COUNTS:
        return "0"
    if isinstance(obj, bool):
        return "true" if obj else "false"
    return "" if obj is None else str(obj)
