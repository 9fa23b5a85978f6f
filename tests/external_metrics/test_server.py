"""The HTTPS server as the API server's aggregation layer and the HPA controller see it."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from keda_py.clock import SystemClock
from keda_py.errors import ScalerError
from keda_py.external_metrics.metric_values import ExternalMetrics
from keda_py.external_metrics.query import Query
from keda_py.external_metrics.server import MetricsServer
from keda_py.serving.caller import Caller
from keda_py.serving.certificates import make_certificate
from keda_py.serving.server_tls import ServerTls
from keda_py.serving.statuses import StatusError
from tests.stages import stages
from tests.waiting import connections_closed

ROOT = "/apis/external.metrics.k8s.io/v1beta1"
QUESTION = f"{ROOT}/namespaces/shop/s0-a-x"


class NoTargets:
    async def replicas(self, spec):
        return None

    async def ready_pods(self, spec):
        return None


async def jane(asked):
    return Caller(name="jane")


async def no_caller(asked):
    raise StatusError(401, "Unauthorized", "Unauthorized")


async def allow(caller, asked):
    pass


@pytest.fixture
def serve(engine):
    """Start a server, and a client that trusts only its certificate."""

    @asynccontextmanager
    async def start(authenticate=jane, not_ready=lambda: "") -> AsyncIterator[aiohttp.ClientSession]:
        query = Query(readings=engine.readings, targets=NoTargets(), specs=lambda key: None)
        answer = ExternalMetrics(query, engine.clock).answer
        server = MetricsServer(stages(authenticate, allow, answer), not_ready)
        certificate = make_certificate(["localhost", "127.0.0.1"], SystemClock().now())
        tls = ServerTls()
        tls.show(certificate)
        port = await server.start("127.0.0.1", 0, tls.context(asks_clients=True))
        trust = ssl.create_default_context(cadata=certificate.ca.decode())
        trust.verify_flags |= ssl.VERIFY_X509_STRICT
        connector = aiohttp.TCPConnector(ssl=trust)
        try:
            async with aiohttp.ClientSession(f"https://localhost:{port}", connector=connector) as client:
                yield client
        finally:
            await server.aclose()
            await connections_closed()

    return start


async def get(client: aiohttp.ClientSession, path: str, **query: str) -> tuple[int, dict]:
    async with client.get(path, params=query) as answer:
        return answer.status, await answer.json()


async def test_the_hpa_controller_gets_an_external_metric_value_list(engine, serve):
    await engine.build()
    engine.taps["a"].value = 1.5
    async with serve() as client:
        status, body = await get(client, QUESTION, labelSelector="scaledobject.keda.sh/name=app")
    item = {"metricName": "s0-a-x", "metricLabels": None, "timestamp": "2026-11-21T05:56:00Z", "value": "1500m"}
    assert (status, body) == (
        200,
        {
            "kind": "ExternalMetricValueList",
            "apiVersion": "external.metrics.k8s.io/v1beta1",
            "metadata": {},
            "items": [item],
        },
    )


@pytest.mark.parametrize(
    "selector",
    [
        "scaledobject.keda.sh/name=app",
        "scaledobject.keda.sh/name==app",
        "scaledobject.keda.sh/name in (app)",
        "team in (a,b), scaledobject.keda.sh/name = app ,!old",
    ],
)
async def test_every_selector_that_fixes_the_name_is_understood(engine, serve, selector):
    await engine.build()
    async with serve() as client:
        assert (await get(client, QUESTION, labelSelector=selector))[0] == 200


@pytest.mark.parametrize(
    ("selector", "code", "reason", "message"),
    [
        ("", 500, "InternalError", "scaledObject name is not specified"),
        ("app=x", 500, "InternalError", "scaledObject name is not specified"),
        ("scaledobject.keda.sh/name!=app", 500, "InternalError", "scaledObject name is not specified"),
        ("scaledobject.keda.sh/name in (a,b)", 500, "InternalError", "scaledObject name is not specified"),
        ("scaledobject.keda.sh/name in app", 400, "BadRequest", "unable to parse requirement"),
        ("a b c d", 400, "BadRequest", "unable to parse requirement"),
        ("a," * 2500 + "scaledobject.keda.sh/name=app", 400, "BadRequest", "longer than 4096 characters"),
    ],
)
async def test_a_selector_without_a_name_is_refused(serve, selector, code, reason, message):
    async with serve() as client:
        status, body = await get(client, QUESTION, labelSelector=selector)
    assert (status, body["kind"], body["code"], body["reason"]) == (code, "Status", code, reason)
    assert message in body["message"]


async def test_a_failed_reading_is_a_500_in_kedas_words(engine, serve):
    await engine.build()
    engine.taps["a"].value = ScalerError("down")
    async with serve() as client:
        status, body = await get(client, QUESTION, labelSelector="scaledobject.keda.sh/name=app")
    words = "rpc error: code = Unknown desc = error when getting metric values metric:s0-a-x encountered error"
    assert (status, body["status"], body["message"]) == (500, "Failure", words)


async def test_discovery_lists_one_namespaced_resource(serve):
    async with serve() as client:
        _, groups = await get(client, "/apis")
        _, group = await get(client, "/apis/external.metrics.k8s.io")
        _, resources = await get(client, ROOT)
        _, openapi = await get(client, "/openapi/v3")
        assert (await get(client, next(iter(openapi["paths"].values()))["serverRelativeURL"]))[0] == 200
        assert (await get(client, "/openapi/v2"))[0] == 200
        assert (await get(client, "/version"))[1]["gitVersion"].startswith("v")
    assert groups["groups"][0]["preferredVersion"] == group["preferredVersion"]
    assert group["preferredVersion"]["groupVersion"] == "external.metrics.k8s.io/v1beta1"
    assert resources["resources"] == [
        {
            "name": "externalmetrics",
            "singularName": "",
            "namespaced": True,
            "kind": "ExternalMetricValueList",
            "verbs": ["get"],
        }
    ]


async def test_unknown_paths_and_methods_are_statuses_too(serve):
    async with serve() as client:
        assert (await get(client, "/apis/nothing"))[1]["reason"] == "NotFound"
        async with client.post(QUESTION) as answer:
            assert (answer.status, (await answer.json())["reason"]) == (405, "MethodNotAllowed")


async def test_probes_tell_live_from_ready_and_are_open_to_all(serve):
    async with serve(no_caller, not_ready=lambda: "ScaledObjects are not synced") as client:
        for path, expected in (("/healthz", 200), ("/livez", 200), ("/readyz", 500)):
            async with client.get(path) as answer:
                assert answer.status == expected
                assert "not synced" in await answer.text() if expected == 500 else await answer.text() == "ok"


async def test_whoever_the_authenticator_refuses_gets_nothing(engine, serve):
    await engine.build()
    async with serve(no_caller) as client:
        status, body = await get(client, QUESTION, labelSelector="scaledobject.keda.sh/name=app")
    assert (status, body["reason"]) == (401, "Unauthorized")
    assert engine.taps["a"].reads == 0


V2 = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
PLAIN = "application/json"


@pytest.mark.parametrize(
    ("accept", "kind", "version"),
    [
        (f"{V2.format('v2')},{V2.format('v2beta1')},{PLAIN}", "APIGroupDiscoveryList", "apidiscovery.k8s.io/v2"),
        (f"{V2.format('v2beta1')},{PLAIN}", "APIGroupDiscoveryList", "apidiscovery.k8s.io/v2beta1"),
        (f"{V2.format('v9')}, {PLAIN}", "APIGroupList", "v1"),
        (f"{PLAIN},{V2.format('v2')}", "APIGroupList", "v1"),
        ("*/*", "APIGroupList", "v1"),
        ("", "APIGroupList", "v1"),
    ],
)
async def test_discovery_comes_at_once_for_those_who_can_read_it(serve, accept, kind, version):
    async with serve() as client, client.get("/apis", headers={"Accept": accept}) as answer:
        body = await answer.json(content_type=None)
        assert (body["kind"], body["apiVersion"]) == (kind, version)
        if kind == "APIGroupDiscoveryList":
            assert answer.headers["Content-Type"] == V2.format(version.rpartition("/")[2])
            names = [group["metadata"]["name"] for group in body["items"]]
            assert names == ["external.metrics.k8s.io", "insight.keda-py.dev"]
            assert all(group["versions"][0]["resources"][0]["scope"] == "Namespaced" for group in body["items"])


async def test_an_unchanged_document_is_not_sent_again(serve):
    async with serve() as client:
        async with client.get("/openapi/v2") as answer:
            etag = answer.headers["ETag"]
        async with client.get("/openapi/v2", headers={"If-None-Match": etag}) as answer:
            assert (answer.status, await answer.read()) == (304, b"")
