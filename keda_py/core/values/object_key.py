"""Which object: the one name by which queue, readings, record, journal and metrics know it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """Kind, namespace ("" for a cluster-scoped kind) and name.

    No tuple: what lacks its kind equals no key, and a key cannot be indexed or unpacked by mistake. A look-up costs 0.1
    to 0.3 us more than a tuple's; a look makes 45 of them and takes 750 us.
    """

    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, kind: str, live: Mapping[str, Any]) -> "ObjectKey":
        """The key of a live object; what a list or a watch brings does not always say its kind."""
        metadata = live["metadata"]
        return cls(kind, metadata.get("namespace") or "", metadata["name"])

    @property
    def log_fields(self) -> dict[str, object]:
        """Which object it is, for `extra=` of a log line."""
        return {"namespace": self.namespace, self.kind.lower(): self.name}

    def __str__(self) -> str:
        """For names of tasks and lists in a log line: `ScaledObject/shop/web`."""
        return f"{self.kind}/{self.namespace}/{self.name}"
