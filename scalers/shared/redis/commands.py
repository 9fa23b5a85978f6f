"""Commands to a Redis, wherever its keys are: all of a poll at once. This and what it imports uses the library."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.exceptions import RedisError

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import ScalerError
from scalers.shared.redis.connection import Locate
from scalers.shared.redis.interface import Command, RedisAsker, RedisServer, reason_of
from scalers.shared.redis.server import client_for

_TOLD_SECONDS = 0.05
"""For what fails just in time, as the wait for a place, to say so itself."""


class OneRedis:
    """All commands go to one server, in one round trip."""

    def __init__(self, server: RedisServer, context: ScalerContext, locate: Locate | None = None) -> None:
        self._server, self._context = server, context
        self._client = client_for(server, context, locate)

    async def ask(self, commands: Sequence[Command]) -> Sequence[object]:
        try:
            with self._context.clock.busy():
                async with in_time(self._server):
                    return await ask_all(self._client, [command.words for command in commands])
        except (RedisError, OSError) as error:
            raise unreachable(self._server, error) from None

    async def client_of(self, key: str) -> Redis:
        return self._client

    async def aclose(self) -> None:
        """Close the pool."""
        await self._client.aclose()


async def ask_all(client: Redis, commands: Sequence[tuple[str, ...]]) -> Sequence[object]:
    """Send all commands in one round trip. Raises RedisError, OSError."""
    pipeline = client.pipeline(transaction=False)
    for words in commands:
        pipeline.execute_command(*words)
    answers: Sequence[object] = await pipeline.execute(raise_on_error=False)
    return answers


@asynccontextmanager
async def in_time(server: RedisServer) -> AsyncIterator[None]:
    """All tries together take no longer than one time-out. Raises TimeoutError that says so."""
    try:
        async with asyncio.timeout(server.timeout + _TOLD_SECONDS):
            yield
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"Timeout: no answer in {server.timeout:g} s") from None


async def answering(asker: RedisAsker) -> RedisAsker:
    """Return the asker after it answered a PING, or close it. Raises ScalerError."""
    try:
        for answer in await asker.ask([Command(key="", words=("PING",))]):
            if isinstance(answer, ScalerError):
                raise answer
            if answer != b"PONG":
                raise ScalerError(reason_of(answer))
    except BaseException:
        await asker.aclose()
        raise
    return asker


def unreachable(server: RedisServer, error: Exception) -> ScalerError:
    """One line that names the server; redis-py's texts hold no credentials."""
    return ScalerError(f"connection to redis {server.address} failed: {error or type(error).__name__}")
