"""Our own metrics, under KEDA's names."""

import asyncio
from collections import Counter as Counted
from http import HTTPStatus

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from keda_py.answers.work_context import working
from keda_py.apis.scaled_object import MOST_TRIGGERS
from keda_py.core.evaluation import Evaluation, MetricValue
from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.core.pacing.polling_grid import Grid
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import EmptyAnswer, ScalerError
from keda_py.kube.client import Exchange
from keda_py.net.http.transport import HttpExchange
from keda_py.readings.tracked_metrics import TrackedMetric
from keda_py.sdk.scaler import Reading
from keda_py.telemetry.page import MetricsPage
from keda_py.telemetry.prometheus import OperatorMetrics
from keda_py.telemetry.series import MOST_DETAILED_LINES, MOST_LINES, Family, Series
from tests.costs import bytes_kept_by

KEY = ObjectKey("ScaledObject", "shop", "app")
LABELS = 'metric="s0-a-x",namespace="shop",scaledObject="app",scaler="tapScaler",triggerIndex="0",type="scaledobject"'


@pytest.fixture
def metrics() -> OperatorMetrics:
    return OperatorMetrics()


async def page(metrics: OperatorMetrics) -> list[str]:
    return (await MetricsPage(metrics).render()).decode().splitlines()


async def record(engine, metrics):
    for reading in (await engine.readings.poll(KEY)).readings:
        metrics.record_reading(KEY, engine.readings.built(KEY), reading)


async def test_a_reading_shows_value_activity_latency_and_no_errors(engine, metrics):
    await engine.build()
    engine.taps["a"].value = 12.5
    await record(engine, metrics)
    text = await page(metrics)
    assert f"keda_scaler_metrics_value{{{LABELS}}} 12.5" in text
    assert f"keda_scaler_active{{{LABELS}}} 1.0" in text
    assert f"keda_scaler_detail_errors_total{{{LABELS}}} 0.0" in text
    assert 'keda_scaled_object_errors_total{namespace="shop",scaledObject="app"} 0.0' in text
    assert any(line.startswith(f"keda_scaler_metrics_latency_seconds{{{LABELS}}}") for line in text)


async def test_a_failed_reading_counts_and_leaves_the_last_value(engine, metrics):
    await engine.build({"name": "queue"})
    await record(engine, metrics)
    engine.taps["a"].value = ScalerError("down")
    await engine.clock.advance(30)
    await record(engine, metrics)
    text = await page(metrics)
    labels = LABELS.replace("tapScaler", "queue")
    assert f"keda_scaler_detail_errors_total{{{labels}}} 1.0" in text
    assert f"keda_scaler_metrics_value{{{labels}}} 1.0" in text


async def test_series_end_with_their_object_and_with_their_metric(engine, metrics):
    await engine.build()
    await record(engine, metrics)
    metrics.record_paused(KEY, paused=True)
    metrics.record_lateness(KEY, 0.25)
    assert 'keda_scaled_object_paused{namespace="shop",scaledObject="app"} 1.0' in await page(metrics)
    await engine.build({"metadata": {"item": "other"}}, generation=2)
    metrics.record_built(KEY, engine.readings.built(KEY))
    assert not any("s0-a-x" in line for line in await page(metrics))
    assert any("app" in line for line in await page(metrics))
    metrics.forget(KEY)
    assert not any("shop" in line for line in await page(metrics))


async def test_a_trigger_that_is_renamed_leaves_no_series_under_its_old_name(engine, metrics):
    await engine.build({"name": "old"})
    await record(engine, metrics)
    await engine.build({"name": "new"}, generation=2)
    metrics.record_built(KEY, engine.readings.built(KEY))
    assert not any('"old"' in line for line in await page(metrics))


def test_a_series_that_two_objects_write_to_ends_with_the_second() -> None:
    registry = CollectorRegistry()
    requests = Counter("requests", "asked", ("scaler",), registry=registry)
    series = Series()
    for name in ("first", "second", "second"):
        series.of(ObjectKey("ScaledObject", "shop", name), requests, ("prometheusScaler",)).inc()
    series.forget(ObjectKey("ScaledObject", "shop", "second"))
    assert registry.get_sample_value("requests_total", {"scaler": "prometheusScaler"}) == 3
    series.forget(ObjectKey("ScaledObject", "shop", "first"))
    assert registry.get_sample_value("requests_total", {"scaler": "prometheusScaler"}) is None


async def test_registered_objects_and_triggers_are_gauges_under_kedas_names(metrics):
    metrics.record_resources("scaled_object", "shop", 2)
    metrics.record_resources("scaled_object", "other", 1)
    metrics.record_triggers("redis", 3)
    metrics.record_triggers("cron", 1)
    metrics.record_resources("scaled_object", "shop", 1)
    metrics.record_resources("scaled_object", "other", 0)
    metrics.record_triggers("cron", 0)
    metrics.record_error(KEY)
    text = await page(metrics)
    assert 'keda_resource_registered_total{namespace="shop",type="scaled_object"} 1.0' in text
    assert 'keda_trigger_registered_total{type="redis"} 3.0' in text
    assert not any("cron" in line or "other" in line for line in text)
    assert 'keda_scaled_object_errors_total{namespace="shop",scaledObject="app"} 1.0' in text
    assert any(line.startswith("keda_build_info{") for line in text)
    assert any(line.startswith("process_resident_memory_bytes") for line in text)
    assert "# TYPE keda_trigger_registered_total gauge" in text


async def test_an_answer_with_nothing_in_it_is_counted_whether_it_is_ignored_or_not(engine, metrics):
    await engine.build({"name": "queue"})
    engine.taps["a"].value = Reading(value=0.0, note="the result is empty", empty=True)
    await record(engine, metrics)
    engine.taps["a"].value = EmptyAnswer("the result is empty")
    await engine.clock.advance(30)
    await record(engine, metrics)
    text = await page(metrics)
    name = "keda_scaler_empty_upstream_responses_total"
    for ignored in ("true", "false"):
        labels = (
            f'ignoreNullValues="{ignored}",metricName="s0-a-x",namespace="shop",'
            'resourceType="ScaledObject",scaledResource="app",triggerName="queue"'
        )
        assert f"{name}{{{labels}}} 1.0" in text


async def test_the_formulas_value_is_a_series_of_its_own(metrics):
    value = MetricValue(name=COMPOSITE_METRIC, milli=2500)
    metrics.record_evaluation(KEY, Evaluation(values=(value,), active=True, failing=False))
    labels = (
        'metric="composite-metric",namespace="shop",scaledObject="app",scaler="composite-metric",'
        'triggerIndex="0",type="scaledobject"'
    )
    text = await page(metrics)
    assert f"keda_scaler_metrics_value{{{labels}}} 2.5" in text
    assert f"keda_scaler_active{{{labels}}} 1.0" in text


async def test_requests_to_the_api_server_are_counted_as_client_go_does(metrics):
    for verb, code in (("LIST", 200), ("GET", 200), ("PATCH", 0)):
        metrics.process.record_exchange(Exchange(host="kube:6443", verb=verb, resource="pods", code=code, seconds=0.1))
    text = await page(metrics)
    assert 'rest_client_requests_total{code="200",host="kube:6443",method="GET"} 2.0' in text
    assert 'rest_client_requests_total{code="<error>",host="kube:6443",method="PATCH"} 1.0' in text


async def test_what_is_asked_for_at_each_scrape_is_asked_on_the_loop(metrics):
    metrics.process.show_leadership("operator.keda.sh", lambda: asyncio.get_running_loop().is_running())
    metrics.process.show_queue("scaledobject", lambda: 7)
    text = await page(metrics)
    assert 'leader_election_master_status{name="operator.keda.sh"} 1.0' in text
    assert 'keda_py_queue_depth{type="scaledobject"} 7.0' in text


async def test_namespaces_and_actions_that_a_caller_makes_up_leave_the_page_as_long_as_it_was(metrics):
    metrics.admission.limit_namespaces({"shop"}.__contains__)
    metrics.process.show(metrics.admission.sweep)

    async def judged(namespace: str, action: str) -> list[str]:
        metrics.admission.record_validation(namespace, action)
        metrics.admission.record_denial(namespace, action, "incorrect-triggers")
        return await page(metrics)

    await judged("shop", "create")
    before = len(await judged("made-up", "made up"))
    for number in range(100):
        metrics.admission.record_validation(f"forged-{number}", f"forged-{number}")
        metrics.admission.record_denial(f"forged-{number}", f"forged-{number}", "incorrect-triggers")
    text = await page(metrics)
    assert len(text) == before
    assert 'keda_webhook_scaled_object_validations_total{action="_unknown",namespace="_unknown"} 101.0' in text
    assert 'keda_webhook_scaled_object_validations_total{action="create",namespace="shop"} 1.0' in text


async def test_the_webhooks_series_of_a_namespace_end_with_it(metrics):
    there = {"shop"}
    metrics.admission.limit_namespaces(there.__contains__)
    metrics.process.show(metrics.admission.sweep)
    metrics.admission.record_validation("shop", "create")
    assert any('"shop"' in line for line in await page(metrics))
    there.clear()
    assert not any('"shop"' in line for line in await page(metrics))


async def test_events_about_a_namespace_that_is_gone_are_counted_no_more(metrics):
    source = ObjectKey("ClusterCloudEventSource", "", "all")
    for namespace in ("shop", "gone", ""):
        metrics.cloud_events.record_event(source, namespace, "http", "emitted")
    metrics.cloud_events.sweep({"shop"}.__contains__)
    text = [line for line in await page(metrics) if line.startswith("keda_cloudeventsource_events_emitted_total")]
    assert {line.partition('namespace="')[2].partition('"')[0] for line in text} == {"shop", ""}


async def test_a_source_cannot_make_up_status_codes(engine, metrics):
    await engine.build()
    built = engine.readings.built(KEY)
    meter = TrackedMetric(key=KEY, scalers=built, metric=built.metrics.external[0], grid=Grid(interval=30, offset=0))
    with working(metric=meter):
        for status in range(100, 1000):
            metrics.record_http(HttpExchange(status=status, seconds=0.1))
    lines = [line for line in await page(metrics) if line.startswith("keda_scaler_http_requests_total{")]
    assert len(lines) < 75
    assert any('status_code="404"' in line for line in lines)
    assert any('status_code="7xx"' in line for line in lines)


def counted(lines: list[str]) -> int:
    """Return the number of series on a page."""
    return sum(not line.startswith("#") for line in lines)


async def asked(engine, metrics, *statuses: int) -> None:
    """Count HTTP answers for the first trigger, and its reading."""
    built = engine.readings.built(KEY)
    meter = TrackedMetric(key=KEY, scalers=built, metric=built.metrics.external[0], grid=Grid(interval=30, offset=0))
    with working(metric=meter):
        for status in statuses:
            metrics.record_http(HttpExchange(status=status, seconds=0.1))
    await record(engine, metrics)


async def test_an_object_that_is_edited_without_end_leaves_the_page_as_long_as_it_was(engine, metrics):
    sizes = []
    for generation in range(1, 6):
        await engine.build({"name": f"n{generation}", "metadata": {"item": f"i{generation}"}}, generation=generation)
        metrics.record_built(KEY, engine.readings.built(KEY))
        await asked(engine, metrics, 200, 500)
        sizes.append(counted(await page(metrics)))
    assert sizes == [sizes[0]] * 5


async def test_what_was_counted_of_a_trigger_stays_when_its_object_is_edited_elsewhere(engine, metrics):
    for generation in (1, 2):
        await engine.build(generation=generation)
        metrics.record_built(KEY, engine.readings.built(KEY))
        await asked(engine, metrics, 200)
    requests = [line for line in await page(metrics) if line.startswith("keda_scaler_http_requests_total{")]
    assert [line.rpartition(" ")[2] for line in requests] == ["2.0"]


async def test_series_of_triggers_end_when_their_object_has_no_scalers_any_more(engine, metrics):
    await engine.build()
    await asked(engine, metrics, 200)
    metrics.record_error(KEY)
    metrics.record_dismissed(KEY)
    text = [line for line in await page(metrics) if '"shop"' in line]
    assert text == ['keda_scaled_object_errors_total{namespace="shop",scaledObject="app"} 1.0']


@pytest.mark.parametrize("detailed", [False, True])
async def test_an_object_has_so_many_series_at_most_and_no_more_are_made(engine, detailed):
    metrics, most = OperatorMetrics(detailed=detailed), MOST_DETAILED_LINES if detailed else MOST_LINES
    before = counted(await page(metrics))
    statuses = (*map(int, HTTPStatus), *range(199, 1000, 100))  # each that is told apart, and one of each class
    await engine.build(*({"name": f"t{n}", "metadata": {"item": f"i{n}"}} for n in range(most // 50)))
    built = engine.readings.built(KEY)
    for metric in built.metrics.external:
        with working(metric=TrackedMetric(key=KEY, scalers=built, metric=metric, grid=Grid(interval=30, offset=0))):
            for status in statuses:
                metrics.record_http(HttpExchange(status=status, seconds=0.1))
    assert most / 2 < counted(await page(metrics)) - before <= most * 1.1
    metrics.forget(KEY)
    assert counted(await page(metrics)) == before


async def test_an_object_with_as_many_triggers_as_there_may_be_is_shown_as_a_whole(engine, metrics):
    await engine.build(*({"metadata": {"item": f"i{number}"}} for number in range(MOST_TRIGGERS)))
    await record(engine, metrics)
    built = engine.readings.built(KEY)
    for metric in built.metrics.external:
        with working(metric=TrackedMetric(key=KEY, scalers=built, metric=metric, grid=Grid(interval=30, offset=0))):
            for status in (200, 500):
                metrics.record_http(HttpExchange(status=status, seconds=0.1))
    names = [line.partition("{")[0] for line in await page(metrics) if "s0-a" in line or "-a-i" in line]
    assert set(Counted(names).values()) == {MOST_TRIGGERS, 2 * MOST_TRIGGERS}


def test_a_series_that_is_there_is_written_to_by_an_object_that_may_have_no_more() -> None:
    registry = CollectorRegistry()
    requests = Counter("requests", "asked", ("scaler",), registry=registry)
    series = Series(most=1)
    for scaler in ("own", "shared", "other"):
        series.of(
            ObjectKey("ScaledObject", "shop", "first" if scaler == "own" else "second"), requests, (scaler,)
        ).inc()
    series.of(ObjectKey("ScaledObject", "shop", "first"), requests, ("shared",)).inc()
    shown = {name: registry.get_sample_value("requests_total", {"scaler": name}) for name in ("own", "shared", "other")}
    assert shown == {"own": 1, "shared": 2, "other": None}


async def test_a_long_name_is_a_short_label(engine, metrics):
    await engine.build({"name": "n" * 100_000})
    await record(engine, metrics)
    metrics.record_triggers("t" * 100_000, 1)
    assert max(map(len, await page(metrics))) < 2_000


def test_a_series_of_an_object_is_little_more_than_its_labels_and_a_number() -> None:
    names = [("shop", f"app-{number}") for number in range(1_000)]

    def told() -> Family:
        family = Family("gauge", "told", "for each object", ("namespace", "scaledObject"), CollectorRegistry())
        for name in names:
            family.labels(*name).set(1.5)
        return family

    assert bytes_kept_by(told) / len(names) < 260  # with prometheus_client's Gauge it was over 600


def test_a_family_is_shown_as_prometheus_client_shows_its_own() -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    labels = ("namespace", "scaledObject")
    odd = ("shop", 'a "quoted"\nname\\')
    for kind, name, value in (("gauge", "replicas", -1.5), ("counter", "errors", 2)):
        own = Family(kind, name, "how many\nthere are", labels, ours)
        theirs_of = {"gauge": Gauge, "counter": Counter}[kind](name, "how many\nthere are", labels, registry=theirs)
        for one in (own.labels(*odd), theirs_of.labels(*odd)):
            one.inc(value)
        with pytest.raises(ValueError, match="Duplicated"):
            Family(kind, name, "again", labels, ours)
    assert generate_latest(ours) == generate_latest(theirs)
