"""Metrics of a replica's share of the objects; without `--shards` there are none."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Gauge

from keda_py.core.sharding.share import Share


class ShardMetrics:
    """Gauges of one replica's slot. `share` returns None while it holds none."""

    def __init__(self, registry: CollectorRegistry, share: Callable[[], Share | None]) -> None:
        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"keda_py_shards_{name}", text, labels, registry=registry)

        self._share = share
        self._slot = gauge("slot", "number of the slot that this replica holds, -1: none, it waits")
        self._replicas = gauge("replicas", "active replicas, as this one sees them")
        self._agreed = gauge("agreed", "1 while all active replicas act on the same view of each other")
        self._epoch = gauge("epoch", "how often that view has changed since this replica took its slot")
        self._objects = gauge("objects", "objects that this replica works on", "type")

    def show(self) -> None:
        """Set the gauges, on the loop, before each scrape."""
        share = self._share()
        self._slot.set(-1 if share is None else share.me)
        self._replicas.set(0 if share is None else len(share.view))
        self._agreed.set(share is not None and share.is_settled)
        self._epoch.set(0 if share is None else share.epoch)

    def show_objects(self, kind: str, count: int) -> None:
        """Set how many objects of a kind this replica works on."""
        self._objects.labels(kind).set(count)
