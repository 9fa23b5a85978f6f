"""The objects that the downscaler works with, made once by `operator/assembly.py`."""

from collections.abc import Callable
from dataclasses import dataclass

from keda_py.apis.foreign import name_of, namespace_of
from keda_py.core.environment.downscaler.decision import PREFIX, DownscalerSettings
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import Obj
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.downscaler.caches import DownscalerCaches
from keda_py.operator.downscaler.objects import annotations_of
from keda_py.operator.environments.known.override_cache import Overriding
from keda_py.operator.environments.known.owners import Owners
from keda_py.operator.environments.overlays import Overlays


@dataclass(frozen=True, slots=True, kw_only=True)
class DownscalerDependencies:
    """`includes_scaled_objects`: also those whose workload's kind is excluded.

    `acts`: this replica writes; with several active replicas the others only put ScaledObjects to sleep.
    """

    shared: Dependencies
    caches: DownscalerCaches
    cluster: Caches
    owners: Owners
    overriding: Overriding
    overlays: Overlays
    settings: DownscalerSettings
    includes_scaled_objects: bool
    acts: Callable[[], bool]

    @property
    def scaled_objects(self) -> Informer:
        return self.cluster.scaled_objects


# Events about annotations that cannot be obeyed, on the object that carries them, once until the problem changes.


INVALID, IGNORED = "DownscalerAnnotationInvalid", "DownscalerAnnotationsIgnored"


def key_of(live: Obj) -> ObjectKey:
    """Key of a live object that says its kind; that of a Namespace has an empty namespace."""
    return ObjectKey(live["kind"], namespace_of(live), name_of(live))


class Problems:
    """Records each problem once."""

    def __init__(self, parts: DownscalerDependencies) -> None:
        self._parts, self._shared = parts, parts.shared
        self._reported: dict[ObjectKey, str] = {}

    def refuse(self, live: Obj, error: ConfigError) -> None:
        """Record that an annotation of the object, or of its namespace, which many objects share, cannot be read.

        An annotation that a ScaledObject inherits from its workload is recorded on the workload.
        """
        field = error.field.removesuffix(" of the namespace")
        self._record(self._carrier(live, field), INVALID, f"{error}; nothing is scaled by it")

    def ignore(self, live: Obj, environment: str) -> None:
        """Record that the annotations have no effect, because an Environment rules the object."""
        note = f"Environment {environment} rules it; take the downscaler annotations off, or exclude it there"
        self._record(self._carrier(live, PREFIX), IGNORED, note)

    def _carrier(self, live: Obj, field: str) -> Obj | None:
        """The object itself or its namespace, whichever has such an annotation; None: neither."""
        if not field.startswith(PREFIX):
            return live
        found = (live, self._parts.caches.namespace(namespace_of(live)))
        return next((one for one in found if one and any(name.startswith(field) for name in annotations_of(one))), None)

    def _record(self, live: Obj | None, reason: str, note: str) -> None:
        if live is not None and self._parts.acts() and self._reported.get(key := key_of(live)) != note:
            self._reported[key] = note
            self._shared.events.record(live, "Warning", reason, note)

    def clear(self, live: Obj) -> None:
        """Forget the problem of an object that has none any more, or is deleted."""
        self._reported.pop(key_of(live), None)
