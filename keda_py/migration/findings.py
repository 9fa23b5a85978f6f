"""Findings of a migration check, each with its remedy."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Severity of a finding, the worst first."""

    BLOCKS = "blocks"
    CHANGES = "changes"
    FINE = "fine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Finding about `object`, as in "ScaledObject shop/web"; `remedy` says what to do, "" if nothing has to be done."""

    severity: Severity
    object: str
    message: str
    remedy: str = ""
