"""Metrics of a shadow: its disagreements with the other autoscaler."""

from collections import Counter as Counts
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge

from keda_py.core.values.object_key import ObjectKey
from keda_py.telemetry.series import Series

_LABELS = ("namespace", "kind", "name", "matter")


class ShadowMetrics:
    """Series that end with their objects, and a total that does not."""

    def __init__(self, registry: CollectorRegistry, compared: Callable[[], int]) -> None:
        self._series = Series()
        self._holding = Gauge(
            "keda_py_shadow_disagreements", "matters that the two sides disagree about now", _LABELS, registry=registry
        )
        self._found = Counter(
            "keda_py_shadow_disagreements_found", "disagreements that began", ("matter",), registry=registry
        )
        objects = Gauge("keda_py_shadow_compared_objects", "objects that both sides scale", registry=registry)
        objects.set_function(compared)

    def record_found(self, matter: str) -> None:
        """Count a disagreement that has lasted long enough to be reported."""
        self._found.labels(matter).inc()

    def record_holding(self, key: ObjectKey, matters: Iterable[str]) -> None:
        """Set an object's current disagreements after a look; the series of others end."""
        counts = Counts(matters)
        self._series.keep(key, {(matter,) for matter in counts})
        for matter, count in counts.items():
            labels = (key.namespace, key.kind, key.name, matter)
            self._series.of(key, self._holding, labels, (matter,)).set(count)

    def forget(self, key: ObjectKey) -> None:
        self._series.forget(key)
