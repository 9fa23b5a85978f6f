"""`graphite` against graphite-web and carbon."""

from collections.abc import Iterator
from typing import Any

import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, check_scaler
from scalers.graphite import GraphiteScaler
from tests.scalers.servers.graphite import Graphite, graphite


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graphite]:
    with graphite(tmp_path_factory.mktemp("graphite")) as server:
        yield server


def on(server: Graphite, query: str, **metadata: str) -> dict[str, str]:
    return {"serverAddress": server.url, "query": query, "queryTime": "-30s", **metadata}


async def test_the_last_point_that_has_a_value(bench: Any, server: Graphite) -> None:
    server.send("shop.orders", [3.0, 4.0, 7.5])
    scaler = await bench.opened("graphite", on(server, "shop.orders", activationThreshold="2"))
    assert (await scaler.read()).value == 7.5
    assert scaler.activation == 2
    scaled = await bench.opened("graphite", on(server, "scale(shop.orders, 10)"))
    assert (await scaled.read()).value == 75


async def test_a_series_that_is_not_there_is_no_work(bench: Any, server: Graphite) -> None:
    reading = await (await bench.opened("graphite", on(server, "no.such"))).read()
    assert (reading.value, reading.empty) == (0, True)
    assert reading.note


async def test_two_series_are_an_error(bench: Any, server: Graphite) -> None:
    server.send("shop.red", [1.0])
    server.send("shop.blue", [2.0])
    with pytest.raises(ScalerError, match="returned multiple series"):
        await (await bench.opened("graphite", on(server, "shop.{red,blue}"))).read()


async def test_a_series_without_values_is_an_error(bench: Any, server: Graphite) -> None:
    server.send("shop.past", [1.0])
    with pytest.raises(ScalerError, match="no valid non-null response"):
        await (await bench.opened("graphite", on(server, "timeShift(shop.past, '40min')"))).read()


async def test_a_query_that_graphite_cannot_read_is_an_error(bench: Any, server: Graphite) -> None:
    with pytest.raises(ScalerError, match="the render API returned status"):
        await (await bench.opened("graphite", on(server, "nosuchfunction(shop.orders)"))).read()


async def test_a_server_that_is_gone_is_an_error_of_the_poll(bench: Any) -> None:
    scaler = await bench.opened("graphite", on(Graphite("http://127.0.0.1:1", 0), "a"))
    with pytest.raises(ScalerError, match=r'Get "http://127\.0\.0\.1:1/render"'):
        await scaler.read()


async def test_basic_needs_a_user(bench: Any, server: Graphite) -> None:
    with pytest.raises(ConfigError, match="authMode: basic needs username"):
        bench.scaler("graphite", on(server, "a", authMode="basic"), auth={"password": "s3cret"})


async def test_the_contract_is_kept(bench: Any, server: Graphite) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(GraphiteScaler, Trigger(type="graphite", metadata=on(server, "a")), context)
