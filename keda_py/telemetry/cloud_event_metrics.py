"""Metrics of CloudEvents sent and waiting, under KEDA's names and labels. Behaviour reference, section 14.1.

As in KEDA, an event counts for the namespace of its object, and a queue for that of its source ("" for a
ClusterCloudEventSource). "emitted" is an event that the sink has accepted (KEDA counts when it begins to send),
"failed" a failed attempt, or an event dropped from a full queue.
"""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge

from keda_py.core.values.object_key import ObjectKey
from keda_py.telemetry.series import Series


class CloudEventMetrics:
    """Counters and gauges of CloudEvents. Every `record_...` is cheap and never waits."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._series = Series()
        self._queues: dict[ObjectKey, int] = {}
        self._emitted = Counter(
            "keda_cloudeventsource_events_emitted",
            "CloudEvents by outcome",
            ("namespace", "cloudeventsource", "eventsink", "state"),
            registry=registry,
        )
        self._queued = Gauge(
            "keda_cloudeventsource_events_queued", "CloudEvents not sent yet", ("namespace",), registry=registry
        )

    def record_event(self, source: ObjectKey, namespace: str, sink: str, state: str) -> None:
        """Count an event about an object in `namespace`; `state` is "emitted" or "failed"."""
        self._series.of(source, self._emitted, (namespace, source.name, sink, state)).inc()

    def sweep(self, exists: Callable[[str], bool]) -> None:
        """End the series of deleted namespaces; called before each scrape. "" stands for cluster-scoped objects."""
        for source in self._series.owners:
            self._series.forget(source, lambda labels: bool(labels[0]) and not exists(labels[0]))

    def record_queued(self, source: ObjectKey, count: int) -> None:
        """Set how many events wait for the sink of a source."""
        self._queues[source] = count
        self._show(source.namespace)

    def forget(self, source: ObjectKey) -> None:
        """End the series of a deleted source."""
        self._series.forget(source)
        self._queues.pop(source, None)
        self._show(source.namespace)

    def _show(self, namespace: str) -> None:
        counts = [count for source, count in self._queues.items() if source.namespace == namespace]
        series = self._queued.labels(namespace)
        # A namespace without sources has no series; 0 would stay on the page for ever.
        series.set(sum(counts)) if counts else self._queued.remove(namespace)
