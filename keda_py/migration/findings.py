"""Findings of a migration check, each with its remedy."""

from dataclasses import dataclass
from enum import StrEnum

from keda_py.apis.foreign import title_of
from keda_py.kube.resources import Obj


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


def fine(body: Obj, message: str, remedy: str = "") -> Finding:
    """Build the finding about an object that does not get in the way."""
    return Finding(severity=Severity.FINE, object=title_of(body), message=message, remedy=remedy)
