"""Metrics of a waker: connections held now, wakes, time held, refusals. No label comes from a request."""

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from keda_py.core.values.object_key import ObjectKey
from keda_py.telemetry.series import Family, Series

_SERVICE = ("namespace", "service")
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 600.0)
"""A warm start takes one second, a cold one of a JVM a minute; a connection is held for ten minutes at most."""


class WakerMetrics:
    """Series of Services, which end with their slices, and of the process."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # prometheus_client has no type here
        self.registry = registry = CollectorRegistry()
        for collector in (ProcessCollector, GCCollector, PlatformCollector):
            collector(registry=registry)
        self._series = Series()
        self._held = Family("gauge", "keda_py_waker_held", "connections that wait now", _SERVICE, registry)
        self._wakes = Family("counter", "keda_py_waker_wakes", "calls for a wake", (*_SERVICE, "result"), registry)
        self._answered = Family(
            "counter", "keda_py_waker_connections", "connections by their outcome", (*_SERVICE, "outcome"), registry
        )
        self._refused = Family(
            "counter", "keda_py_waker_refused", "connections that were refused", ("namespace", "reason"), registry
        )
        self._bytes = Family("counter", "keda_py_waker_spliced_bytes", "bytes passed on", _SERVICE, registry)
        self._open = Gauge("keda_py_waker_open_connections", "connections of clients that are open", registry=registry)
        self._kept = Gauge("keda_py_waker_buffered_bytes", "bytes kept of connections that wait", registry=registry)
        self._connections: Callable[[], int] = lambda: 0
        self._buffered: Callable[[], int] = lambda: 0
        self.held_seconds = Histogram(
            "keda_py_waker_held_seconds",
            "how long connections waited until a pod took them or they were refused",
            ("outcome",),
            buckets=_SECONDS,
            registry=registry,
        )

    def show(self, connections: Callable[[], int], buffered: Callable[[], int]) -> None:
        """Show how many connections are open, and how many bytes are kept of them, whenever the page is read."""
        self._connections, self._buffered = connections, buffered

    def sample(self) -> None:
        """Update the metrics that are only read when the page is."""
        self._open.set(self._connections())
        self._kept.set(self._buffered())

    def record_held(self, service: ObjectKey, count: int) -> None:
        self._series.of(service, self._held, (service.namespace, service.name)).set(count)

    def record_wake(self, service: ObjectKey, result: str) -> None:
        """Count a call for a wake: told, patched or failed."""
        self._series.of(service, self._wakes, (service.namespace, service.name, result)).inc()

    def record_outcome(self, service: ObjectKey, outcome: str) -> None:
        """Count a connection: passed on, page, ignored, unavailable, gone."""
        self._series.of(service, self._answered, (service.namespace, service.name, outcome)).inc()

    def record_refused(self, service: ObjectKey, reason: str) -> None:
        """Count a connection that was refused because of a bound."""
        self._series.of(service, self._refused, (service.namespace, reason)).inc()

    def record_bytes(self, service: ObjectKey, count: int) -> None:
        self._series.of(service, self._bytes, (service.namespace, service.name)).inc(count)

    def forget(self, service: ObjectKey) -> None:
        self._series.forget(service)
