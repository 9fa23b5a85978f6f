"""Every exception of a scaler becomes an error of ours, with a text that is safe and short enough to show."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import httpx
import pytest

from keda_py.errors import ConfigError, KubeError, ScalerError
from keda_py.net.http import HttpClientSpec
from keda_py.readings.guard import LONGEST_TEXT, guard, shorten
from keda_py.readings.tracked_metrics import check_reading
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.testing import shared_context
from tests.waiting import forever


async def raising(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    "error", [ConfigError("x" * 10**6, field="url"), ScalerError("x" * 10**6), KubeError("x" * 10**6)]
)
async def test_an_error_that_repeats_a_long_text_is_cut(error: Exception) -> None:
    with pytest.raises((ConfigError, ScalerError)) as raised:
        await guard(raising(error), 1.0, what="a scaler")
    assert len(str(raised.value)) < LONGEST_TEXT + 50
    assert not isinstance(error, ConfigError) or raised.value.field == "url"  # type: ignore[union-attr]


def test_an_error_of_one_of_several_is_cut_too() -> None:
    outcome = check_reading(ScalerError("x" * 10**6), "redis")
    assert str(outcome).endswith("xxx... (1000000 characters)")


def test_what_is_no_character_becomes_a_question_mark_so_that_a_status_can_tell_it() -> None:
    error = ScalerError("the field \ud83d is missing in \u20ac")
    shorten(error)
    assert str(error) == "the field ? is missing in \u20ac"


async def test_a_short_error_stays_as_it_is() -> None:
    with pytest.raises(ScalerError, match="^no answer$"):
        await guard(raising(ScalerError("no answer")), 1.0, what="a scaler")


async def ask_http(context: EngineContext, server: str) -> None:
    await context.http.get(f"http://ann:hush@{server}/jobs?key=hush")


async def ask_by_itself(context: EngineContext, server: str) -> None:
    async with context.connection(server):
        await forever()


async def ask_in_a_task(context: EngineContext, server: str) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ask_by_itself(context, server))


@pytest.mark.parametrize("ask", [ask_http, ask_by_itself, ask_in_a_task])
async def test_a_question_that_is_ended_names_its_server(ask: Callable[[EngineContext, str], Awaitable[None]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        async with shared_context(http=HttpClientSpec(timeout=60)) as lent:
            await names(ask, server, lent)


async def names(ask: Callable[[EngineContext, str], Awaitable[None]], server: str, lent: SharedContext) -> None:
    context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
    with pytest.raises(ScalerError, match=f"^scaler tap: no answer within 0.05 s from {server}$"):
        await guard(ask(context, server), 0.05, what="scaler tap")
    assert lent.connections.held == 0


async def test_a_server_is_named_by_its_own_question_alone() -> None:
    async with shared_context() as lent:
        context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
        with pytest.raises(ScalerError, match=r"from jobs\.shop:1$"):
            await guard(ask_by_itself(context, "jobs.shop:1"), 0.01, what="scaler tap")
        with pytest.raises(ScalerError, match=r"^scaler tap: no answer within 0.01 s$"):
            await guard(forever(), 0.01, what="scaler tap")


async def test_a_failed_request_of_any_scaler_is_told_as_those_of_built_in_ones_and_without_secrets() -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        server = f"127.0.0.1:{once.getsockname()[1]}"
    async with shared_context() as lent:
        context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
        with pytest.raises(ScalerError) as refused:
            await guard(ask_http(context, server), 5.0, what="scaler tap")
    assert str(refused.value) == f'Get "http://{server}/jobs": Connection refused'


async def test_a_request_that_takes_too_long_for_its_client_tells_for_how_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        async with shared_context(http=HttpClientSpec(timeout=0.05)) as lent:
            context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
            with pytest.raises(ScalerError) as late:
                await guard(ask_http(context, server), 5.0, what="scaler tap")
    assert str(late.value) == f'Get "http://{server}/jobs": no complete answer in time (0.05 s)'


async def test_a_refused_connection_of_a_scalers_own_names_server_and_reason() -> None:
    async def connect(context: EngineContext) -> None:
        with socket.create_server(("127.0.0.1", 0)) as once:
            port = once.getsockname()[1]
        async with context.connection(f"127.0.0.1:{port}"):
            await asyncio.open_connection("127.0.0.1", port)

    async with shared_context() as lent:
        context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
        with pytest.raises(ScalerError, match=r"^scaler tap: 127\.0\.0\.1:\d+: Connection refused$"):
            await guard(connect(context), 5.0, what="scaler tap")


async def test_an_error_that_a_scaler_made_itself_is_told_with_its_words() -> None:
    with pytest.raises(ScalerError, match="^scaler tap: no such host$"):
        await guard(raising(httpx.ConnectError("no such host")), 1.0, what="scaler tap")
