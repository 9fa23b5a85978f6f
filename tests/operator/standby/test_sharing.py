"""The operator beside another adapter: what it asks that one for, and what never leaves."""

import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import yaml
from aiohttp import web

from keda_py.clock import SystemClock
from keda_py.errors import ConfigError, KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.kube.transport import Request
from keda_py.localkube.access.identity import ADMIN, load_pair, service_account
from keda_py.localkube.cluster import ClusterOptions
from keda_py.net.tls import TlsContexts
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.standby.metric_delegation import OwnMetrics, UpstreamTrust, share_metrics
from keda_py.serving.statuses import StatusError
from keda_py.settings.settings import load_settings
from tests.builders import bare_scaled_object, deployment, metrics_api
from tests.certificates import Authority
from tests.http_server import HttpServer, http_server
from tests.operator.replicas import build_replicas, question
from tests.waiting import connections_closed
from tests.worlds.world import World, open_world

ROOT = "/apis/external.metrics.k8s.io/v1beta1"
OWN = "s0-metric-api-value"


@dataclass
class Neighbourhood:
    """An operator with one ScaledObject, and another adapter that answers 99 whatever it is asked."""

    world: World
    adapter: HttpServer
    authority: Authority

    async def ask(self, metric: str, selector: str = "", namespace: str = "default") -> int | str:
        """The value, or why there is none."""
        path = f"{ROOT}/namespaces/{namespace}/{metric}"
        query = {"labelSelector": selector} if selector else {}
        try:
            body = await self.world.client.send(Request(method="GET", path=path, query=query))
        except KubeError as error:
            return str(error)
        return int(body["items"][0]["value"])

    @property
    def asked(self) -> list[str]:
        return [request.path.removeprefix(ROOT) for request in self.adapter.asked]


async def _ninety_nine(request: web.Request) -> web.Response:
    metric = request.path.rpartition("/")[2]
    item = {"metricName": metric, "metricLabels": None, "timestamp": "2026-11-20T12:00:00Z", "value": "99"}
    group_version = "external.metrics.k8s.io/v1beta1"
    return web.json_response({"kind": "ExternalMetricValueList", "apiVersion": group_version, "items": [item]})


class _Anything(dict[str, object]):
    def get(self, key: str, default: object = None) -> object:
        return _ninety_nine


@pytest.fixture
async def neighbourhood(tmp_path: Path, server: HttpServer) -> AsyncIterator[Neighbourhood]:
    authority = Authority()
    async with AsyncExitStack() as stack:
        adapter = await stack.enter_async_context(http_server(authority.server_context(tmp_path)))
        adapter.answers = _Anything()
        world = await stack.enter_async_context(open_world(tmp_path, server, options=ClusterOptions(enforce_rbac=True)))
        (tmp_path / "adapter-ca.crt").write_text(authority.cert)
        world.operator.flags = {
            "external-metrics-upstream": adapter.url,
            "external-metrics-upstream-ca-file": str(tmp_path / "adapter-ca.crt"),
        }
        await world.operator.start()
        await add_app(world)
        yield Neighbourhood(world, adapter, authority)
        await world.operator.stop()
        await connections_closed()


async def add_app(world: World) -> None:
    """One ScaledObject that serves one metric with the value 3."""
    world.jobs(3)
    await world.create(deployment(replicas=1), bare_scaled_object(metrics_api(world.url)))
    await world.seconds(1)
    assert world.status()["externalMetricNames"] == [OWN]


async def test_a_metric_that_nobody_here_serves_is_the_neighbours(neighbourhood):
    assert await neighbourhood.ask("nginx.net.requests", "app=web") == 99
    assert await neighbourhood.ask("s3-bucket-size") == 99
    assert await neighbourhood.ask(OWN, namespace="bank") == 99
    assert neighbourhood.asked == [
        "/namespaces/default/nginx.net.requests",
        "/namespaces/default/s3-bucket-size",
        f"/namespaces/bank/{OWN}",
    ]


@pytest.mark.parametrize(
    ("metric", "selector", "namespace"),
    [
        (OWN, "scaledobject.keda.sh/name=app", "default"),
        (OWN.upper(), "scaledobject.keda.sh/name=app", "default"),
        (OWN, "", "default"),
        (OWN.upper(), "team=a", "default"),
        (OWN, "", "*"),
        ("*", "", "default"),
        ("nginx.net.requests", "scaledobject.keda.sh/name=gone", "default"),
        ("nginx.net.requests", "scaledobject.keda.sh/name in (a,b)", "default"),
        ("nginx.net.requests", "!scaledobject.keda.sh/name", "default"),
        ("nginx.net.requests", "a b c", "default"),
    ],
)
async def test_what_is_ours_or_speaks_of_scaled_objects_never_leaves(neighbourhood, metric, selector, namespace):
    found = await neighbourhood.ask(metric, selector, namespace)
    assert found == 3 if "name=app" in selector else isinstance(found, str)
    assert neighbourhood.asked == []


async def test_a_name_is_the_neighbours_again_once_its_scaled_object_is_gone(neighbourhood):
    world = neighbourhood.world
    await world.delete(SCALED_OBJECTS)
    await world.seconds(1)
    assert await neighbourhood.ask(OWN) == 99


async def test_a_neighbour_that_is_down_fails_its_own_metrics_and_no_others(neighbourhood):
    neighbourhood.adapter.answers = {}  # type: ignore[assignment]  # 404 without a Status
    failed = await neighbourhood.ask("nginx.net.requests")
    assert isinstance(failed, str)
    assert "nginx.net.requests is not a metric of keda-py, and its upstream answers 404" in failed
    assert await neighbourhood.ask(OWN, "scaledobject.keda.sh/name=app") == 3
    resources = await neighbourhood.world.client.send(Request(method="GET", path=ROOT))
    assert [one["name"] for one in resources["resources"]] == ["externalmetrics"]


async def test_whoever_may_not_ask_us_cannot_ask_the_neighbour_through_us(neighbourhood):
    world = neighbourhood.world
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    load_pair(context, world.cluster.identity.front_proxy)
    url = f"https://127.0.0.1:{world.operator.assembly.serving.secure_port}{ROOT}/namespaces/default/nginx.net.requests"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        async with session.get(url, headers={"X-Remote-User": "jane"}) as answer:
            assert answer.status == 403
        async with session.get(url, headers={"X-Remote-User": "jane", "X-Remote-Group": ADMIN.groups[0]}) as answer:
            assert answer.status == 200
    assert [request.headers.get("X-Remote-User") for request in neighbourhood.adapter.asked] == [None]
    await connections_closed()


async def test_an_upstream_that_is_ourselves_ends_at_the_second_turn(neighbourhood):
    headers = {"Via": "1.1 keda-py/0.1.0"}
    request = Request(method="GET", path=f"{ROOT}/namespaces/default/x", headers=headers)
    with pytest.raises(KubeError, match="leads back to keda-py"):
        await neighbourhood.world.client.send(request)
    assert neighbourhood.asked == []


async def test_a_replica_that_does_not_lead_asks_the_neighbour_itself(tmp_path, server):
    authority = Authority()
    (tmp_path / "ca").write_text(authority.cert)
    async with http_server(authority.server_context(tmp_path)) as adapter, build_replicas(tmp_path, server) as replicas:
        adapter.answers = _Anything()
        await replicas.start("one")
        await replicas.held_by("one")
        flags = {"external_metrics_upstream": adapter.url, "external_metrics_upstream_ca_file": str(tmp_path / "ca")}
        follower = await replicas.start("two", **flags)
        status, body = await follower.get(f"{ROOT}/namespaces/default/nginx.net.requests")
        assert (status, body["items"][0]["value"]) == (200, "99")
        status, body = await follower.get(question("s0-gone", "gone"))
        assert (status, len(adapter.asked)) == (500, 1)


async def test_while_the_cache_cannot_tell_no_name_of_our_form_leaves(quiet_world):
    caches = Caches(quiet_world.client, ())
    own = OwnMetrics(caches)
    assert own.owns("default", "nginx.net.requests") is False
    for name in (OWN, OWN.upper(), "s3-bucket-size", "composite-metric"):
        with pytest.raises(StatusError) as caught:
            own.owns("default", name)
        assert caught.value.code == 503


async def test_the_neighbour_is_asked_with_our_service_accounts_token(tmp_path, quiet_world):
    authority, token = Authority(), quiet_world.cluster.identity.issue(service_account("keda", "keda-operator"))
    config = yaml.safe_load(quiet_world.cluster.kubeconfig())
    config["users"][0]["user"] = {"token": token}
    (tmp_path / "with-token").write_text(yaml.safe_dump(config))
    (tmp_path / "ca").write_text(authority.cert)
    async with (
        http_server(authority.server_context(tmp_path)) as adapter,
        KubeClient(SystemClock(), str(tmp_path / "with-token")) as client,
    ):
        adapter.answers = _Anything()
        flags = {
            "external-metrics-upstream": [adapter.url],
            "external-metrics-upstream-ca-file": [str(tmp_path / "ca")],
        }
        sharing = share_metrics(load_settings(flags, {}), client, Caches(client, ()), TlsContexts())
        await sharing.upstream.ask("shop", "x", "")
        await sharing.upstream.aclose()
        await connections_closed()
        assert adapter.asked[0].headers["Authorization"] == f"Bearer {token}"


async def test_a_ca_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"--external-metrics-upstream-ca-file: .*missing cannot be read"):
        UpstreamTrust(TlsContexts(), str(tmp_path / "missing")).context()
