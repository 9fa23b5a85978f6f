"""Scalers with connections of their own take them from their namespace's share, and give them back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from keda_py.answers.connections import Connections
from keda_py.answers.work_context import working
from keda_py.errors import ScalerError
from keda_py.net.http import HttpClientSpec
from keda_py.net.secret_texts import as_secrets
from keda_py.sdk.advanced import Trigger
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.registry import AnyScaler, build
from keda_py.testing import shared_context

SHARE = 2
SECONDS = 20.0
FULL = 'namespace "hostile" has 2 connections to sources already, and none was free in time'


@dataclass
class Silent:
    """Accepts, and says nothing."""

    port: int = 0
    connected: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self.changed:
            self.connected += 1
            self.changed.notify_all()
        try:
            while await reader.read(1000):
                pass
        finally:
            writer.close()

    async def until_connected(self, count: int) -> None:
        async with asyncio.timeout(SECONDS), self.changed:
            await self.changed.wait_for(lambda: self.connected >= count)


@pytest.fixture
async def silent() -> AsyncIterator[Silent]:
    made = Silent()
    async with await asyncio.start_server(made.listen, "0.0.0.0", 0) as server:
        made.port = server.sockets[0].getsockname()[1]
        yield made


@pytest.fixture
async def lent() -> AsyncIterator[SharedContext]:
    spec = HttpClientSpec(timeout=1.0, connections=Connections(share=SHARE))
    async with shared_context(http=spec) as lent:
        yield lent
        assert lent.connections.held == 0


@asynccontextmanager
async def opened(lent: SharedContext, namespace: str, kind: str, metadata: dict[str, str]) -> AsyncIterator[AnyScaler]:
    context = EngineContext(shared_context=lent, namespace=namespace, scaled_object="app", trigger_index=0)
    auth = {"awsAccessKeyID": "a", "awsSecretAccessKey": "b"} if kind == "aws-sqs-queue" else {}
    async with AsyncExitStack() as stack:
        stack.push_async_callback(context.aclose)
        with working(namespace):
            scaler = build(Trigger(type=kind, metadata=metadata, env={}, auth=as_secrets(auth)), context)
            stack.push_async_callback(scaler.aclose)
            await scaler.open()
        yield scaler


def redis(port: int, host: int = 1) -> dict[str, str]:
    return {"address": f"127.0.0.{host}:{port}", "listName": "jobs"}


async def test_redis_servers_that_hang_use_up_the_share_of_who_asks_them_alone(
    lent: SharedContext, silent: Silent, redis_port: int
) -> None:
    refused = list[str]()

    async def hang(host: int) -> None:
        with pytest.raises(ScalerError) as error:
            async with opened(lent, "hostile", "redis", redis(silent.port, host)):
                pass
        refused.append(str(error.value))

    async with asyncio.TaskGroup() as tasks:
        for host in range(1, 6):
            tasks.create_task(hang(host))
        await silent.until_connected(SHARE)
        assert lent.connections.held == SHARE
        async with opened(lent, "shop", "redis", redis(redis_port)) as scaler:
            assert (await scaler.read()).value == 0
    assert sum(FULL in text for text in refused) >= 1
    assert sum("Timeout" in text for text in refused) >= SHARE


async def test_a_redis_connection_counts_until_the_last_trigger_is_closed(lent: SharedContext, redis_port: int) -> None:
    async with opened(lent, "shop", "redis", redis(redis_port)) as scaler:
        for _ in range(3):
            await scaler.read()
        async with opened(lent, "shop", "redis", redis(redis_port)):
            assert lent.connections.held == 1
        assert lent.connections.held == 1
    assert lent.connections.held == 0


async def test_queues_that_do_not_answer_use_up_the_share_of_who_asks_them_alone(
    lent: SharedContext, silent: Silent
) -> None:
    def queue(host: int) -> dict[str, str]:
        endpoint = f"http://127.0.0.{host}:{silent.port}"
        return {"queueURL": f"{endpoint}/1/jobs", "awsRegion": "eu-west-1", "awsEndpoint": endpoint}

    async def read(scaler: Any, namespace: str) -> str:
        with working(namespace), pytest.raises(ScalerError) as error:
            await scaler.read()
        return str(error.value)

    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        scalers = [
            await stack.enter_async_context(opened(lent, "hostile", "aws-sqs-queue", queue(n))) for n in (1, 2, 3)
        ]
        asking = [tasks.create_task(read(scaler, "hostile")) for scaler in scalers]
        await silent.until_connected(SHARE)
        assert lent.connections.held == SHARE
        answers = [await one for one in asking]
    assert [FULL in text for text in answers] == [False, False, True]
