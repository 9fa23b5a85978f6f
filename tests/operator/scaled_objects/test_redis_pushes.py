"""A source that tells of work: the workload is started at once, long before the next poll."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from tests.builders import deployment, scaled_object
from tests.servers import free_port, redis_command, running
from tests.waiting import eventually
from tests.worlds.world import World

HOUR = 3600


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[Redis]:
    port = free_port()
    with running(redis_command(port, tmp_path, "--notify-keyspace-events", "KEA"), port, tmp_path / "log"):
        async with Redis(port=port) as client:
            yield client


async def test_an_entry_of_a_redis_list_starts_a_workload_long_before_the_next_poll(redis: Redis, world: World) -> None:
    port = redis.connection_pool.connection_kwargs["port"]
    trigger = {"type": "redis", "metadata": {"address": f"127.0.0.1:{port}", "listName": "jobs", "listLength": "2"}}
    await world.create(deployment(replicas=0), scaled_object(trigger, pollingInterval=HOUR))
    await world.seconds(10)
    assert world.condition("Active") == ("False", "ScalerNotActive")
    assert world.replicas() == 0

    async def is_listened_to() -> bool:
        return await redis.pubsub_channels() == [b"__keyspace@0__:jobs"]

    await eventually(is_listened_to)
    before = world.clock.monotonic()
    await redis.lpush("jobs", "a")

    async def is_started() -> bool:
        await world.seconds(0.01)
        return world.replicas() == 1

    await eventually(is_started)
    assert world.clock.monotonic() - before < HOUR / 2
    assert world.condition("Active") == ("True", "ScalerActive")
