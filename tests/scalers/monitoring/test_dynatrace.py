"""`dynatrace` beside its recorded exchanges: the states of a query, when it is begun and when its result is asked for."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from keda_py.errors import ScalerError
from tests.http_server import HttpServer, http_server

EXECUTE, POLL = "/platform/storage/query/v1/query:execute", "/platform/storage/query/v1/query:poll"
AUTH = {"token": "s3cret"}


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


def query(url: str, **more: str) -> dict[str, str]:
    return {"host": url, "query": "fetch logs", "threshold": "5", "queryPollingWait": "1ms", **more}


def begun(state: str | None) -> Any:
    async def answer(_: web.Request) -> web.Response:
        told = {"requestToken": "t"} | ({"state": state} if state is not None else {})
        return web.json_response(told, status=202)

    return answer


def in_turn(*states: str) -> Any:
    left = list(states)

    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"state": left.pop(0), "result": {"records": [{"r": 7}]}})

    return answer


@pytest.mark.parametrize("state", ["RUNNING", "NOT_STARTED", "SUCCEEDED"])
async def test_a_query_that_has_not_started_is_asked_for_again(bench: Any, server: HttpServer, state: str) -> None:
    server.answers |= {EXECUTE: begun(state), POLL: in_turn("NOT_STARTED", "RUNNING", "SUCCEEDED")}
    scaler = await bench.opened("dynatrace", query(server.url), auth=AUTH)
    assert (await scaler.read()).value == 7


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("FAILED", "the DQL query failed"),
        ("CANCELLED", "the DQL query was cancelled"),
        ("RESULT_GONE", "the result of the DQL query has expired"),
        ("DREAMING", "the DQL query is in state DREAMING, which is not known"),
    ],
)
async def test_a_query_that_ended_without_a_result_says_how(
    bench: Any, server: HttpServer, state: str, words: str
) -> None:
    server.answers |= {EXECUTE: begun("RUNNING"), POLL: in_turn(state)}
    scaler = await bench.opened("dynatrace", query(server.url), auth=AUTH)
    with pytest.raises(ScalerError, match=words):
        await scaler.read()
    server.answers[EXECUTE] = begun(state)
    asked = len(server.asked)
    with pytest.raises(ScalerError, match=words):
        await scaler.read()
    assert len(server.asked) == asked + 1


async def test_a_query_that_is_begun_in_no_state_is_an_error(bench: Any, server: HttpServer) -> None:
    server.answers |= {EXECUTE: begun(None), POLL: in_turn("SUCCEEDED")}
    scaler = await bench.opened("dynatrace", query(server.url), auth=AUTH)
    with pytest.raises(ScalerError, match="state unknown"):
        await scaler.read()
