"""`redis-streams` against a real Redis."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from keda_py.errors import ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, check_scaler
from scalers.redis_streams import RedisStreamsScaler


@pytest.fixture
async def redis(redis_port: int) -> AsyncIterator[Redis]:
    async with Redis(port=redis_port) as client:
        await client.flushall()
        yield client


def on(port: int, **metadata: str) -> dict[str, str]:
    return {"address": f"127.0.0.1:{port}", "stream": "events", **metadata}


async def fill(redis: Redis, entries: int = 5, taken: int = 3, acknowledged: int = 1) -> None:
    await redis.xgroup_create("events", "shop", "0", mkstream=True)
    for number in range(entries):
        await redis.xadd("events", {"n": number})
    ((_, given),) = await redis.xreadgroup("shop", "worker", {"events": ">"}, count=taken)
    await redis.xack("events", "shop", *[entry for entry, _ in given[:acknowledged]])


async def test_length_pending_entries_and_lag(bench: Any, redis: Redis, redis_port: int) -> None:
    await fill(redis)
    modes = [{}, {"consumerGroup": "shop"}, {"consumerGroup": "shop", "lagCount": "4"}]
    scalers = [await bench.opened("redis-streams", on(redis_port, **mode)) for mode in modes]
    assert len({scaler.batch_key for scaler in scalers}) == 1
    assert [one.value for one in await scalers[0].read_batch(scalers)] == [5, 2, 2]


async def test_a_missing_stream_or_group(bench: Any, redis: Redis, redis_port: int) -> None:
    await fill(redis)
    cases = {
        "stream, length": {"stream": "gone"},
        "stream, lag": {"stream": "gone", "consumerGroup": "shop", "lagCount": "4"},
        "group, lag": {"consumerGroup": "gone", "lagCount": "4"},
    }
    values = {}
    for name, metadata in cases.items():
        scaler = await bench.opened("redis-streams", on(redis_port, **metadata))
        values[name] = (await scaler.read()).value
    assert values == {"stream, length": 0, "stream, lag": 0, "group, lag": 5}
    for metadata in ({"stream": "gone", "consumerGroup": "shop"}, {"consumerGroup": "gone"}):
        scaler = await bench.opened("redis-streams", on(redis_port, **metadata))
        with pytest.raises(ScalerError, match="NOGROUP"):
            await scaler.read()


async def test_a_lag_that_redis_cannot_tell_is_an_error(bench: Any, redis: Redis, redis_port: int) -> None:
    await fill(redis)
    (*_, last) = [entry for entry, _ in await redis.xrange("events")]
    await redis.xdel("events", last)
    scaler = await bench.opened("redis-streams", on(redis_port, consumerGroup="shop", lagCount="4"))
    with pytest.raises(ScalerError, match="cannot tell the lag after entries were deleted"):
        await scaler.read()


async def test_a_key_of_another_type_is_an_error(bench: Any, redis: Redis, redis_port: int) -> None:
    await redis.set("events", "text")
    for mode in ({}, {"consumerGroup": "shop"}, {"consumerGroup": "shop", "lagCount": "4"}):
        scaler = await bench.opened("redis-streams", on(redis_port, **mode))
        with pytest.raises(ScalerError, match='stream "events": WRONGTYPE'):
            await scaler.read()


async def test_hundreds_of_consumers_are_read(bench: Any, redis: Redis, redis_port: int) -> None:
    await redis.xgroup_create("events", "shop", "0", mkstream=True)
    for number in range(600):
        await redis.xadd("events", {"n": number})
        await redis.xreadgroup("shop", f"worker-{number}", {"events": ">"}, count=1)
    scaler = await bench.opened("redis-streams", on(redis_port, consumerGroup="shop"))
    assert (await scaler.read()).value == 600


async def test_the_contract_is_kept(bench: Any, redis_port: int) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(RedisStreamsScaler, Trigger(type="redis-streams", metadata=on(redis_port)), context)
