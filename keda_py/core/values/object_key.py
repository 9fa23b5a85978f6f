"""The key of an object: the one name of it in queue, readings, record, journal and metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """Kind, namespace ("" for a cluster-scoped kind) and name.

    It is no tuple: a value without a kind equals no key, and a key cannot be indexed or unpacked by mistake. A look-up
    costs 0.1 to 0.3 us more than a tuple's; a look makes 45 of them and takes 750 us.
    """

    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, kind: str, live: Mapping[str, Any]) -> "ObjectKey":
        """Return the key of a live object; items of a list or a watch do not always say their kind."""
        metadata = live["metadata"]
        return cls(kind, metadata.get("namespace") or "", metadata["name"])

    @property
    def log_fields(self) -> dict[str, object]:
        """Return the fields for `extra=` of a log line."""
        return {"namespace": self.namespace, self.kind.lower(): self.name}

    def __str__(self) -> str:
        """Format it for names of tasks and lists in a log line: `ScaledObject/shop/web`."""
        return f"{self.kind}/{self.namespace}/{self.name}"
