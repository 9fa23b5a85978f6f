"""Requests for an aggregated group reach its server over TLS, with the caller's identity, and are answered
unchanged.
"""

from collections.abc import AsyncIterator, Callable

import aiohttp
import pytest

from keda_py.clock import SystemClock
from keda_py.localkube.access.certificates import Authority
from keda_py.localkube.access.identity import ADMIN
from keda_py.localkube.cluster import LocalCluster
from keda_py.localkube.model.calls import User
from tests.localkube.adapter import GROUP, VERSION, Adapter, Obj
from tests.waiting import eventually

METRIC = f"/apis/{GROUP}/{VERSION}/namespaces/default/v-3?labelSelector=scaledobject.keda.sh%2Fname%3Dweb"


@pytest.fixture
async def cluster() -> AsyncIterator[LocalCluster]:
    async with LocalCluster() as cluster:
        yield cluster


@pytest.fixture
async def adapter(cluster: LocalCluster) -> AsyncIterator[Adapter]:
    async with Adapter(cluster.identity, Authority("adapter", SystemClock().now())) as adapter:
        yield adapter


async def get(cluster: LocalCluster, path: str, user: User = ADMIN) -> tuple[int, str]:
    connector = aiohttp.TCPConnector(ssl=cluster.client_context(user))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(cluster.url + path, headers={"X-Remote-User": "system:admin"}) as response,
    ):
        return response.status, await response.text()


def available(cluster: LocalCluster) -> Callable[[], Obj | None]:
    """Return a function for the Available condition of the adapter's APIService, None while it has none."""
    resource = cluster.store.resources.get("apiregistration.k8s.io/v1", "APIService")

    def found() -> Obj | None:
        api_service = cluster.store.get(resource, "", f"{VERSION}.{GROUP}")
        conditions: list[Obj] = (api_service.get("status") or {}).get("conditions") or []
        return conditions[0] if conditions else None

    return found


async def test_the_aggregated_server_learns_the_caller(cluster: LocalCluster, adapter: Adapter) -> None:
    adapter.register(cluster.store)
    status, text = await get(cluster, METRIC, User(name="jane", groups=("dev", "ops")))
    assert (status, '"value":"3"' in text) == (200, True)
    (path, user, groups), *_ = adapter.asked
    assert path == METRIC.replace("%2F", "/")
    assert user == "jane"
    assert groups == ["dev", "ops", "system:authenticated"]


async def test_a_refusal_of_the_aggregated_server_is_passed_on(cluster: LocalCluster, adapter: Adapter) -> None:
    adapter.register(cluster.store)
    status, text = await get(cluster, METRIC.replace("v-3", "err-1"))
    assert (status, "no such queue" in text) == (500, True)


async def test_a_server_that_is_gone_is_503(cluster: LocalCluster, adapter: Adapter) -> None:
    adapter.register(cluster.store)
    await adapter.stop()
    status, text = await get(cluster, METRIC)
    assert status == 503
    assert text.startswith("error trying to reach service: ")


async def test_a_certificate_for_another_name_is_refused(cluster: LocalCluster) -> None:
    async with Adapter(cluster.identity, Authority("a", SystemClock().now()), name="impostor.elsewhere.svc") as adapter:
        adapter.register(cluster.store)
        status, _ = await get(cluster, METRIC)
    assert status == 503


async def test_insecure_skip_tls_verify_accepts_any_certificate(cluster: LocalCluster) -> None:
    async with Adapter(cluster.identity, Authority("a", SystemClock().now()), name="impostor.elsewhere.svc") as adapter:
        adapter.register(cluster.store, insecure=True)
        status, _ = await get(cluster, METRIC)
    assert status == 200


async def test_available_and_discovery_follow_the_server(cluster: LocalCluster, adapter: Adapter) -> None:
    adapter.register(cluster.store)
    condition = await eventually(available(cluster))
    assert (condition["status"], condition["reason"]) == ("True", "Passed")
    _, groups = await get(cluster, "/apis")
    assert f'"groupVersion":"{GROUP}/{VERSION}"' in groups


async def test_a_service_without_endpoints_is_unavailable(cluster: LocalCluster, adapter: Adapter) -> None:
    adapter.register(cluster.store, endpoints=False)
    condition = await eventually(available(cluster))
    assert (condition["status"], condition["reason"]) == ("False", "MissingEndpoints")
    assert await get(cluster, METRIC) == (503, "service unavailable\n")


async def test_a_group_goes_from_discovery_with_its_api_service(cluster: LocalCluster, adapter: Adapter) -> None:
    adapter.register(cluster.store)
    await eventually(available(cluster))
    resource = cluster.store.resources.get("apiregistration.k8s.io/v1", "APIService")
    cluster.store.delete(resource, "", f"{VERSION}.{GROUP}")
    await eventually(lambda: cluster.store.resources.group(GROUP) is None)
    assert (await get(cluster, METRIC))[0] == 404
