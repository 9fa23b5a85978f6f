"""Metrics of requests for external metrics: how many and how fast, under the names that KEDA's users know.

In KEDA the metrics server calls the operator by gRPC, and both count; here they are one process and the call is a
function, but dashboards and alerts need the same series. `operator/serving.py` puts `CountedQuestions` in front of the
`Query`. Plain numbers are counted, and series are made of them at a scrape: doing that per request would cost 15 us.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from keda_py.clock import SystemClock
from keda_py.core.evaluation import MetricValue
from keda_py.external_metrics.metric_values import Questions

# uvloop's time advances once per iteration, which takes longer than most answers.
_REAL_TIME = SystemClock()

_SIDES = ("client", "server")
_CALL = ("grpc_type", "grpc_service", "grpc_method")
_CALLED = ("unary", "api.MetricsService", "GetMetrics")
_ASKED = {"verb": "LIST", "group": "external.metrics.k8s.io", "version": "v1beta1", "scope": "namespace"}
_BOUNDS = Histogram.DEFAULT_BUCKETS
_AT_MOST = (*map(str, _BOUNDS[:-1]), "+Inf")
_PREFIX = "keda_internal_metricsservice_grpc"


class QuestionMetrics(Collector):
    """Collector for the requests of a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._begun = self._answered = self._failed = 0
        self._buckets = [0] * len(_BOUNDS)
        self._seconds = 0.0
        registry.register(self)

    def begin(self) -> None:
        self._begun += 1

    def end(self, *, answered: bool, seconds: float) -> None:
        """Count an answer or an error."""
        if answered:
            self._answered += 1
        else:
            self._failed += 1
        self._buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds += seconds

    def collect(self) -> Iterator[Metric]:
        """Yield the series of client and server, which are equal here; any thread may call this."""
        for side in _SIDES:
            yield from self._side(f"{_PREFIX}_{side}")
        requests = CounterMetricFamily(
            "apiserver_request", "questions about metrics, by answer", labels=(*_ASKED, "code")
        )
        for code, count in (("200", self._answered), ("500", self._failed)):
            requests.add_metric((*_ASKED.values(), code), count)
        yield requests

    def _side(self, prefix: str) -> Iterator[Metric]:
        ended = self._answered + self._failed
        handled = CounterMetricFamily(f"{prefix}_handled", "questions that were answered", labels=(*_CALL, "grpc_code"))
        for code, count in (("OK", self._answered), ("Unknown", self._failed)):
            handled.add_metric((*_CALLED, code), count)
        yield handled
        # One message each way, because GetMetrics is not a stream.
        for name, text, count in (
            ("started", "questions about metrics", self._begun),
            ("msg_received", "questions or answers received", ended),
            ("msg_sent", "questions or answers sent", ended),
        ):
            counter = CounterMetricFamily(f"{prefix}_{name}", text, labels=_CALL)
            counter.add_metric(_CALLED, count)
            yield counter
        taken = HistogramMetricFamily(f"{prefix}_handling_seconds", "until answered", labels=_CALL)
        taken.add_metric(_CALLED, [*zip(_AT_MOST, accumulate(self._buckets), strict=True)], self._seconds)
        yield taken


class CountedQuestions:
    """`Questions` that counts each request."""

    def __init__(self, questions: Questions, metrics: QuestionMetrics) -> None:
        self._questions, self._metrics = questions, metrics

    def answer_at_once(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...] | None:
        """Count the request if it can be answered at once; otherwise `answer` counts it."""
        began = _REAL_TIME.monotonic()
        values = self._questions.answer_at_once(namespace, metric, scaled_object)
        if values is not None:
            self._metrics.begin()
            self._metrics.end(answered=True, seconds=_REAL_TIME.monotonic() - began)
        return values

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        """Answer and count. Raises QueryError."""
        began, answered = _REAL_TIME.monotonic(), False
        self._metrics.begin()
        try:
            values = await self._questions.answer(namespace, metric, scaled_object)
            answered = True
            return values
        finally:
            self._metrics.end(answered=answered, seconds=_REAL_TIME.monotonic() - began)
