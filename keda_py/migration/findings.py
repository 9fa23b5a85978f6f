"""What a migration would meet, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """The worst first."""

    BLOCKS = "blocks"
    CHANGES = "changes"
    FINE = "fine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`object` is "ScaledObject shop/web"; `remedy` says what to do, "" where nothing has to be done."""

    severity: Severity
    object: str
    message: str
    remedy: str = ""
