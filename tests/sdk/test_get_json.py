"""`context.get_json`: one GET, one value of the answer, and errors that say what failed without a secret."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from keda_py.errors import ScalerError
from keda_py.testing import EngineContext, shared_context
from tests.http_server import HttpServer, http_server

QUEUES = '{"queues": [{"length": 3, "name": "jobs", "paused": null}]}'


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        server.answers["/queues"] = QUEUES
        yield server


@pytest.fixture
async def context() -> AsyncIterator[EngineContext]:
    async with shared_context() as lent:
        yield EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)


def child_processes() -> list[str]:
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()


async def test_one_value_of_the_answer_is_found_by_names_and_indexes(
    context: EngineContext, server: HttpServer
) -> None:
    assert await context.get_json(f"{server.url}/queues", "queues", 0, "length") == 3
    assert await context.get_json(f"{server.url}/queues") == {"queues": [{"length": 3, "name": "jobs", "paused": None}]}


async def test_headers_are_sent_and_parameters_join_those_of_the_address(
    context: EngineContext, server: HttpServer
) -> None:
    address, headers = f"{server.url}/queues?vhost=a", {"Authorization": "Bearer opensesame"}
    await context.get_json(address, headers=headers, parameters={"name": "b c"})
    (asked,) = server.asked
    assert (asked.headers["Authorization"], dict(asked.query)) == ("Bearer opensesame", {"vhost": "a", "name": "b c"})


@pytest.mark.parametrize(
    ("steps", "place"),
    [(("waiting",), "waiting"), (("queues", 1, "length"), r"queues\.1\.length"), (("queues", 0, "paused"), "paused")],
)
async def test_a_value_that_is_missing_or_null_is_an_error_and_never_0(
    context: EngineContext, server: HttpServer, steps: tuple[str | int, ...], place: str
) -> None:
    with pytest.raises(ScalerError, match=rf'^Get "{server.url}/queues": the answer has nothing at .*{place}$'):
        await context.get_json(f"{server.url}/queues", *steps)


async def test_errors_name_the_address_without_what_may_be_secret(context: EngineContext, server: HttpServer) -> None:
    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.Response(status=503, text="hunter2")

    server.answers.update({"/down": refuse, "/text": "hunter2"})
    secret = server.url.replace("://", "://user:hunter2@")
    for address, reason in (
        (f"{secret}/down?key=hunter2", f'Get "{server.url}/down": status 503'),
        (f"{secret}/text?key=hunter2", f'Get "{server.url}/text": the answer is not JSON'),
        ("http://user:hunter2@127.0.0.1:1/?key=hunter2", 'Get "http://127.0.0.1:1/": '),
        ("http://acme:hunter2/", 'Get "the address (not shown)": '),
    ):
        with pytest.raises(ScalerError) as error:
            await context.get_json(address)
        assert str(error.value).startswith(reason)
        assert "hunter2" not in str(error.value)


async def test_a_long_answer_is_parsed_in_another_process(context: EngineContext, server: HttpServer) -> None:
    before = child_processes()
    assert await context.get_json(f"{server.url}/queues", "queues", 0, "length") == 3
    assert child_processes() == before
    server.answers["/long"] = f'{{"waiting": 7, "rest": [{"[]," * 300_000}0]}}'
    assert await context.get_json(f"{server.url}/long", "waiting") == 7
    assert len(child_processes()) == len(before) + 1
    with pytest.raises(ScalerError, match="it becomes a value of more than 65536 bytes"):
        await context.get_json(f"{server.url}/long", "rest")
