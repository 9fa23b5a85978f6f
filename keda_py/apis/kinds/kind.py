"""Row of the table of kinds (`table.py`): everything about a kind besides its schema, and its printer columns."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

VERSION = "v1alpha1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrinterColumn:
    """Column of `kubectl get`; with priority 1 only for `-o wide`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRow:
    """Row of one kind.

    `webhook` is the entry's name in the ValidatingWebhookConfiguration before `.kb.io`, "" without admission.
    `has_triggers`: it has `spec.triggers`, which are read and scaled on.
    """

    model: type[BaseModel]
    group: str = "keda.sh"
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    columns: tuple[PrinterColumn, ...]
    short_names: tuple[str, ...] = ()
    webhook: str = ""
    has_triggers: bool = False

    @property
    def name(self) -> str:
        """Return the `kind` of its objects."""
        return self.model.__name__

    @property
    def singular(self) -> str:
        """Return the name in `kubectl get scaledobject`."""
        return self.name.lower()

    @property
    def plural(self) -> str:
        """Return the name in URLs; a name that ends with an s is its own plural."""
        return self.singular if self.singular.endswith("s") else f"{self.singular}s"

    @property
    def api_version(self) -> str:
        """Return the `apiVersion` of its objects."""
        return f"{self.group}/{VERSION}"
