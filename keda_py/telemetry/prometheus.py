"""Our own metrics, under KEDA's names and labels, so that existing dashboards and alerts keep working.

The engine and the operator report through the small `record_...` functions; a series ends with its object. Metrics of
the process as a whole are in `process_metrics.py`; `page.py` renders both. Behaviour reference, section 14.1.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus

from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics

from keda_py.answers.work_context import current_work
from keda_py.core.evaluation import Evaluation
from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.core.reading import MetricReading
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import EmptyAnswer, ScalerError
from keda_py.net.http.transport import HttpExchange
from keda_py.readings.scaler_set import ScalerSet
from keda_py.readings.tracked_metrics import TrackedMetric
from keda_py.telemetry.admission_metrics import AdmissionMetrics
from keda_py.telemetry.cloud_event_metrics import CloudEventMetrics
from keda_py.telemetry.environment_metrics import EnvironmentMetrics
from keda_py.telemetry.process_metrics import ProcessMetrics
from keda_py.telemetry.question_metrics import QuestionMetrics
from keda_py.telemetry.savings_metrics import SavingsMetrics
from keda_py.telemetry.series import MOST_DETAILED_LINES, MOST_LINES, Family, Labels, Scope, Series, shortened

SCALED_OBJECT, SCALED_JOB = "ScaledObject", "ScaledJob"

_SERIES = ("namespace", "metric", "scaledObject", "scaler", "triggerIndex", "type")
_OBJECT = ("namespace", "scaledObject")
_LOOP = ("namespace", "type", "resource")
_HTTP = ("namespace", "scaled_resource", "scaler", "trigger_name", "metric_name", "status_code")
# Scope of series that end with a generation: a new one may have a minReplicaCount, and then never sleeps.
_SLEEP = ("sleep",)
_STATUSES = frozenset(HTTPStatus)
_EMPTY = ("namespace", "scaledResource", "triggerName", "metricName", "resourceType", "ignoreNullValues")


class OperatorMetrics:
    """Metrics of one process. Every function is cheap and never waits.

    With `detailed`, HTTP requests are timed per trigger instead of per kind of scaler.
    """

    def __init__(self, *, detailed: bool = False) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # prometheus_client has no type here
        self.registry = registry = CollectorRegistry()
        self.process = ProcessMetrics(registry)
        self.admission = AdmissionMetrics(registry)
        self.cloud_events = CloudEventMetrics(registry)
        self.questions = QuestionMetrics(registry)
        self._savings = SavingsMetrics(registry)
        self.environments = EnvironmentMetrics(registry, self._savings)
        self._series = Series(most=MOST_DETAILED_LINES if detailed else MOST_LINES)
        self.on_http: Callable[[Mapping[str, str], float], None] = lambda labels, seconds: None
        """Called with each request's labels and seconds, for a histogram that cannot be derived from ours."""

        def gauge(name: str, text: str, labels: Labels) -> Family:
            return Family("gauge", name, text, labels, registry)

        def counter(name: str, text: str, labels: Labels) -> Family:
            return Family("counter", name, text, labels, registry)

        self._value = gauge("keda_scaler_metrics_value", "last value of a metric", _SERIES)
        self._latency = gauge("keda_scaler_metrics_latency_seconds", "how long the source took to answer", _SERIES)
        self._active = gauge("keda_scaler_active", "1 while a trigger is active", _SERIES)
        self._errors = counter("keda_scaler_detail_errors", "failed readings of a metric", _SERIES)
        self._paused = gauge("keda_scaled_object_paused", "1 while paused", _OBJECT)
        self._fallback = gauge("keda_py_fallback_active", "1 while its replicas are those of its fallback", _OBJECT)
        self._awake = gauge("keda_py_awake", "1 while it has replicas, 0 while it sleeps; of what may sleep", _OBJECT)
        self._object_errors = {
            SCALED_OBJECT: counter(
                "keda_scaled_object_errors", "failed readings and checks of a ScaledObject", _OBJECT
            ),
            SCALED_JOB: counter("keda_scaled_job_errors", "failed readings of a ScaledJob", ("namespace", "scaledJob")),
        }
        self._empty = counter("keda_scaler_empty_upstream_responses", "answers with nothing in them", _EMPTY)
        self._loop = gauge("keda_internal_scale_loop_latency_seconds", "how late a scale loop began", _LOOP)
        self._resources = gauge("keda_resource_registered_total", "objects by type", ("type", "namespace"))
        self._triggers = gauge("keda_trigger_registered_total", "triggers by type", ("type",))
        self._http = counter("keda_scaler_http_requests", "HTTP requests of a trigger", _HTTP)
        self._timed_by = _HTTP if detailed else ("scaler", "status_code")
        self._http_seconds = _http_timer(self._timed_by, registry)

    def sample(self) -> None:
        """Update the metrics that are only read when the page is."""
        self.process.sample()

    @property
    def owners(self) -> tuple[ObjectKey, ...]:
        """Return the objects that have series."""
        return self._series.owners

    def record_built(self, key: ObjectKey, scalers: ScalerSet) -> None:
        """End the series of metrics that an object no longer has, after its scalers were built anew.

        Resource metrics, which the HPA measures itself, count as active, as in KEDA: no scaler is asked for them.
        """
        resources = _resource_labels(key, scalers)
        kept: set[Scope] = {
            _series_labels(key, scalers, metric.trigger_index, metric.name) for metric in scalers.metrics.external
        }
        kept |= {*resources, _composite_labels(key), *((trigger.type,) for trigger in scalers.spec.triggers)}
        # Before new series are written: a dashboard must not show metrics of the previous generation.
        self._series.keep(key, kept)
        for labels in resources:
            self._series.of(key, self._active, labels, labels).set(1)

    def record_dismissed(self, key: ObjectKey) -> None:
        """End the series of an object that has no scalers now: their last values are no longer true."""
        self._series.keep(key, ())

    def record_reading(self, key: ObjectKey, scalers: ScalerSet, reading: MetricReading) -> None:
        """Record a completed reading, good or failed. (KEDA's detail counters have only the HPA's failures.)"""
        labels = _series_labels(key, scalers, reading.metric.trigger_index, reading.metric.name)
        of = self._series.of
        of(key, self._latency, labels, labels).set(reading.seconds)
        errors = of(key, self._errors, labels, labels), of(key, self._object_errors[key.kind], _object_labels(key))
        match reading.outcome:
            case ScalerError() as error:
                for counter in errors:
                    counter.inc()
                if isinstance(error, EmptyAnswer):
                    self._count_empty(key, reading, labels, ignored=False)
            case outcome:
                of(key, self._value, labels, labels).set(outcome.value)
                of(key, self._active, labels, labels).set(1 if outcome.active else 0)
                if outcome.empty:
                    self._count_empty(key, reading, labels, ignored=True)

    def record_evaluation(self, key: ObjectKey, evaluation: Evaluation) -> None:
        """Record the formula's value of a ScaledObject's round, if it has a formula."""
        value = next((value for value in evaluation.values if value.name == COMPOSITE_METRIC), None)
        if value is not None:
            labels = _composite_labels(key)
            self._series.of(key, self._value, labels, labels).set(value.milli / 1000)
            self._series.of(key, self._active, labels, labels).set(1 if evaluation.active else 0)

    def record_error(self, key: ObjectKey) -> None:
        """Count an object that could not be checked or decided on."""
        self._series.of(key, self._object_errors[key.kind], _object_labels(key)).inc()

    def record_paused(self, key: ObjectKey, *, paused: bool) -> None:
        self._series.of(key, self._paused, _object_labels(key)).set(1 if paused else 0)

    def record_fallback(self, key: ObjectKey, *, active: bool) -> None:
        """Record whether the fallback of a ScaledObject is in force."""
        self._series.of(key, self._fallback, _object_labels(key)).set(1 if active else 0)

    def record_awake(self, key: ObjectKey, *, awake: bool) -> None:
        """Record whether a ScaledObject that may go to zero has replicas; repeated after each new generation."""
        self._series.of(key, self._awake, _object_labels(key), _SLEEP).set(1 if awake else 0)

    def record_savings(self, key: ObjectKey, *, used: float, saved: float) -> None:
        """Record the sums since a ScaledObject was first seen; its status stores them across restarts."""
        labels = (key.namespace, key.kind, key.name)
        self._series.of(key, self._savings.used, labels).set(used)
        self._series.of(key, self._savings.saved, labels).set(saved)

    def record_lateness(self, key: ObjectKey, seconds: float) -> None:
        """Record how late a scale loop began."""
        labels, late = (key.namespace, key.kind.lower(), key.name), max(seconds, 0.0)
        self._series.of(key, self._loop, labels).set(late)
        self.process.lateness.observe(late)

    def record_batch(self, size: int) -> None:
        self.process.record_batch(size)

    def record_http(self, exchange: HttpExchange) -> None:
        """Record an HTTP request of the trigger that is being read."""
        meter = current_work().metric
        if not isinstance(meter, TrackedMetric):
            return
        metric, code = meter.metric, _code(exchange.status)
        kind = meter.scalers.spec.triggers[metric.trigger_index].type
        labels = (*_object_labels(meter.key), kind, shortened(metric.trigger_name), shortened(metric.name), code)
        timed = labels if self._timed_by == _HTTP else (kind, code)
        self.on_http(dict(zip(self._timed_by, timed, strict=True)), exchange.seconds)
        if not meter.retired:
            of, key = self._series.of, meter.key
            scope = _series_labels(key, meter.scalers, metric.trigger_index, metric.name)
            of(key, self._http, labels, scope).inc()
            of(key, self._http_seconds, timed, scope if timed is labels else (kind,)).observe(exchange.seconds)

    def record_resources(self, kind: str, namespace: str, count: int) -> None:
        """Set how many objects of a type, such as "scaled_object", a namespace has."""
        _set_or_remove(self._resources, (kind, namespace), count)

    def record_triggers(self, trigger_type: str, count: int) -> None:
        """Set how many triggers of a type exist."""
        _set_or_remove(self._triggers, (shortened(trigger_type),), count)

    def forget(self, key: ObjectKey) -> None:
        self._series.forget(key)
        self.environments.forget(key)

    def _count_empty(self, key: ObjectKey, reading: MetricReading, scope: Scope, *, ignored: bool) -> None:
        metric = reading.metric
        words = (shortened(metric.trigger_name), shortened(metric.name))
        labels = (*_object_labels(key), *words, key.kind, str(ignored).lower())
        self._series.of(key, self._empty, labels, scope).inc()


def _http_timer(labels: Labels, registry: CollectorRegistry) -> Histogram:
    name, text = "keda_scaler_http_request_duration_seconds", "until the head of the answer has come"
    return Histogram(name, text, labels, registry=registry)


def _code(status: int) -> str:
    """Return the label of a status: sources may send any number, and those without a meaning share one per class."""
    if status in _STATUSES:
        return str(status)
    return f"{status // 100}xx" if status else "error"


def _set_or_remove(gauge: Family, labels: Labels, count: int) -> None:
    series = gauge.labels(*labels)
    series.set(count) if count else gauge.remove(*labels)


def _object_labels(key: ObjectKey) -> Labels:
    return (key.namespace, key.name)


def _series_labels(key: ObjectKey, scalers: ScalerSet, index: int, metric: str) -> Labels:
    scaler, kind = _scaler_label(scalers, index), key.kind.lower()
    return (key.namespace, shortened(metric), key.name, scaler, str(index), kind)


def _resource_labels(key: ObjectKey, scalers: ScalerSet) -> set[Labels]:
    """Return the labels of resource metrics; none under a formula, which has an activity of its own."""
    if scalers.spec.modifiers is not None:
        return set()
    measured = zip(scalers.metrics.resource_triggers, scalers.metrics.resource, strict=True)
    return {_series_labels(key, scalers, index, metric.name) for index, metric in measured}


def _composite_labels(key: ObjectKey) -> Labels:
    return (key.namespace, COMPOSITE_METRIC, key.name, COMPOSITE_METRIC, "0", SCALED_OBJECT.lower())


def _scaler_label(scalers: ScalerSet, index: int) -> str:
    """Return the trigger's name, else KEDA's name for the implementation, such as "prometheusScaler"."""
    implementation = type(scalers.scaler(index)).__name__
    return shortened(scalers.spec.triggers[index].name) or implementation[:1].lower() + implementation[1:]
