"""Our own metrics, under KEDA's names and labels, so that existing dashboards and alerts go on working.

The engine and the operator report through the small `record_...` functions; a series ends with its ScaledObject.
Rendering 2000 series costs 27 ms, so a scrape is rendered in a thread, at most once a second. Behaviour reference,
section 14.1.
"""

import asyncio
import platform
from collections import defaultdict
from collections.abc import Mapping, Sequence

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics import MetricWrapperBase

from keda_py import __version__
from keda_py.errors import ScalerError
from keda_py.metrics.meters import Key, MetricReading
from keda_py.metrics.scaler_set import ScalerSet

RENDER_SECONDS = 1.0
"""A rendered page serves everybody who asks within this time."""

_SERIES = ("namespace", "metric", "scaledObject", "scaler", "triggerIndex", "type")
_OBJECT = ("namespace", "scaledObject")
_LOOP = ("namespace", "type", "resource")


class OperatorMetrics:
    """The metrics of one process. Every function is cheap and never waits."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # prometheus_client has no type here
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._value = Gauge("keda_scaler_metrics_value", "last value of a metric", _SERIES, registry=registry)
        self._latency = Gauge(
            "keda_scaler_metrics_latency_seconds", "how long the source took to answer", _SERIES, registry=registry
        )
        self._active = Gauge("keda_scaler_active", "1 while a trigger is active", _SERIES, registry=registry)
        self._errors = Counter("keda_scaler_detail_errors", "failed readings of a metric", _SERIES, registry=registry)
        self._paused = Gauge("keda_scaled_object_paused", "1 while paused", _OBJECT, registry=registry)
        self._object_errors = Counter(
            "keda_scaled_object_errors", "failed readings and checks of a ScaledObject", _OBJECT, registry=registry
        )
        self._lateness = Gauge(
            "keda_internal_scale_loop_latency_seconds", "how late a scale loop began", _LOOP, registry=registry
        )
        self._resources = Gauge(
            "keda_resource_registered_total", "objects by type and namespace", ("type", "namespace"), registry=registry
        )
        self._triggers = Gauge("keda_trigger_registered_total", "triggers by type", ("type",), registry=registry)
        self._validations = Counter(
            "keda_webhook_scaled_object_validations",
            "ScaledObjects judged by the webhook",
            ("namespace", "action"),
            registry=registry,
        )
        self._denials = Counter(
            "keda_webhook_scaled_object_validation_errors",
            "objects that the webhook denied",
            ("namespace", "action", "reason"),
            registry=registry,
        )
        self._by_object: defaultdict[Key, set[tuple[MetricWrapperBase, tuple[str, ...]]]] = defaultdict(set)
        self._add_build_info()

    def record_reading(self, key: Key, scalers: ScalerSet, reading: MetricReading) -> None:
        """A completed reading, good or failed."""
        labels = _series_labels(key, scalers, reading)
        self._remember(key, labels, self._latency, self._errors)
        self._latency.labels(*labels).set(reading.seconds)
        errors, object_errors = self._errors.labels(*labels), self._object_errors.labels(*key)
        self._remember(key, key, self._object_errors)
        match reading.outcome:
            case ScalerError():
                errors.inc()
                object_errors.inc()
            case outcome:
                self._remember(key, labels, self._value, self._active)
                self._value.labels(*labels).set(outcome.value)
                self._active.labels(*labels).set(1 if outcome.active else 0)

    def record_error(self, key: Key) -> None:
        """A ScaledObject that could not be checked or decided on."""
        self._remember(key, key, self._object_errors)
        self._object_errors.labels(*key).inc()

    def record_paused(self, key: Key, *, paused: bool) -> None:
        """Whether a ScaledObject is paused."""
        self._remember(key, key, self._paused)
        self._paused.labels(*key).set(1 if paused else 0)

    def record_lateness(self, key: Key, seconds: float) -> None:
        """How much later than due a scale loop began."""
        labels = (key[0], "scaledobject", key[1])
        self._remember(key, labels, self._lateness)
        self._lateness.labels(*labels).set(max(seconds, 0.0))

    def record_validation(self, namespace: str, action: str) -> None:
        """A ScaledObject that the webhook judged; `action` is create or update."""
        self._validations.labels(namespace, action).inc()

    def record_denial(self, namespace: str, action: str, reason: str) -> None:
        """One that it denied, or a ScaledJob."""
        self._denials.labels(namespace, action, reason).inc()

    def record_registered(self, objects: Mapping[tuple[str, str], int], triggers: Mapping[str, int]) -> None:
        """All objects by (type, namespace), as ("scaled_object", "shop"), and all triggers by type."""
        self._resources.clear()
        self._triggers.clear()
        for labels, count in objects.items():
            self._resources.labels(*labels).set(count)
        for trigger_type, count in triggers.items():
            self._triggers.labels(trigger_type).set(count)

    def forget(self, key: Key) -> None:
        """Remove every series of a ScaledObject."""
        for metric, labels in self._by_object.pop(key, ()):
            metric.remove(*labels)

    def forget_metrics(self, key: Key, kept: Sequence[str]) -> None:
        """Remove the series of metrics that a ScaledObject has no longer."""
        gone = {
            (metric, labels)
            for metric, labels in self._by_object.get(key, ())
            if len(labels) == len(_SERIES) and labels[1] not in kept
        }
        for metric, labels in gone:
            metric.remove(*labels)
        if gone:
            self._by_object[key] -= gone

    def _remember(self, key: Key, labels: tuple[str, ...], *metrics: MetricWrapperBase) -> None:
        self._by_object[key].update((metric, labels) for metric in metrics)

    def _add_build_info(self) -> None:
        info = {
            "version": __version__,
            "git_commit": "",
            # KEDA's label for its own runtime; dashboards group by it.
            "goversion": f"python{platform.python_version()}",
            "goos": platform.system().lower(),
            "goarch": platform.machine(),
        }
        build = Gauge("keda_build_info", "version and platform; always 1", tuple(info), registry=self.registry)
        build.labels(**info).set(1)


class MetricsPage:
    """The text page on --metrics-bind-address."""

    def __init__(self, metrics: OperatorMetrics) -> None:
        self._registry = metrics.registry
        self._page, self._rendered_at = b"", float("-inf")
        self._rendering = asyncio.Lock()

    async def render(self) -> bytes:
        """The page, at most a second old; rendered off the loop."""
        async with self._rendering:
            now = asyncio.get_running_loop().time()
            if now - self._rendered_at >= RENDER_SECONDS:
                self._page = await asyncio.to_thread(generate_latest, self._registry)
                self._rendered_at = now
            return self._page

    async def answer(self, request: web.Request) -> web.Response:
        """For `app.router.add_get("/metrics", page.answer)`."""
        return web.Response(body=await self.render(), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _series_labels(key: Key, scalers: ScalerSet, reading: MetricReading) -> tuple[str, ...]:
    index = reading.metric.trigger_index
    implementation = type(scalers.scaler(index)).__name__
    scaler = reading.metric.trigger_name or implementation[:1].lower() + implementation[1:]
    return (key[0], reading.metric.name, key[1], scaler, str(index), "scaledobject")
