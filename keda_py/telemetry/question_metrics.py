"""How many questions about external metrics were answered, and how fast, under the names that KEDA's users know.

In KEDA the metrics server asks the operator by gRPC, and both count; here the two are one process and a question is a
call, but dashboards and alerts want the same series. `operator/serving.py` puts `CountedQuestions` before the `Query`.
"""

from prometheus_client import CollectorRegistry, Counter, Histogram

from keda_py.clock import SystemClock
from keda_py.core.evaluation import MetricValue
from keda_py.external_metrics.metric_values import Questions

_REAL_TIME = SystemClock()
"""The loop's own time stands still for up to a millisecond, which most answers do not take."""

_CALL = ("grpc_type", "grpc_service", "grpc_method")
_CALLED = ("unary", "api.MetricsService", "GetMetrics")
_CODES = ("OK", "Unknown")
_ASKED = {"verb": "LIST", "group": "external.metrics.k8s.io", "version": "v1beta1", "scope": "namespace"}


class _Side:
    """The series of the one who asks, or of the one who answers; found once, for they are counted at every question."""

    def __init__(self, registry: CollectorRegistry, side: str) -> None:
        def counter(name: str, text: str, *more: str) -> Counter:
            return Counter(f"keda_internal_metricsservice_grpc_{side}_{name}", text, (*_CALL, *more), registry=registry)

        handled = counter("handled", "questions that were answered", "grpc_code")
        self._handled = {code: handled.labels(*_CALLED, code) for code in _CODES}
        self._started = counter("started", "questions about metrics").labels(*_CALLED)
        # One message each way: GetMetrics is no stream.
        self._received = counter("msg_received", "questions or answers received").labels(*_CALLED)
        self._sent = counter("msg_sent", "questions or answers sent").labels(*_CALLED)
        self._seconds = Histogram(
            f"keda_internal_metricsservice_grpc_{side}_handling_seconds", "until answered", _CALL, registry=registry
        ).labels(*_CALLED)

    def begin(self) -> None:
        self._started.inc()

    def end(self, code: str, seconds: float) -> None:
        self._handled[code].inc()
        self._received.inc()
        self._sent.inc()
        self._seconds.observe(seconds)


class QuestionMetrics:
    """The metrics of all questions of a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._sides = _Side(registry, "client"), _Side(registry, "server")
        labels = (*_ASKED, "code")
        requests = Counter("apiserver_request", "questions about metrics, by answer", labels, registry=registry)
        self._requests = {code: requests.labels(**_ASKED, code=code) for code in ("200", "500")}

    def begin(self) -> None:
        """A question has come."""
        for side in self._sides:
            side.begin()

    def end(self, *, answered: bool, seconds: float) -> None:
        """It has got its answer, or an error."""
        for side in self._sides:
            side.end("OK" if answered else "Unknown", seconds)
        self._requests["200" if answered else "500"].inc()


class CountedQuestions:
    """`Questions`, each of them counted."""

    def __init__(self, questions: Questions, metrics: QuestionMetrics) -> None:
        self._questions, self._metrics = questions, metrics

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        """As the questions answer. Raises QueryError."""
        began, answered = _REAL_TIME.monotonic(), False
        self._metrics.begin()
        try:
            values = await self._questions.answer(namespace, metric, scaled_object)
            answered = True
            return values
        finally:
            self._metrics.end(answered=answered, seconds=_REAL_TIME.monotonic() - began)
