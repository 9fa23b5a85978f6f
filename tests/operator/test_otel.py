"""An operator that pushes its metrics: KEDA's OpenTelemetry names and attributes, as a collector receives them."""

import asyncio
import logging
from collections import Counter
from copy import copy

import pytest
import pytest_asyncio
from opentelemetry.metrics import NoOpHistogram

from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS
from keda_py.telemetry.otel import MOST_TIMED, BoundedHistogram, exporting
from keda_py.telemetry.prometheus import OperatorMetrics
from tests.builders import deployment, metrics_api, scaled_job, scaled_object
from tests.collector import Collector, Point, grpc_collector
from tests.http_server import HttpServer, http_server
from tests.waiting import eventually
from tests.worlds.world import World, open_world

SCALED_OBJECT = {
    "namespace": "default",
    "scaledObject": "app",
    "scaler": "metricsAPIScaler",
    "scalerIndex": "0",
    "metric": "s0-metric-api-value",
}


@pytest.fixture
async def collector(server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> Collector:
    return collecting(server, monkeypatch)


def collecting(server: HttpServer, environment: pytest.MonkeyPatch) -> Collector:
    """Reached by OTLP over HTTP, twenty times a second."""
    taking = Collector(url=server.url)
    server.answers["/v1/metrics"] = taking.answer
    environment.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
    environment.setenv("OTEL_METRIC_EXPORT_INTERVAL", "50")
    return taking


@pytest.fixture
async def pushing(quiet_world: World, collector: Collector) -> World:
    await push(quiet_world)
    return quiet_world


async def push(world: World) -> None:
    """An operator with the flag, and one object at work."""
    world.operator.flags["enable-opentelemetry-metrics"] = "true"
    await world.operator.start()
    world.jobs(3)
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(3)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def collected(tmp_path_factory: pytest.TempPathFactory) -> Collector:
    """What such an operator had exported before it left, for tests that only read it."""
    with pytest.MonkeyPatch.context() as environment:
        async with http_server() as server, open_world(tmp_path_factory.mktemp("otel"), server) as world:
            collector = collecting(server, environment)
            await push(world)
            await next_export(collector)
            return copy(collector)


async def next_export(collector: Collector) -> None:
    """One that began after now: the second, as the first may be under way."""
    seen = collector.exports
    await eventually(lambda: collector.exports >= seen + 2)


def test_values_activity_and_errors_have_kedas_names_and_attributes(collected: Collector) -> None:
    assert collected.points("keda.scaler.metrics.value") == [Point(attributes=SCALED_OBJECT, value=3)]
    assert collected.points("keda.scaler.active") == [Point(attributes=SCALED_OBJECT, value=1)]
    assert collected.points("keda.scaler.errors") == [Point(attributes=SCALED_OBJECT, value=0)]
    whole = {"namespace": "default", "scaledObject": "app"}
    assert collected.points("keda.scaledobject.errors") == [Point(attributes=whole, value=0)]
    assert collected.points("keda.scaled.object.paused") == [Point(attributes=whole, value=0)]
    loop = {"namespace": "default", "type": "scaledobject", "name": "app"}
    assert [one.attributes for one in collected.points("keda.internal.scale.loop.latency.seconds")] == [loop]
    assert collected.scopes == {"keda-open-telemetry-metrics"}


def test_deprecated_latencies_are_whole_milliseconds(collected: Collector) -> None:
    (seconds,) = collected.points("keda.scaler.metrics.latency.seconds")
    (milliseconds,) = collected.points("keda.scaler.metrics.latency")
    assert milliseconds.attributes == seconds.attributes == SCALED_OBJECT
    assert milliseconds.value == int(seconds.value * 1000)
    assert collected.metrics["keda.scaler.metrics.latency.seconds"].unit == "s"


def test_totals_are_sums_that_may_go_down_and_errors_are_sums_that_may_not(collected: Collector) -> None:
    for name in ("keda.resource.registered.count", "keda.resource.totals"):
        attributes = {"namespace": "default", "type": "scaled_object"}
        assert collected.points(name) == [Point(attributes=attributes, value=1)]
    for name in ("keda.trigger.registered.count", "keda.trigger.totals"):
        assert collected.points(name) == [Point(attributes={"type": "metrics-api"}, value=1)]
        assert not collected.metrics[name].sum.is_monotonic
    errors = collected.metrics["keda.scaler.errors"]
    assert errors.sum.is_monotonic
    assert errors.sum.data_points[0].WhichOneof("value") == "as_int"


def test_http_requests_are_counted_and_timed_by_scaler_and_status(collected: Collector) -> None:
    (requests,) = collected.points("keda.scaler.http.requests.count")
    assert requests.attributes["status_code"] == "200"
    assert requests.attributes["scaled_resource"] == "app"
    (seconds,) = collected.points("keda.scaler.http.request.duration.seconds")
    assert seconds == Point(attributes={"scaler": "metrics-api", "status_code": "200"}, value=requests.value)
    bounds = collected.metrics["keda.scaler.http.request.duration.seconds"].histogram.data_points[0].explicit_bounds
    assert list(bounds) == [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]


async def test_a_scaledjob_is_told_by_its_attributes(pushing: World, collector: Collector) -> None:
    await pushing.client.create(SCALED_JOBS, scaled_job(metrics_api(pushing.url), namespace="default"))
    await pushing.seconds(3)
    await next_export(collector)
    found = [one.attributes for one in collector.points("keda.scaler.active") if "scaledJob" in one.attributes]
    job = {"scaledJob": "work", "triggerIndex": "0"}
    kept = {name: value for name, value in SCALED_OBJECT.items() if name not in ("scaledObject", "scalerIndex")}
    assert found == [kept | job]


async def test_a_total_that_has_ended_is_sent_as_0_so_that_no_collector_keeps_it(
    pushing: World, collector: Collector
) -> None:
    await next_export(collector)
    await pushing.delete(SCALED_OBJECTS)
    await pushing.seconds(2)
    await eventually(lambda: {"keda.resource.registered.count", "keda.trigger.registered.count"} <= collector.zeros)
    await next_export(collector)
    assert "keda.trigger.registered.count" not in collector.metrics


async def test_what_is_gone_is_exported_no_more(pushing: World, collector: Collector) -> None:
    await next_export(collector)
    assert "keda.scaler.active" in collector.metrics
    await pushing.delete(SCALED_OBJECTS)
    await pushing.seconds(2)
    await next_export(collector)
    assert "keda.scaler.active" not in collector.metrics
    assert "keda.scaledobject.errors" not in collector.metrics


async def test_the_service_is_named_unless_the_environment_names_it(
    pushing: World, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    await next_export(collector)
    assert collector.resource["service.name"] == "keda-operator"
    await pushing.operator.stop()
    monkeypatch.setenv("OTEL_SERVICE_NAME", "autoscaler")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=sesame")
    async with exporting(OperatorMetrics()):
        await next_export(collector)
    assert collector.resource["service.name"] == "autoscaler"
    assert collector.headers[-1]["api-key"] == "sesame"


async def test_once_more_is_exported_at_the_end(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "3600000")
    metrics = OperatorMetrics()
    async with exporting(metrics):
        metrics.record_error(ObjectKey("ScaledObject", "shop", "app"))
    (errors,) = collector.points("keda.scaledobject.errors")
    assert errors.value == 1


async def test_a_collector_that_refuses_is_told_of_once_and_once_when_it_takes_again(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "keda_py")
    collector.status = 400
    async with exporting(OperatorMetrics()):
        await eventually(lambda: len(collector.headers) > 5)
        collector.status = 200
        await next_export(collector)
        told = [record.message for record in caplog.records if record.name == "keda_py.telemetry.otel"]
    assert told[1:] == ["metrics cannot be exported", "metrics can be exported again"]
    failed = next(record for record in caplog.records if record.levelname == "WARNING")
    assert "400" in vars(failed)["error"]
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]


async def test_a_dead_collector_neither_slows_the_operator_nor_keeps_it_from_leaving(
    quiet_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with http_server() as gone:
        url = gone.url
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "50")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    quiet_world.operator.flags["enable-opentelemetry-metrics"] = "true"
    await quiet_world.operator.start()
    quiet_world.jobs(3)
    await quiet_world.create(deployment(), scaled_object(metrics_api(quiet_world.url)))
    await quiet_world.seconds(3)
    assert quiet_world.replicas() == 1
    async with asyncio.timeout(5):  # the SDK tries again for a minute and more, where it is not told to leave off
        await quiet_world.operator.stop()


async def test_grpc_is_spoken_where_the_environment_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "50")
    async with grpc_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        async with exporting(OperatorMetrics()):
            await eventually(lambda: collector.exports)
    (build,) = collector.points("keda.build.info")
    assert build.value == 1
    assert set(build.attributes) == {"version", "goversion", "goos", "goarch"}


async def test_an_interval_that_means_nothing_is_refused_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "-1")
    with pytest.raises(ConfigError, match="OTEL_"):
        async with exporting(OperatorMetrics()):
            pass


def test_requests_of_triggers_without_end_are_timed_without_their_triggers() -> None:
    recorded = Counter[str]()

    class Histogram(NoOpHistogram):
        def record(self, amount, attributes=None, context=None) -> None:
            recorded[attributes.get("metric_name", "")] += 1

    timed = BoundedHistogram(Histogram("seconds"))
    for number in [*range(MOST_TIMED + 10), 0]:
        timed.record({"scaler": "redis", "metric_name": f"m{number}", "status_code": "200"}, 0.1)
    assert (len(recorded), recorded["m0"], recorded[""]) == (MOST_TIMED + 1, 2, 10)
