"""What is wrong with annotations, told by an Event on the object that carries them, once until it changes."""

from keda_py.apis.foreign import name_of, namespace_of
from keda_py.errors import ConfigError
from keda_py.kube.resources import Obj
from keda_py.operator.downscaler.dependencies import DownscalerDependencies
from keda_py.operator.downscaler.objects import annotations_of

INVALID, IGNORED = "DownscalerAnnotationInvalid", "DownscalerAnnotationsIgnored"

Key = tuple[str, str, str]


def key_of(live: Obj) -> Key:
    """Kind, namespace and name."""
    return live["kind"], namespace_of(live), name_of(live)


class Problems:
    """Remembers what was told."""

    def __init__(self, parts: DownscalerDependencies) -> None:
        self._parts = parts
        self._told: dict[Key, str] = {}

    def refuse(self, live: Obj, error: ConfigError) -> None:
        """An annotation that cannot be read: of the object, or of its namespace, which many objects share."""
        namespace = self._parts.caches.namespace(namespace_of(live))
        own = error.field in annotations_of(live) or namespace is None
        self._tell(live if own or namespace is None else namespace, INVALID, f"{error}; nothing is scaled by it")

    def ignore(self, live: Obj, environment: str) -> None:
        """Another rule has the object."""
        note = f"Environment {environment} rules it; take its downscaler annotations off, or exclude it there"
        self._tell(live, IGNORED, note)

    def _tell(self, live: Obj, reason: str, note: str) -> None:
        key = key_of(live)
        if self._told.get(key) != note:
            self._told[key] = note
            self._parts.events.record(live, "Warning", reason, note)

    def clear(self, live: Obj) -> None:
        """All is well with it, or it is gone."""
        self._told.pop(key_of(live), None)
