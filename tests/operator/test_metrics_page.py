"""The metrics page of an operator at work: KEDA's names and labels, with the values that belong there."""

import asyncio

import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families

from keda_py.errors import KubeError
from keda_py.kube.client import Request
from keda_py.kube.resources import CLUSTER_TRIGGER_AUTHENTICATIONS, DEPLOYMENTS, SCALED_JOBS, SCALED_OBJECTS
from keda_py.localkube.store.subscriptions import Event
from keda_py.telemetry.page import RENDER_SECONDS, MetricsPage
from tests.builders import cron, deployment, metrics_api, scaled_job, scaled_object
from tests.worlds.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def read(world: World) -> dict[str, float]:
    """The page as a scraper reads it: value by series. The test's own namespace is called default."""
    assert world.operator.assembly is not None
    page = MetricsPage(world.operator.assembly.parts.shared.instruments)
    text = (await page.render()).decode().replace(f'namespace="{world.namespace}"', 'namespace="default"')
    lines = text.splitlines()
    pairs = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
    return {series: float(value) for series, _, value in pairs}


@pytest.fixture
def world(room: World) -> World:
    return room


@pytest_asyncio.fixture(loop_scope="module")
async def app(room: World) -> World:
    return await active(room)


async def active(world: World) -> World:
    """With an object that has work."""
    world.jobs(3)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=5))
    await world.seconds(3)
    return world


async def test_values_activity_latency_and_errors_are_shown_for_each_trigger(app: World) -> None:
    page = await read(app)
    series = {name: value for name, value in page.items() if 'scaledObject="app"' in name}
    labels = next(name for name in series if name.startswith("keda_scaler_metrics_value")).partition("{")[2]
    assert 'metric="s0-metric-api-value"' in labels
    assert 'triggerIndex="0",type="scaledobject"' in labels
    assert series[f"keda_scaler_metrics_value{{{labels}"] == 3
    assert series[f"keda_scaler_active{{{labels}"] == 1
    assert series[f"keda_scaler_detail_errors_total{{{labels}"] == 0
    assert 0 < series[f"keda_scaler_metrics_latency_seconds{{{labels}"] < 1
    loop = 'keda_internal_scale_loop_latency_seconds{namespace="default",resource="app",type="scaledobject"}'
    assert page[loop] == pytest.approx(0, abs=0.01)


async def test_a_source_that_fails_counts_errors_and_its_http_answers(alone: World) -> None:
    app = await active(alone)
    del app.server.answers["/jobs"]
    await app.seconds(2)
    page = await read(app)
    assert page['keda_scaled_object_errors_total{namespace="default",scaledObject="app"}'] >= 2
    requests = {name: value for name, value in page.items() if name.startswith("keda_scaler_http_requests_total")}
    answered = {name.partition('status_code="')[2][:3] for name in requests}
    assert answered == {"200", "404"}
    assert all('metric_name="s0-metric-api-value"' in name and 'scaled_resource="app"' in name for name in requests)
    seconds = "keda_scaler_http_request_duration_seconds_count"
    assert sum(value for name, value in page.items() if name.startswith(seconds)) == sum(requests.values())


async def test_registered_totals_requests_and_decisions_follow_the_cluster(alone: World) -> None:
    app = await active(alone)
    page = await read(app)
    assert page['keda_resource_registered_total{namespace="default",type="scaled_object"}'] == 1
    assert page['keda_trigger_registered_total{type="metrics-api"}'] == 1
    assert page['keda_py_decisions_total{reason="Activated"}'] == 1
    host = app.operator.cable.url.removeprefix("http://")
    assert page[f'rest_client_requests_total{{code="200",host="{host}",method="PUT"}}'] >= 1
    assert page['keda_py_queue_depth{type="scaledobject"}'] == 0


async def test_an_authentication_for_all_namespaces_counts_for_the_default_one(alone: World) -> None:
    world = alone
    body = {"apiVersion": "keda.sh/v1alpha1", "kind": "ClusterTriggerAuthentication", "metadata": {"name": "all"}}
    await world.client.create(CLUSTER_TRIGGER_AUTHENTICATIONS, {**body, "spec": {"env": []}})
    await world.seconds(1)
    series = 'keda_resource_registered_total{namespace="default",type="cluster_trigger_authentication"}'
    assert (await read(world))[series] == 1


async def test_nothing_is_left_of_a_scaledobject_that_is_deleted(app: World) -> None:
    await app.delete(SCALED_OBJECTS)
    await app.delete(DEPLOYMENTS)
    await app.seconds(2)
    page = await read(app)
    assert [name for name in page if '"app"' in name] == []
    assert [name for name in page if name.startswith(("keda_resource_reg", "keda_trigger_reg"))] == []


async def test_nothing_is_left_of_it_once_the_api_server_says_that_it_is_gone(app: World) -> None:
    """Not only once our own watch has told so: a scrape may come first."""
    gone = asyncio.Event()
    left: list[str] = []

    def look(event: Event) -> None:
        if (event.resource.plural, event.type) == ("scaledobjects", "DELETED"):
            assert app.operator.assembly is not None
            left.extend(str(owner) for owner in app.operator.assembly.parts.shared.instruments.owners)
            gone.set()

    app.listen(look)
    await app.delete(SCALED_OBJECTS)
    await app.seconds(2)
    assert gone.is_set()
    assert left == []


async def test_series_of_a_trigger_that_cannot_be_built_any_more_end(app: World) -> None:
    await app.patch(SCALED_OBJECTS, {"spec": {"triggers": [{"type": "none", "metadata": {}}]}})
    await app.seconds(2)
    page = await read(app)
    assert [name for name in page if "s0-metric-api-value" in name] == []
    assert page['keda_scaled_object_errors_total{namespace="default",scaledObject="app"}'] >= 1


async def test_trigger_types_that_are_made_up_are_counted_as_one(world: World) -> None:
    made_up = [{"type": f"none-{number}", "metadata": {}} for number in range(20)]
    await world.create(deployment(), scaled_object(*made_up, metrics_api(world.url)))
    await world.seconds(1)
    types = {name: value for name, value in (await read(world)).items() if name.startswith("keda_trigger_registered")}
    assert types == {
        'keda_trigger_registered_total{type="_unknown"}': 20,
        'keda_trigger_registered_total{type="metrics-api"}': 1,
    }


async def test_a_paused_object_says_so(app: World) -> None:
    await app.annotate({"autoscaling.keda.sh/paused": "true"})
    await app.seconds(1)
    assert (await read(app))['keda_scaled_object_paused{namespace="default",scaledObject="app"}'] == 1
    await app.annotate({"autoscaling.keda.sh/paused": None})
    await app.seconds(1)
    assert (await read(app))['keda_scaled_object_paused{namespace="default",scaledObject="app"}'] == 0


async def test_a_formula_has_its_own_series(world: World) -> None:
    world.jobs(3)
    modifiers = {"scalingModifiers": {"formula": "queue * 2", "target": "5"}}
    trigger = metrics_api(world.url, name="queue")
    await world.create(deployment(), scaled_object(trigger, advanced=modifiers))
    await world.seconds(2)
    page = await read(world)
    composite = [name for name in page if 'metric="composite-metric"' in name]
    assert {name.partition("{")[0]: page[name] for name in composite} == {
        "keda_scaler_metrics_value": 6,
        "keda_scaler_active": 1,
    }
    assert any('metric="s0-metric-api-value"' in name and 'scaler="queue"' in name for name in page)


async def test_a_scaledjob_has_the_same_series_and_errors_of_its_own(world: World) -> None:
    manifest = scaled_job(metrics_api(world.url, name="queue"), namespace=world.namespace)
    await world.client.create(SCALED_JOBS, manifest)
    await world.seconds(2)
    del world.server.answers["/jobs"]
    await world.seconds(3)
    page = await read(world)
    labels = (
        'metric="s0-metric-api-value",namespace="default",scaledObject="work",scaler="queue",'
        'triggerIndex="0",type="scaledjob"'
    )
    assert page[f"keda_scaler_metrics_value{{{labels}}}"] == 0
    assert page['keda_scaled_job_errors_total{namespace="default",scaledJob="work"}'] >= 2
    assert page['keda_resource_registered_total{namespace="default",type="scaled_job"}'] == 1
    await world.client.delete(SCALED_JOBS.named(world.namespace, "work"))
    await world.seconds(2)
    assert [name for name in await read(world) if '"work"' in name] == []


async def test_every_series_of_kedas_dashboard_has_the_labels_that_it_filters_by(app: World) -> None:
    """The scrape configuration renames namespace to exported_namespace; kube_* come from kube-state-metrics."""
    dashboard = {
        "keda_scaler_active": {"namespace", "metric", "scaledObject", "scaler"},
        "keda_scaler_metrics_value": {"namespace", "metric", "scaledObject"},
        "keda_scaler_detail_errors_total": {"namespace", "scaledObject", "scaler"},
        "keda_scaled_object_errors_total": {"namespace", "scaledObject"},
    }
    assert app.operator.assembly is not None
    text = (await MetricsPage(app.operator.assembly.parts.shared.instruments).render()).decode()
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    labels = {sample.name: set(sample.labels) for sample in samples}
    missing = {name: wanted - labels.get(name, set()) for name, wanted in dashboard.items()}
    assert not any(missing.values()), missing


async def test_reconciles_are_counted_and_timed_as_controller_runtime_does(alone: World) -> None:
    app = await active(alone)
    before = await read(app)
    controller = 'controller="scaledobject"'
    assert before[f'controller_runtime_reconcile_total{{{controller},result="success"}}'] >= 1
    assert before[f"controller_runtime_reconcile_errors_total{{{controller}}}"] == 0
    assert before[f"controller_runtime_max_concurrent_reconciles{{{controller}}}"] == 5
    assert before[f"controller_runtime_active_workers{{{controller}}}"] == 0
    queue = 'controller="scaledobject",name="scaledobject"'
    adds = before[f"workqueue_adds_total{{{queue}}}"]
    for duration in ("workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"):
        assert before[f"{duration}_count{{{queue}}}"] == adds
    assert before[f"controller_runtime_reconcile_time_seconds_count{{{controller}}}"] == adds
    assert before[f'workqueue_depth{{{queue},priority="0"}}'] == 0
    assert before[f"workqueue_unfinished_work_seconds{{{queue}}}"] == 0
    await app.create(scaled_object(metrics_api(app.url), name="lost"))
    await app.seconds(5)
    await asyncio.sleep(RENDER_SECONDS)
    after = await read(app)
    assert after[f"controller_runtime_reconcile_errors_total{{{controller}}}"] >= 1
    assert after[f"workqueue_retries_total{{{queue}}}"] >= 1
    assert after[f"controller_runtime_reconcile_panics_total{{{controller}}}"] == 0


async def test_the_process_tells_of_itself(app: World) -> None:
    page = await read(app)
    assert page["process_cpu_seconds_total"] > 0
    assert page["process_resident_memory_bytes"] > 0
    assert page["process_open_fds"] > 0
    assert page['python_gc_collections_total{generation="0"}'] > 0


async def test_an_object_on_its_fallback_and_the_end_of_the_certificate_are_shown(world: World) -> None:
    del world.server.answers["/jobs"]
    fallback = {"failureThreshold": 1, "replicas": 3}
    await world.create(deployment(), scaled_object(metrics_api(world.url), fallback=fallback))
    series = 'keda_py_fallback_active{namespace="default",scaledObject="app"}'
    await world.seconds(4)
    assert (await read(world))[series] == 1
    world.jobs(3)
    await world.seconds(2)
    page = await read(world)
    assert page[series] == 0
    assert page["keda_py_certificate_expiry_timestamp_seconds"] > world.clock.now().timestamp() + 300 * 86400


async def test_whether_a_workload_sleeps_is_shown_of_those_that_may(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    series = 'keda_py_awake{namespace="default",scaledObject="app"}'
    await world.seconds(4)
    assert (await read(world))[series] == 0
    world.jobs(3)
    await world.seconds(4)
    assert (await read(world))[series] == 1
    await world.patch(SCALED_OBJECTS, {"spec": {"minReplicaCount": 1}})
    await world.seconds(4)
    assert series not in await read(world)


async def test_questions_of_the_hpa_are_counted_as_kedas_two_programs_count_them(app: World) -> None:
    async def ask(metric: str) -> None:
        path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{app.namespace}/{metric}"
        query = {"labelSelector": "scaledobject.keda.sh/name=app"}
        await app.client.send(Request(method="GET", path=path, query=query, resource="externalmetrics"))

    before = await read(app)
    await ask("s0-metric-api-value")
    with pytest.raises(KubeError):
        await ask("s1-metric-api-value")
    await app.clock.settle()
    page = await read(app)

    def more(name: str, labels: str) -> float:
        return page[f"{name}{{{labels}}}"] - before.get(f"{name}{{{labels}}}", 0)

    call = 'grpc_method="GetMetrics",grpc_service="api.MetricsService",grpc_type="unary"'
    for side in ("server", "client"):
        name = f"keda_internal_metricsservice_grpc_{side}_"
        assert [more(f"{name}{what}_total", call) for what in ("started", "msg_received", "msg_sent")] == [2, 2, 2]
        assert [more(f"{name}handled_total", f'grpc_code="{code}",{call}') for code in ("OK", "Unknown")] == [1, 1]
        assert more(f"{name}handling_seconds_count", call) == 2
    asked = 'group="external.metrics.k8s.io",scope="namespace",verb="LIST",version="v1beta1"'
    assert [more("apiserver_request_total", f'code="{code}",{asked}') for code in (200, 500)] == [1, 1]


async def test_what_the_hpa_measures_by_itself_is_shown_as_active(world: World) -> None:
    cpu = {"type": "cpu", "name": "busy", "metricType": "Utilization", "metadata": {"value": "50"}}
    await world.create(deployment(replicas=1), scaled_object(cpu, minReplicaCount=1))
    await world.seconds(2)
    labels = 'metric="cpu",namespace="default",scaledObject="app",scaler="busy",triggerIndex="0",type="scaledobject"'
    assert (await read(world))[f"keda_scaler_active{{{labels}}}"] == 1


async def test_how_long_requests_take_is_told_for_each_trigger_where_that_is_asked_for(alone: World) -> None:
    world = alone
    await world.operator.stop()
    world.operator.flags["enable-high-cardinality-metrics-labels"] = "true"
    await world.operator.start()
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(3)
    labels = (
        'metric_name="s0-metric-api-value",namespace="default",scaled_resource="app",scaler="metrics-api",'
        'status_code="200",trigger_name=""'
    )
    assert (await read(world))[f"keda_scaler_http_request_duration_seconds_count{{{labels}}}"] >= 2
    await world.delete(SCALED_OBJECTS)
    await world.seconds(1)
    assert not any('scaled_resource="app"' in series for series in await read(world))


async def test_replica_seconds_used_and_saved_are_shown(alone: World) -> None:
    world = alone
    window = cron("0 11 * * *", "1 12 * * *", 2)
    await world.create(deployment(), scaled_object(window, cooldownPeriod=0, pollingInterval=60))
    await world.seconds(180)
    labels = '{kind="ScaledObject",name="app",namespace="default"}'
    page = await read(world)
    assert page[f"keda_py_saved_replica_seconds{labels}"] == pytest.approx(120, abs=5)
    assert page[f"keda_py_replica_seconds{labels}"] == pytest.approx(105, abs=20)
