"""Problem of a manifest, wrong, doubtful, or worth knowing, in one place of one file."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Problem of `object`, as in "ScaledObject shop/web", "" for a text without objects; `field` is a path, or "".

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
        """Write the problem without its place; the field is not named twice."""
        message = self.message.removeprefix(f"{self.field.rpartition('.')[2]}: ")
        field = "" if not self.field or self.field in message else f"{self.field}: "
        return ": ".join(part for part in (self.object, f"{field}{message}") if part)
