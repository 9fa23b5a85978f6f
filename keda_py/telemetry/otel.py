"""OpenTelemetry export: our metrics under KEDA's names and attributes, pushed by OTLP.

The metrics of `prometheus.py` are read when an export is due, in the exporter's own thread, so that a slow or missing
collector delays nothing. The SDK reads address, interval and credentials from the OTEL_* variables. Imported only with
--enable-opentelemetry-metrics; needs the extra `otel`. The names are in `otel_names.py`. Behaviour reference, section
14.2.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager

from opentelemetry.metrics import CallbackOptions, Histogram, Meter, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource

from keda_py import __version__
from keda_py.errors import ConfigError
from keda_py.telemetry.otel_names import EXPORTED, HTTP_SECONDS, HTTP_SECONDS_BUCKETS, ExportedMetric
from keda_py.telemetry.prometheus import OperatorMetrics

METER = "keda-open-telemetry-metrics"
LAST_EXPORT_SECONDS = 2.0
"""Time limit of the last export, at shutdown."""

# Sets of attributes (trigger and status code) with --enable-high-cardinality-metrics-labels. Later ones are recorded
# without their trigger, because each set is kept until the process ends.
MOST_TIMED = 20_000

log = logging.getLogger(__name__)


@asynccontextmanager
async def exporting(metrics: OperatorMetrics) -> AsyncIterator[None]:
    """Export while inside, and once more at the end. Raises ConfigError for invalid OTEL_* variables."""
    complaints = _Complaints()
    complaints.listen()
    try:
        provider = MeterProvider((_reader(complaints),), resource=_resource(), shutdown_on_exit=False)
    except (ValueError, ImportError, OSError) as error:
        complaints.leave()
        raise ConfigError(f"OpenTelemetry export cannot begin: {error}; see the OTEL_* variables") from error
    _show(metrics, provider.get_meter(METER))
    log.info("exporting metrics by otlp", extra={"protocol": _protocol()})
    try:
        yield
    finally:
        await asyncio.to_thread(provider.shutdown, LAST_EXPORT_SECONDS * 1000)
        complaints.leave()


class _Complaints(logging.Handler):
    """Log handler that keeps the SDK's last error, so that `_ObservedExporter` logs it once and not at every export."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""
        self._logger = logging.getLogger("opentelemetry")

    def listen(self) -> None:
        """Redirect the SDK's log to this handler alone."""
        self._logger.addHandler(self)
        self._logger.propagate = False

    def leave(self) -> None:
        self._logger.removeHandler(self)
        self._logger.propagate = True

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message without a URL's query, which may hold a key."""
        self.last = record.getMessage().partition("?")[0]


class _ObservedExporter(MetricExporter):
    """Exporter that logs when the collector stops accepting metrics, and when it accepts them again."""

    def __init__(self, exporter: MetricExporter, complaints: _Complaints) -> None:
        # The SDK's readers take these preferences, which OTEL_* variables can set, from the exporter in the same way.
        super().__init__(exporter._preferred_temporality, exporter._preferred_aggregation)
        self._exporter, self._complaints = exporter, complaints
        self._failing = False

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: object) -> MetricExportResult:
        """Export, in the SDK's thread, and log a change between success and failure."""
        result = self._exporter.export(metrics_data, timeout_millis, **kwargs)
        failing = result is not MetricExportResult.SUCCESS
        if failing and not self._failing:
            log.warning("metrics cannot be exported", extra={"error": self._complaints.last})
        elif self._failing and not failing:
            log.info("metrics can be exported again")
        self._failing = failing
        return result

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return self._exporter.force_flush(timeout_millis)

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: object) -> None:
        self._exporter.shutdown(timeout_millis, **kwargs)


def _protocol() -> str:
    """Return the protocol; as in KEDA everything but "grpc" is HTTP."""
    named = os.environ.get("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    return "grpc" if named == "grpc" else "http"


def _reader(complaints: _Complaints) -> PeriodicExportingMetricReader:
    exporter: MetricExporter
    if _protocol() == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcExporter

        exporter = GrpcExporter()
    else:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpExporter

        exporter = HttpExporter()
    return PeriodicExportingMetricReader(_ObservedExporter(exporter, complaints))


def _resource() -> Resource:
    """Return our resource attributes; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence."""
    defaults = {"service.name": "keda-operator", "service.version": __version__}
    return Resource.create(defaults).merge(OTELResourceDetector().detect())


def _show(metrics: OperatorMetrics, meter: Meter) -> None:
    for exported in EXPORTED:
        callback = _Series(metrics, exported).observe
        _create(meter, exported)(exported.name, [callback], exported.unit, exported.description)
    seconds = meter.create_histogram(
        HTTP_SECONDS, "s", "until the head of the answer came", explicit_bucket_boundaries_advisory=HTTP_SECONDS_BUCKETS
    )

    metrics.on_http = BoundedHistogram(seconds).record


class BoundedHistogram:
    """Histogram of requests with a bound on its attributes: the SDK keeps them for ever, and users invent triggers."""

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram
        self._known: set[tuple[str, ...]] = set()

    def record(self, labels: Mapping[str, str], seconds: float) -> None:
        """Record a request; without its trigger above MOST_TIMED known sets."""
        attributes, known = dict(labels), tuple(labels.values())
        if known in self._known or len(self._known) < MOST_TIMED:
            self._known.add(known)
        else:
            attributes = {name: labels[name] for name in ("scaler", "status_code")}
        self._histogram.record(seconds, attributes)


def _create(meter: Meter, exported: ExportedMetric) -> Callable[..., object]:
    match exported.kind:
        case "gauge":
            return meter.create_observable_gauge
        case "counter":
            return meter.create_observable_counter
        case "updown":
            return meter.create_observable_up_down_counter


class _Series:
    """Observable series of one name."""

    def __init__(self, metrics: OperatorMetrics, exported: ExportedMetric) -> None:
        self._metrics, self._exported = metrics, exported
        self._counted: set[frozenset[tuple[str, str | bool]]] = set()

    def observe(self, _: CallbackOptions) -> Iterable[Observation]:
        """Observe the current values, in the SDK's thread. An ended total is sent once more as 0, or the collector
        keeps it.
        """
        known, self._counted = self._counted, set()
        # Read in the exporter's thread while the loop may write; a family copies its series first.
        for family in self._metrics.registry.restricted_registry([self._exported.series]).collect():
            for sample in family.samples:
                attributes = self._exported.attributes(sample.labels)
                if self._exported.kind == "updown":
                    self._counted.add(frozenset(attributes.items()))
                yield Observation(self._exported.value(sample.value), attributes)
        for ended in known - self._counted:
            yield Observation(0, dict(ended))
