"""`elasticsearch` and `opensearch` against a real server of OpenSearch's searches, and what it cannot show played."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.testing import EngineContext, check_scaler
from scalers.elasticsearch import ElasticsearchScaler
from scalers.opensearch import OpensearchScaler
from tests.scalers.conftest import Bench
from tests.scalers.servers.osmem import osmem_command
from tests.scalers.servers.restartable import Restartable
from tests.scalers.triggers import trigger_of
from tests.servers import LOOPBACK, STARTUP_SECONDS, free_port

TYPES = ("elasticsearch", "opensearch")
AUTH = {"password": "s3cret"}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restartable]:
    port, folder = free_port(), tmp_path_factory.mktemp("osmem")
    with Restartable(port, osmem_command(port), folder / "log", {}) as running:
        yield running


@pytest.fixture
def jobs(server: Restartable) -> str:
    """An index with 5 open jobs and 2 done ones."""
    with httpx.Client(base_url=f"http://{LOOPBACK}:{server.port}", trust_env=False, timeout=STARTUP_SECONDS) as client:
        client.delete("/jobs")
        for number in range(7):
            client.put(f"/jobs/_doc/{number}", json={"state": "open" if number < 5 else "done", "size": number})
        client.post("/jobs/_refresh")
    return "jobs"


def on(server: Restartable, query: str, **metadata: str) -> dict[str, str]:
    found = {"addresses": f"http://{LOOPBACK}:{server.port}", "username": "ann", "index": "jobs", "query": query}
    return {**found, "valueLocation": "hits.total.value", "targetValue": "5", **metadata}


@pytest.mark.parametrize("kind", TYPES)
async def test_hits_and_aggregations_are_read(bench: Bench, server: Restartable, jobs: str, kind: str) -> None:
    count = on(server, '{"size": 0, "query": {"term": {"state": "open"}}}')
    mean = on(
        server, '{"size": 0, "aggs": {"mean": {"avg": {"field": "size"}}}}', valueLocation="aggregations.mean.value"
    )
    assert (await (await bench.opened(kind, count, auth=AUTH)).read()).value == 5
    assert (await (await bench.opened(kind, mean, auth=AUTH)).read()).value == 3


@pytest.mark.parametrize("kind", TYPES)
async def test_an_index_that_is_not_there_is_an_error(bench: Bench, server: Restartable, jobs: str, kind: str) -> None:
    scaler = await bench.opened(kind, on(server, "{}", index="nowhere"), auth=AUTH)
    with pytest.raises(ScalerError, match=f"error inspecting {kind}: {kind} returned HTTP 404"):
        await scaler.read()


@pytest.mark.parametrize("kind", TYPES)
async def test_a_node_that_is_down_leaves_its_turn_to_the_next(
    bench: Bench, server: Restartable, jobs: str, kind: str
) -> None:
    addresses = f"http://{LOOPBACK}:1,http://{LOOPBACK}:{server.port}"
    scaler = await bench.opened(kind, on(server, "{}", addresses=addresses), auth=AUTH)
    assert [(await scaler.read()).value for _ in range(3)] == [7, 7, 7]


async def test_an_address_that_is_none_is_refused_without_showing_it(bench: Bench) -> None:
    server = Restartable(1, [], Path(), {})
    scaler = bench.scaler("opensearch", on(server, "{}", addresses="ftp://ann:hunter2@h"), auth=AUTH)
    with pytest.raises(ConfigError, match="addresses: one is not an address") as refused:
        await scaler.open()
    assert "hunter2" not in str(refused.value)


async def test_parameters_that_cannot_be_read_are_told_before_they_fail(bench: Bench) -> None:
    server = Restartable(1, [], Path(), {})
    metadata = {**on(server, ""), "searchTemplateName": "open", "parameters": "state"}
    assert 'parameters: "state" is not name:value' in bench.scaler("elasticsearch", metadata, auth=AUTH).cautions


@pytest.mark.parametrize("scaler_class", [ElasticsearchScaler, OpensearchScaler])
async def test_the_contract_is_kept(
    bench: Bench, scaler_class: type[ElasticsearchScaler] | type[OpensearchScaler]
) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    metadata = on(Restartable(1, [], Path(), {}), "{}")
    await check_scaler(scaler_class, trigger_of(scaler_class.product, metadata, auth=AUTH), context)
