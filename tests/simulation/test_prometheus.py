"""Loads from a Prometheus, asked for in parts; a server that fails midway fails the whole."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from aiohttp import web

from keda_py.errors import ConfigError
from keda_py.sdk.offline import shared_context
from keda_py.simulation.loads.load import Need
from keda_py.simulation.loads.prometheus import FetchedLoad, FetchError, PrometheusServer, Range
from tests.http_server import HttpServer, http_server

BEGIN = datetime(2026, 11, 2, tzinfo=UTC)
NEED = Need(index=0, names=("queue",))


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as running:
        yield running


def answering(server: HttpServer, value: str = "3", lasts: float = 1e12, series: int = 1) -> list[float]:
    """Answers `value` at each step until `lasts` seconds after the beginning, then fails; returns what is asked for."""
    asked: list[float] = []

    async def answer(request: web.Request) -> web.Response:
        start, end, step = (float(request.query[name]) for name in ("start", "end", "step"))
        asked.append(start - BEGIN.timestamp())
        if asked[-1] > lasts:
            return web.json_response({"status": "error", "error": "query timed out"}, status=503)
        count = int((end - start) / step + 1e-6) + 1
        values = [[start + index * step, value] for index in range(count)]
        found = [{"metric": {"n": str(n)}, "values": values} for n in range(series)]
        return web.json_response({"status": "success", "data": {"resultType": "matrix", "result": found}})

    server.answers["/api/v1/query_range"] = answer
    return asked


async def fetch(url: str, seconds: float) -> FetchedLoad:
    async with shared_context() as lent:
        wanted = Range(origin=BEGIN, seconds=seconds, step=15.0)
        return await PrometheusServer(url=url).fetch(lent.http, {0: "sum(queue)"}, wanted)


async def test_a_long_range_is_asked_for_in_parts(server: HttpServer) -> None:
    asked = answering(server)
    fetched = await fetch(server.url, 15.0 * 10_500)
    assert asked == [0.0, 150_000.0]
    assert fetched.bind([NEED])[0].read(157_400.0) == 3.0
    assert len(fetched.values[0]) == 10_501


async def test_a_server_that_fails_midway_names_the_part(server: HttpServer) -> None:
    answering(server, lasts=100_000)
    with pytest.raises(FetchError, match=r"sum\(queue\).* from 2026-11-03T17:40:00Z .*503: query timed out"):
        await fetch(server.url, 15.0 * 10_500)


@pytest.mark.parametrize(
    ("value", "series", "told"),
    [
        ("NaN", 1, "is NaN at 2026-11-02T00:00:00Z; let the query give a number"),
        ("3", 2, r"gives 2 series; make one of them: sum\(...\)"),
        ("3", 0, r"has no value at 2026-11-02T00:00:00Z; .* or vector\(0\)"),
    ],
)
async def test_what_is_no_number_each_step_is_refused(value: str, series: int, told: str, server: HttpServer) -> None:
    answering(server, value, series=series)
    with pytest.raises(ConfigError, match=told):
        await fetch(server.url, 60.0)


async def test_a_trigger_without_a_query_is_told(server: HttpServer) -> None:
    answering(server)
    with pytest.raises(ConfigError, match="trigger 1 has no query; give one: --query two=PROMQL"):
        (await fetch(server.url, 60.0)).bind([NEED, Need(index=1, names=("two",))])


@pytest.mark.parametrize("url", ["", "prometheus:9090", "ftp://x", "http://", "/etc/passwd"])
async def test_what_is_not_an_address_is_told_so(url: str) -> None:
    with pytest.raises(ConfigError, match="--prometheus: is not an address"):
        await fetch(url, 60.0)


async def test_a_password_in_the_address_is_not_shown(server: HttpServer) -> None:
    answering(server, lasts=-1)
    with pytest.raises(FetchError) as told:
        await fetch(server.url.replace("http://", "http://me:secret@"), 60.0)
    assert "secret" not in str(told.value)
