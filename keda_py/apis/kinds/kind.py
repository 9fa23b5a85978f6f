"""What is to be known of a kind besides its schema: a row of the table (`table.py`), and its printer columns."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

VERSION = "v1alpha1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrinterColumn:
    """A printer column: what `kubectl get` shows; priority 1 only with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A row: what is to be known of a kind besides its schema.

    `webhook` is the entry's name in the ValidatingWebhookConfiguration before `.kb.io`, "" where no admission is asked.
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
        """As in an object's `kind`."""
        return self.model.__name__

    @property
    def singular(self) -> str:
        """As in `kubectl get scaledobject`."""
        return self.name.lower()

    @property
    def plural(self) -> str:
        """As in a URL."""
        return f"{self.singular}s"

    @property
    def api_version(self) -> str:
        """As in an object's `apiVersion`."""
        return f"{self.group}/{VERSION}"
