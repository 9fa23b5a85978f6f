"""Metrics of the process as a whole: requests, Lease, event loop, queues, decisions, and its share of the objects.

KEDA has the first two from client-go under these names, and those of `reconcile_metrics.py` from controller-runtime;
the names that begin with keda_py_ are our own.
"""

import platform
from collections.abc import Callable
from math import nan

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)

from keda_py import __version__
from keda_py.core.sharding.share import Share
from keda_py.kube.client import Exchange
from keda_py.telemetry.reconcile_metrics import ReconcileMetrics

ELSEWHERE = "elsewhere"
"""The culprit of a stall that no place in the code explains."""
_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class ProcessMetrics:
    """Metrics of one process. Every `record_...` is cheap and never waits."""

    def __init__(self, registry: CollectorRegistry) -> None:
        for collector in (ProcessCollector, GCCollector, PlatformCollector):
            collector(registry=registry)
        self.reconciles = ReconcileMetrics(registry)
        self._samplers: list[Callable[[], None]] = []
        self._requests = Counter(
            "rest_client_requests", "requests to the API server", ("code", "host", "method"), registry=registry
        )
        self._leads = Gauge("leader_election_master_status", "1 while we hold the Lease", ("name",), registry=registry)
        self.lateness = Histogram(
            "keda_py_poll_lateness_seconds", "how late polls began", buckets=_SECONDS, registry=registry
        )
        self._batches = Histogram(
            "keda_py_batch_size", "triggers answered by one question to a source", buckets=_SIZES, registry=registry
        )
        self._depth = Gauge(
            "keda_py_queue_depth", "objects that are due or being worked on", ("type",), registry=registry
        )
        self._activations = Gauge(
            "keda_py_activations_waiting", "workloads at zero that wait for their turn to wake", registry=registry
        )
        self._held_back = Gauge(
            "keda_py_objects_held_back",
            "objects that are not scaled because a process died while it worked on them",
            ("type",),
            registry=registry,
        )
        self._lag = Histogram(
            "keda_py_event_loop_lag_seconds", "how late the loop's timers fire", buckets=_SECONDS, registry=registry
        )
        self._stalls = _stalls(registry)
        self._decisions = Counter("keda_py_decisions", "decisions by reason", ("reason",), registry=registry)
        self._certificate = Gauge(
            "keda_py_certificate_expiry_timestamp_seconds", "when the serving certificate ends", registry=registry
        )
        self._certificate.set(nan)  # no certificate yet; 0 would look like one that expired in 1970
        _add_build_info(registry)
        self._exchanged: dict[tuple[int, str, str], Counter] = {}
        self._decided: dict[str, Counter] = {}

    def record_exchange(self, exchange: Exchange) -> None:
        """Count a request to the API server."""
        method = "GET" if exchange.verb in ("LIST", "WATCH") else exchange.verb
        key = (exchange.code, exchange.host, method)
        if (found := self._exchanged.get(key)) is None:
            labels = (str(exchange.code or "<error>"), exchange.host, method)
            found = self._exchanged[key] = self._requests.labels(*labels)
        found.inc()

    def record_batch(self, size: int) -> None:
        """Record how many triggers one request to a source answered."""
        self._batches.observe(size)

    def record_lag(self, seconds: float) -> None:
        """Record how late a timer of the loop fired."""
        self._lag.observe(seconds)

    def record_stall(self, culprit: str) -> None:
        """Count a blocked loop; `culprit` is a trigger type or a place in the code."""
        self._stalls.labels(culprit).inc()

    def record_decision(self, reason: str) -> None:
        """Count a decision by its reason, applied or not."""
        if (found := self._decided.get(reason)) is None:
            found = self._decided[reason] = self._decisions.labels(reason)
        found.inc()

    def show(self, take: Callable[[], None]) -> None:
        """Call `take` on the loop before each scrape, to set gauges that are computed only then."""
        self._samplers.append(take)

    def show_queue(self, kind: str, depth: Callable[[], int]) -> None:
        """Show the depth of a queue, computed on the loop at each scrape."""
        self.show(lambda: self._depth.labels(kind).set(depth()))

    def show_waiting_activations(self, count: Callable[[], int]) -> None:
        """Show how many activations wait, computed on the loop at each scrape."""
        self.show(lambda: self._activations.set(count()))

    def show_held_back(self, kind: str, count: Callable[[], int]) -> None:
        """Show how many objects of a kind are held back, computed on the loop at each scrape."""
        self.show(lambda: self._held_back.labels(kind).set(count()))

    def show_leadership(self, lease: str, leads: Callable[[], bool]) -> None:
        """Show whether we hold the Lease, computed on the loop at each scrape."""
        self.show(lambda: self._leads.labels(lease).set(leads()))

    def record_certificate(self, ends: float) -> None:
        """Set the expiry of the serving certificate, in seconds since 1970."""
        self._certificate.set(ends)

    def sample(self) -> None:
        """Compute the gauges of `show`, on the loop, before a page is rendered in a thread."""
        for take in self._samplers:
            take()


def _stalls(registry: CollectorRegistry) -> Counter:
    text = "times that the loop was blocked, and by whom"
    counter = Counter("keda_py_event_loop_stalls", text, ("culprit",), registry=registry)
    # From the start at 0: Prometheus sees no increase in a series that begins with its first stall.
    counter.labels(ELSEWHERE)
    return counter


def _add_build_info(registry: CollectorRegistry) -> None:
    info = {
        "version": __version__,
        # KEDA's label for its own runtime; dashboards group by it.
        "goversion": f"python{platform.python_version()}",
        "goos": platform.system().lower(),
        "goarch": platform.machine(),
    }
    Gauge("keda_build_info", "version and platform; always 1", tuple(info), registry=registry).labels(**info).set(1)


class ShardMetrics:
    """Gauges of one replica's slot, with `--shards` alone. `share` returns None while it holds none."""

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
