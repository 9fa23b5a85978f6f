"""One thing that is wrong, or doubtful, in one place of one file."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """`object` is "ScaledObject shop/web", "" for a text that holds none; `field` is a path, or ""."""

    severity: Severity
    file: str
    line: int
    message: str
    object: str = ""
    field: str = ""
    template: str = ""

    @property
    def sentence(self) -> str:
        """Everything but the place; the field is not said twice."""
        field = "" if not self.field or self.field in self.message else f"{self.field}: "
        return ": ".join(part for part in (self.object, f"{field}{self.message}") if part)
