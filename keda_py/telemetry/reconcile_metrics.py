"""Metrics of Go controllers, under the names that dashboards and alerts for them use.

`controller_runtime_*` counts reconciles and admission reviews, `workqueue_*` waiting work and its duration; both have
KEDA's labels. `operator/controller/workers.py` and `operator/admission/reviews.py` write them. A poll does not count as
a reconcile, as in KEDA.
"""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_RECONCILE_SECONDS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5),
    *(1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
_QUEUE_SECONDS = tuple(10.0**power for power in range(-8, 4))
_RESULTS = ("success", "error", "requeue", "requeue_after")
_CONTROLLER, _QUEUE = ("controller",), ("name", "controller")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerMetrics:
    """Series of one controller."""

    succeeded: Counter
    failed: Counter
    errors: Counter
    panics: Counter
    seconds: Histogram
    active: Gauge
    depth: Gauge
    adds: Counter
    waited: Histogram
    worked: Histogram
    retries: Counter
    unfinished: Gauge
    longest: Gauge


class ReconcileMetrics:
    """Metrics of all controllers of a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, labels: tuple[str, ...]) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def gauge(name: str, text: str, labels: tuple[str, ...]) -> Gauge:
            return Gauge(name, text, labels, registry=registry)

        def seconds(name: str, text: str, labels: tuple[str, ...], buckets: tuple[float, ...]) -> Histogram:
            return Histogram(name, text, labels, buckets=buckets, registry=registry)

        prefix = "controller_runtime_"
        self._total = counter(f"{prefix}reconcile", "reconciles by result", (*_CONTROLLER, "result"))
        self._errors = counter(f"{prefix}reconcile_errors", "reconciles that failed", _CONTROLLER)
        self._panics = counter(f"{prefix}reconcile_panics", "reconciles that failed for a bug of ours", _CONTROLLER)
        self._seconds = seconds(
            f"{prefix}reconcile_time_seconds", "how long a reconcile took", _CONTROLLER, _RECONCILE_SECONDS
        )
        self._most = gauge(f"{prefix}max_concurrent_reconciles", "reconciles at once at most", _CONTROLLER)
        self._active = gauge(f"{prefix}active_workers", "reconciles under way", _CONTROLLER)
        self._depth = gauge("workqueue_depth", "objects that wait for a worker", (*_QUEUE, "priority"))
        self._adds = counter("workqueue_adds", "reconciles that became due", _QUEUE)
        self._waited = seconds("workqueue_queue_duration_seconds", "the wait for a worker", _QUEUE, _QUEUE_SECONDS)
        self._worked = seconds("workqueue_work_duration_seconds", "how long the work took", _QUEUE, _QUEUE_SECONDS)
        self._retries = counter("workqueue_retries", "work that is to be tried again", _QUEUE)
        self._unfinished = gauge("workqueue_unfinished_work_seconds", "age of all work under way", _QUEUE)
        self._longest = gauge("workqueue_longest_running_processor_seconds", "age of the oldest of it", _QUEUE)
        self._reviews = counter(f"{prefix}webhook_requests", "admission reviews answered", ("webhook", "code"))
        self._review_seconds = seconds(
            f"{prefix}webhook_latency_seconds", "how long an answer took", ("webhook",), _QUEUE_SECONDS
        )

    def record_review(self, path: str, code: int, seconds: float) -> None:
        """Count an answered admission review; `path` is one of the webhook's."""
        self._reviews.labels(path, str(code)).inc()
        self._review_seconds.labels(path).observe(seconds)

    def of(self, controller: str, workers: int) -> ControllerMetrics:
        """Return the series of a controller; all exist from the start, at 0."""
        totals = {result: self._total.labels(controller, result) for result in _RESULTS}
        self._most.labels(controller).set(workers)
        queue = (controller, controller)
        return ControllerMetrics(
            succeeded=totals["success"],
            failed=totals["error"],
            errors=self._errors.labels(controller),
            panics=self._panics.labels(controller),
            seconds=self._seconds.labels(controller),
            active=self._active.labels(controller),
            depth=self._depth.labels(*queue, "0"),
            adds=self._adds.labels(*queue),
            waited=self._waited.labels(*queue),
            worked=self._worked.labels(*queue),
            retries=self._retries.labels(*queue),
            unfinished=self._unfinished.labels(*queue),
            longest=self._longest.labels(*queue),
        )
