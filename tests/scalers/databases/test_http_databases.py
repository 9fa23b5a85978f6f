"""`influxdb`, `couchdb`, `arangodb`, `solr` and `elastic-forecast` beyond what is recorded."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import BasicAuth, web
from aiohttp.test_utils import TestServer

from keda_py.errors import ScalerError
from keda_py.sdk.registry import scaler_class
from keda_py.testing import EngineContext, check_scaler
from tests.scalers.conftest import Bench
from tests.scalers.triggers import trigger_of

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

V3 = {"influxVersion": "3", "database": "shop", "metricKey": "open.jobs", "query": "SELECT 1", "thresholdValue": "5"}
CONTRACTS: dict[str, dict[str, str]] = {
    "influxdb": {**V3, "serverURL": "http://h"},
    "couchdb": {"connectionString": "http://h", "dbName": "shop", "queryValue": "1"},
    "arangodb": {"endpoints": "http://h", "dbName": "d", "collection": "c", "query": "RETURN 1", "queryValue": "1"},
    "solr": {"host": "http://h", "collection": "c", "targetQueryValue": "1", "username": "u", "password": "p"},
    "elastic-forecast": {"cloudID": "c", "apiKey": "k", "jobID": "j", "targetValue": "1"},
}


@asynccontextmanager
async def playing(answer: Answer) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app, host="127.0.0.1") as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest.mark.parametrize(("query_type", "path"), [("InfluxQL", "query_influxql"), ("FlightSQL", "query_sql")])
async def test_version_3_reads_a_column_of_the_last_row(bench: Bench, query_type: str, path: str) -> None:
    asked: list[Any] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((request.path, request.headers["Authorization"], await request.json()))
        return web.Response(body=b'{"open.jobs": 3}\n{"open.jobs": 4.5}\n')

    async with playing(answer) as url:
        metadata = {**V3, "serverURL": url, "queryType": query_type}
        scaler = await bench.opened("influxdb", metadata, auth={"authToken": "tok"})
        assert (await scaler.read()).value == 4.5
    assert asked == [(f"/api/v3/{path}", "Bearer tok", {"db": "shop", "q": "SELECT 1", "format": "jsonl"})]


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b"", 0),
        (200, b'{"other": 3}\n', "the answer is NULL"),
        (200, b'{"open.jobs": "3"}\n', "holds text, not a number"),
        (200, b"<html>", "the answer is not JSON"),
        (401, b'{"message": "not you"}', "influxdb answered with status 401: not you"),
    ],
)
async def test_version_3_says_nothing_where_it_knows_nothing(
    bench: Bench, status: int, body: bytes, expected: float | str
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, body=body)

    async with playing(answer) as url:
        scaler = await bench.opened("influxdb", {**V3, "serverURL": url})
        if isinstance(expected, str):
            with pytest.raises(ScalerError, match=expected):
                await scaler.read()
        else:
            assert (await scaler.read()).note == "a query without a row counts as 0"


async def test_couchdb_is_asked_as_the_user_where_admin_is_refused(bench: Bench) -> None:
    users: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        user = BasicAuth.decode(request.headers["Authorization"])
        users.append(user.login)
        if (user.login, user.password) != ("bob", "pw"):
            return web.Response(status=401)
        return web.json_response({"docs": [{}, {}]})

    metadata = {"dbName": "shop", "query": '{"selector": {}}', "queryValue": "1", "username": "bob"}
    async with playing(answer) as url:
        scaler = await bench.opened("couchdb", {**metadata, "connectionString": url}, auth={"password": "pw"})
        assert (await scaler.read()).value == 2
        assert users == ["admin", "bob", "bob"]
        with pytest.raises(ScalerError, match="failed to ping couchdb: status 401") as wrong:
            await bench.opened("couchdb", {**metadata, "connectionString": url}, auth={"password": "hunter2"})
    assert "hunter2" not in str(wrong.value)


@pytest.mark.parametrize("kind", CONTRACTS)
async def test_the_contract_is_kept(bench: Bench, kind: str) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(scaler_class(kind), trigger_of(kind, CONTRACTS[kind]), context)
