"""`keda-py advise --prometheus`: a real server with weeks of history, and answers that cannot be trusted."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web

from keda_py.advice.proposals.advise import Proposal, advise
from keda_py.advice.proposals.places import PlaceRule
from keda_py.advice.proposals.workload import Observed, WorkloadKey
from keda_py.advice.sources.prometheus import RecordedWeeks
from keda_py.advice.sources.queries import KnownQuery
from keda_py.advice.sources.reading import HistoryQuery, read_prometheus, workload_of
from keda_py.clock import SystemClock
from keda_py.errors import ConfigError
from keda_py.sdk.offline import shared_context
from keda_py.simulation.loads.prometheus import FetchError, PrometheusServer
from tests.advice.recorded import Counted, monday, recorded
from tests.advice.traces import advised, hours_in
from tests.core.advice.habits import Habit
from tests.http_server import HttpServer, http_server

NOW = datetime(2026, 11, 23, tzinfo=UTC)
OWN = KnownQuery(name="--query 1", metric="", query="sum by (namespace, deployment) (rate(x[5m]))")


def test_a_real_server_is_asked_what_it_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = monday(4, SystemClock().now())
    office = Habit(start=start, weeks=5)
    night = Habit(start=start, weeks=5, windows=[("Mon-Sun", "22:00", "04:00")])
    idle = Habit(start=start, weeks=5, windows=(), floor=0.01)
    busy = Habit(start=start, weeks=5, windows=[("Mon-Fri", "09:00", "18:00")], floor=0.02)
    day = 288
    counted = [
        Counted(
            metric="nginx_ingress_controller_requests",
            labels={"exported_namespace": "shop", "exported_service": "web", "status": "200"},
            habit=office,
        ),
        Counted(
            metric="nginx_ingress_controller_requests",
            labels={"exported_namespace": "shop", "exported_service": "lost", "status": "200"},
            habit=office,
            lost=[(at * day + 216, at * day + 400) for at in range(35)],
        ),
        Counted(
            metric="request_total",
            labels={"namespace": "shop", "statefulset": "batch", "direction": "inbound"},
            habit=night,
        ),
        Counted(metric="traefik_service_requests_total", labels={"service": "dev-api-80@kubernetes"}, habit=office),
        Counted(
            metric="container_cpu_usage_seconds_total",
            labels={"namespace": "shop", "pod": "web-7d9c5b6f4-x2x5z", "container": "web"},
            habit=idle,
        ),
        Counted(
            metric="container_cpu_usage_seconds_total",
            labels={"namespace": "shop", "pod": "worker-7d9c5b6f4-x2x5z", "container": "worker"},
            habit=busy,
        ),
        Counted(
            metric="container_cpu_usage_seconds_total",
            labels={"namespace": "shop", "pod": "db-0", "container": "db"},
            habit=idle,
        ),
    ]
    with recorded(tmp_path, counted) as url:
        found = advised(capsys, "-A", "--weeks", "4", "--prometheus", url, "--timezone", "UTC")
        only = advised(capsys, "-n", "dev", "--weeks", "4", "--prometheus", url, "--timezone", "UTC")
    by_name = {f"{each['namespace']}/{each['kind']}/{each['name']}": each for each in found["workloads"]}
    assert {name: hours_in(each) for name, each in by_name.items()} == {
        "dev/Deployment/api": ["Mon-Fri 09:00-18:00"],
        "shop/Deployment/lost": [],
        "shop/Deployment/web": ["Mon-Fri 09:00-18:00"],
        "shop/Deployment/worker": ["Mon-Fri 09:00-18:00"],
        "shop/StatefulSet/batch": ["Mon-Sun 22:00-04:00"],
        "shop/StatefulSet/db": [],
    }
    assert "missing is not idle" in by_name["shop/Deployment/lost"]["because"]
    assert "may be use or health checks" in by_name["shop/StatefulSet/db"]["because"]
    assert by_name["shop/Deployment/worker"]["floor"]["unit"] == "cores"
    assert [each["name"] for each in only["workloads"]] == ["api"]


def test_series_of_each_known_source_are_read_from_a_real_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each as its exporter writes it, beside series that would smear it: other reporters, directions, pods, restarts."""
    start = monday(4, SystemClock().now())
    days = [Habit(start=start, weeks=5, windows=[("Mon-Fri", f"{hour:02}:00", "18:00")]) for hour in range(6, 12)]
    nights = Habit(start=start, weeks=5, windows=[("Mon-Sun", "01:00", "03:00")])
    ingress = {"namespace": "shop", "ingress": "web", "service": "nginx", "method": "GET"}
    mesh = {"destination_workload": "istio", "destination_workload_namespace": "mesh", "source_workload": "a"}
    linkerd = {"namespace": "other-mesh", "deployment": "linkerd"}
    upstream = {"namespace": "envoy-gateway-system", "envoy_cluster_name": "httproute/gateway/envoy/rule/0"}
    outbound = {"namespace": "istio-system", "envoy_cluster_name": "outbound|80||sidecar.bare.svc.cluster.local"}
    triggers = {"namespace": "keda", "exported_namespace": "jobs", "scaledObject": "worker", "scaler": "s0-redis"}
    counted = [
        Counted(
            metric="nginx_ingress_controller_requests",
            labels={**ingress, "status": status, "controller_pod": pod},
            habit=days[0],
            restarts=86_400,
        )
        for status, pod in (("200", "a"), ("200", "b"), ("404", "a"))
    ]
    counted += [
        Counted(metric="istio_requests_total", labels={**mesh, "reporter": "destination"}, habit=days[1]),
        Counted(metric="istio_requests_total", labels={**mesh, "reporter": "source"}, habit=nights),
        Counted(metric="request_total", labels={**linkerd, "direction": "inbound"}, habit=days[2]),
        Counted(metric="request_total", labels={**linkerd, "direction": "outbound"}, habit=nights),
        Counted(
            metric="traefik_service_requests_total",
            labels={"service": "proxy-traefik-80@kubernetescrd", "code": "200"},
            habit=days[3],
            restarts=7 * 86_400,
        ),
        Counted(metric="traefik_service_requests_total", labels={"service": "api@internal"}, habit=nights),
        Counted(metric="envoy_cluster_upstream_rq_total", labels=upstream, habit=days[4]),
        Counted(metric="envoy_cluster_upstream_rq_total", labels=outbound, habit=days[5]),
        Counted(metric="keda_scaler_active", labels=triggers, habit=nights, gauge=True),
    ]
    with recorded(tmp_path, counted) as url:
        found = advised(capsys, "-A", "--weeks", "4", "--prometheus", url, "--timezone", "UTC")
    names = ("nginx", "istio", "linkerd", "traefik", "envoy", "sidecar")
    expected = {("Deployment", name): [f"Mon-Fri {hour:02}:00-18:00"] for hour, name in enumerate(names, start=6)}
    expected["ScaledObject", "worker"] = ["Mon-Sun 01:00-03:15"]  # active at any time of five minutes
    assert {(each["kind"], each["name"]): hours_in(each) for each in found["workloads"]} == expected


@pytest.mark.parametrize(
    ("labels", "workload"),
    [
        ({"namespace": "shop", "deployment": "web"}, WorkloadKey("shop", "Deployment", "web")),
        (
            {"namespace": "ingress", "exported_namespace": "shop", "service": "web"},
            WorkloadKey("shop", "Deployment", "web"),
        ),
        (
            {"destination_workload_namespace": "shop", "destination_workload": "web"},
            WorkloadKey("shop", "Deployment", "web"),
        ),
        ({"namespace": "shop", "scaledObject": "web"}, WorkloadKey("shop", "ScaledObject", "web")),
        ({"service": "shop-web-80@kubernetes"}, WorkloadKey("shop", "Deployment", "web")),
        ({"service": "shop-my-web-http@kubernetescrd"}, WorkloadKey("shop", "Deployment", "my-web")),
        ({"service": "dashboard@internal"}, None),
        ({"envoy_cluster_name": "outbound|80||web.shop.svc.cluster.local"}, WorkloadKey("shop", "Deployment", "web")),
        ({"envoy_cluster_name": "httproute/shop/web/rule/0"}, WorkloadKey("shop", "Deployment", "web")),
        ({"envoy_cluster_name": "BlackHoleCluster"}, None),
        ({"namespace": "shop"}, None),
        ({"deployment": "web"}, None),
        ({}, None),
    ],
)
def test_a_series_is_of_the_workload_that_its_labels_name(
    labels: Mapping[str, str], workload: WorkloadKey | None
) -> None:
    assert workload_of(labels, "") == workload
    assert workload_of(labels, "elsewhere") is None


def test_a_namespace_with_dashes_is_known_where_it_is_given() -> None:
    labels = {"service": "my-shop-web-80@kubernetes"}
    assert workload_of(labels, "my-shop") == WorkloadKey("my-shop", "Deployment", "web")


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as running:
        running.answers["/api/v1/query"] = answering_time(NOW)
        yield running


def answering_time(now: datetime) -> Callable[[web.Request], Any]:
    async def answer(request: web.Request) -> web.Response:
        result = [now.timestamp(), str(now.timestamp())]
        return web.json_response({"status": "success", "data": {"resultType": "scalar", "result": result}})

    return answer


def answering(
    server: HttpServer, values: Callable[[float], str] = lambda at: "1", *, metrics: Any = None, **more: Any
) -> None:
    """Each query gives a series of these labels, with a value at each step."""

    async def answer(request: web.Request) -> web.Response:
        start, end, step = (float(request.query[name]) for name in ("start", "end", "step"))
        moments = [start + index * step for index in range(int((end - start) / step) + 1)]
        points = [[at, values(at)] for at in moments if values(at)]
        labels = metrics if metrics is not None else [{"namespace": "shop", "deployment": "web"}]
        result = [{"metric": each, "values": points} for each in labels]
        return web.json_response({"status": "success", "data": {"resultType": "matrix", "result": result}, **more})

    server.answers["/api/v1/query_range"] = answer


async def read(server: HttpServer, *queries: KnownQuery, weeks: int = 4) -> list[Observed]:
    async with shared_context() as lent:
        recorded_weeks = RecordedWeeks(server=PrometheusServer(url=server.url), client=lent.http)
        return await read_prometheus(
            recorded_weeks, HistoryQuery(namespace="", weeks=weeks, queries=queries), NOW, lambda share, at: None
        )


async def test_a_value_is_of_the_step_that_ends_with_it(server: HttpServer) -> None:
    nine = NOW - timedelta(days=3, hours=15)
    answering(server, lambda at: "5" if at == (nine + timedelta(minutes=5)).timestamp() else "0")
    (found,) = await read(server, OWN)
    assert found.history is not None
    index = int((nine - found.history.origin).total_seconds()) // 300
    assert [found.history.values[index + step] for step in (-1, 0, 1)] == [0.0, 5.0, 0.0]
    assert len(found.history.values) == 4 * 7 * 288


async def test_what_is_no_number_is_missing(server: HttpServer) -> None:
    strange = {0: "NaN", 1: "+Inf", 2: "-1", 3: "7"}
    answering(server, lambda at: strange[int(at) // 300 % 4])
    (found,) = await read(server, OWN)
    assert found.history is not None
    assert {value for value in found.history.values if not math.isnan(value)} == {7.0}
    assert found.history.known == pytest.approx(0.25, abs=0.01)


async def test_a_history_begins_with_its_first_value(server: HttpServer) -> None:
    answering(server, lambda at: "1" if at > (NOW - timedelta(days=10)).timestamp() else "")
    (found,) = await read(server, OWN)
    assert found.history is not None
    assert found.history.ends - found.history.origin == timedelta(days=10)


async def test_a_partial_answer_is_refused(server: HttpServer) -> None:
    answering(server, warnings=["store gateway 2 did not answer"])
    with pytest.raises(FetchError, match=r"the answer may be partial: .*gateway 2.*nothing is proposed on a part"):
        await read(server, OWN)


async def test_a_server_that_fails_midway_names_the_part(server: HttpServer) -> None:
    answering(server)
    answer: Any = server.answers["/api/v1/query_range"]
    later = NOW - timedelta(days=10)

    async def failing(request: web.Request) -> web.Response:
        if float(request.query["start"]) > later.timestamp():
            return web.json_response({"status": "error", "error": "query timed out"}, status=503)
        response: web.Response = await answer(request)
        return response

    server.answers["/api/v1/query_range"] = failing
    with pytest.raises(FetchError, match=r"rate\(x\[5m\]\).* from 2026-11-13T00:05:00Z .*503: query timed out"):
        await read(server, OWN)


@pytest.mark.parametrize("shift", [-7200, 600])
async def test_a_clock_that_differs_is_told(server: HttpServer, shift: int) -> None:
    server.answers["/api/v1/query"] = answering_time(NOW + timedelta(seconds=shift))
    with pytest.raises(
        FetchError, match=r"its clock says .*, this machine's 2026-11-23T00:00:00Z; .*correct the clock"
    ):
        await read(server, OWN)


async def test_a_server_that_is_too_slow_is_told(server: HttpServer) -> None:
    async def never(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    server.answers["/api/v1/query_range"] = never
    async with shared_context() as lent:
        slow = RecordedWeeks(server=PrometheusServer(url=server.url), client=lent.http, timeout=0.1)
        with pytest.raises(FetchError, match=r"no answer within 0.1 s; nothing is proposed on half of a history"):
            await read_prometheus(
                slow, HistoryQuery(namespace="", weeks=4, queries=(OWN,)), NOW, lambda share, at: None
            )


async def test_a_workload_with_two_series_has_a_sentence_and_no_history(server: HttpServer) -> None:
    replicas = [{"namespace": "shop", "deployment": "web", "replica": each} for each in "ab"]
    answering(server, metrics=[*replicas, {"namespace": "shop", "deployment": "api"}])
    api, web_ = await read(server, OWN)
    assert api.history is not None
    assert web_.history is None
    assert "gives 2 series of it" in web_.problem
    assert "sum by (namespace, deployment) (...)" in web_.problem


async def test_a_series_that_comes_twice_in_an_answer_is_refused(server: HttpServer) -> None:
    answering(server, metrics=[{"namespace": "shop", "deployment": "web"}] * 2)
    with pytest.raises(FetchError, match=r"gives the series .*'web'.* twice; remove duplicates"):
        await read(server, OWN)


async def test_a_moment_that_comes_twice_in_a_series_is_refused(server: HttpServer) -> None:
    async def answer(request: web.Request) -> web.Response:
        points = [[float(request.query["start"]), value] for value in "10"]
        result = [{"metric": {"namespace": "shop", "deployment": "web"}, "values": points}]
        return web.json_response({"status": "success", "data": {"resultType": "matrix", "result": result}})

    server.answers["/api/v1/query_range"] = answer
    with pytest.raises(FetchError, match=r"not a matrix of numbers in steps of 300 s"):
        await read(server, OWN)


async def test_series_of_other_labels_are_told_with_those_that_are_needed(server: HttpServer) -> None:
    answering(server, metrics=[{"instance": "10.0.0.1:80"}])
    with pytest.raises(ConfigError, match=r"no series names a workload of any namespace; .*namespace and one of "):
        await read(server, OWN)


async def test_a_server_without_known_metrics_asks_for_a_query(server: HttpServer) -> None:
    async def none(request: web.Request) -> web.Response:
        return web.json_response({"status": "success", "data": []})

    server.answers["/api/v1/series"] = none
    with pytest.raises(ConfigError, match=r"has nothing of istio, linkerd, .* in the last 4 weeks; give a query"):
        await read(server)


async def test_values_out_of_step_are_refused(server: HttpServer) -> None:
    async def answer(request: web.Request) -> web.Response:
        points = [[float(request.query["start"]) + 7, "1"]]
        result = [{"metric": {"namespace": "shop", "deployment": "web"}, "values": points}]
        return web.json_response({"status": "success", "data": {"resultType": "matrix", "result": result}})

    server.answers["/api/v1/query_range"] = answer
    with pytest.raises(FetchError, match=r"not a matrix of numbers in steps of 300 s"):
        await read(server, OWN)


async def test_use_of_any_kind_is_use(server: HttpServer) -> None:
    """Requests by day, triggers by night: it is idle where both are."""

    async def answer(request: web.Request) -> web.Response:
        start, end, step = (float(request.query[name]) for name in ("start", "end", "step"))
        moments = [start + index * step for index in range(int((end - start) / step) + 1)]
        hour = 9 if "requests" in request.query["query"] else 20
        points = [[at, "3" if int(at - 300) // 3600 % 24 == hour else "0"] for at in moments]
        result = [{"metric": {"namespace": "shop", "deployment": "web"}, "values": points}]
        return web.json_response({"status": "success", "data": {"resultType": "matrix", "result": result}})

    server.answers["/api/v1/query_range"] = answer
    queries = [KnownQuery(name=name, metric="", query=f"rate({name})") for name in ("requests", "triggers")]

    (found,) = await read(server, *queries)
    proposal = advise(found, PlaceRule(own=ZoneInfo("UTC"), zone=ZoneInfo("UTC")), 2.0)
    assert isinstance(proposal, Proposal)
    assert [str(each) for each in proposal.candidate.hours] == ["Mon-Sun 09:00-10:00", "Mon-Sun 20:00-21:00"]
