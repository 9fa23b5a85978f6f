"""One thing that is wrong, doubtful, or worth knowing, in one place of one file."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """`object` is "ScaledObject shop/web", "" for a text that holds none; `field` is a path, or "".

    `code` is what `# keda-py: ignore=` takes, "" for what cannot be switched off: the API server or KEDA refuse it.
    """

    severity: Severity
    file: str
    line: int
    message: str
    object: str = ""
    field: str = ""
    template: str = ""
    code: str = ""

    @property
    def sentence(self) -> str:
        """Everything but the place; the field is not said twice."""
        message = self.message.removeprefix(f"{self.field.rpartition('.')[2]}: ")
        field = "" if not self.field or self.field in message else f"{self.field}: "
        return ": ".join(part for part in (self.object, f"{field}{message}") if part)
