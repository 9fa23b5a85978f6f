"""`sumologic` beside its recorded exchanges: what is tried again, what is left behind, what is refused."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar, TypeVar

import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.registry import build
from tests.http_server import HttpServer, http_server
from tests.scalers.triggers import trigger_of

T = TypeVar("T")

AUTH = {"accessID": "aid", "accessKey": "s3cret"}
JOB = "/api/v1/search/jobs/J1"


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


def metrics(url: str, **more: str) -> dict[str, str]:
    window = {"quantization": "15s", "timerange": "10m", "threshold": "5"}
    return {"host": url, "queryType": "metrics", "query": "metric=x", **window, **more}


def logs(url: str, **more: str) -> dict[str, str]:
    fields = {"resultField": "_count", "timerange": "10m", "threshold": "5", "logsPollingInterval": "10ms"}
    return {"host": url, "queryType": "logs", "query": "_c=x | count", **fields, **more}


async def test_a_refusal_is_not_tried_again(bench: Any, server: HttpServer) -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.Response(status=401)

    server.answers["/api/v1/metricsQueries"] = refuse
    scaler = await bench.opened("sumologic", metrics(server.url), auth=AUTH)
    with pytest.raises(ScalerError, match="request failed after 1 attempts with status 401") as refused:
        await scaler.read()
    assert len(server.asked) == 1
    assert "s3cret" not in str(refused.value)


async def test_a_search_that_is_given_up_is_deleted(bench: Any, server: HttpServer) -> None:
    polled, methods = asyncio.Event(), []

    async def job(request: web.Request) -> web.Response:
        methods.append(request.method)
        polled.set()
        return web.json_response({"state": "GATHERING RESULTS", "messageCount": 0, "recordCount": 0})

    server.answers |= {"/api/v1/search/jobs": '{"id":"J1"}', JOB: job}
    scaler = await bench.opened("sumologic", logs(server.url), auth=AUTH)
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(scaler.read())
        await polled.wait()
        reading.cancel()
    assert methods[-1] == "DELETE"


async def test_a_search_with_too_many_records_is_an_error(bench: Any, server: HttpServer) -> None:
    server.answers["/api/v1/search/jobs"] = '{"id":"J1"}'
    server.answers[JOB] = '{"state":"DONE GATHERING RESULTS","messageCount":9,"recordCount":100001}'
    scaler = await bench.opened("sumologic", logs(server.url), auth=AUTH)
    with pytest.raises(ScalerError, match="100001 records: aggregate"):
        await scaler.read()


class Telling(EngineContext):
    """Remembers what was read by `parse`, which sees to long texts."""

    read: ClassVar[list[str]] = []

    async def parse(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        self.read.append(function.__name__)
        return await super().parse(function, *arguments, **options)


async def test_no_answer_is_read_on_the_loop_however_long_it_is(lent: SharedContext, server: HttpServer) -> None:
    server.answers |= {
        "/api/v1/search/jobs": '{"id":"J1"}',
        JOB: '{"state":"DONE GATHERING RESULTS","messageCount":1,"recordCount":1}',
        f"{JOB}/records": '{"records":[{"map":{"_count":"4"}}]}',
    }
    context = Telling(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
    scaler = build(trigger_of("sumologic", logs(server.url), auth=AUTH), context)
    assert (await scaler.read()).value == 4
    assert Telling.read == ["read_job", "read_state", "read_records"]


async def test_an_unknown_time_zone_is_the_users_to_mend(bench: Any) -> None:
    with pytest.raises(ConfigError, match="timezone: 'Mars' is not a known time zone"):
        await bench.opened("sumologic", metrics("http://x", timezone="Mars"), auth=AUTH)
