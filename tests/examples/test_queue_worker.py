"""queue-worker: workers follow the length of a Redis list, and none is there while it is empty."""

from pathlib import Path

from redis.asyncio import Redis

from tests.examples.play import REDIS, here, play
from tests.localkube.kubectl import needs_kubectl


@needs_kubectl
async def test_workers_come_with_the_orders_and_go_a_minute_after_the_last(tmp_path: Path, redis: Redis) -> None:
    async with play(tmp_path, "queue-worker", {REDIS: here(redis)}) as at:
        await at.apply()
        assert at.replicas("worker") == 0
        await redis.rpush("orders", *range(35))
        await at.seconds(10)
        assert at.replicas("worker") > 0, "the next poll is soon"
        await at.seconds(30)
        assert at.replicas("worker") == 4, "one for every ten"
        await at.shows()
        await redis.delete("orders")
        await at.seconds(10)
        assert at.replicas("worker") == 4
        await at.seconds(60)
        assert at.replicas("worker") == 0
        await at.shows()
