"""scaling-modifiers: one number made of two lists."""

from pathlib import Path

from redis.asyncio import Redis

from tests.examples.play import REDIS, here, play
from tests.localkube.kubectl import needs_kubectl


@needs_kubectl
async def test_an_urgent_order_counts_as_much_as_five_others(tmp_path: Path, redis: Redis) -> None:
    async with play(tmp_path, "scaling-modifiers", {REDIS: here(redis)}) as at:
        await at.apply()
        assert at.replicas("worker") == 0
        await redis.rpush("orders", *range(20))
        await at.seconds(40)
        assert at.replicas("worker") == 2
        await redis.rpush("urgent", *range(6))
        await at.seconds(45)
        assert at.replicas("worker") == 5, "20 + 5 * 6 = 50, and a worker for every 10"
        await at.shows()
        await redis.delete("orders", "urgent")
        await at.seconds(75)
        assert at.replicas("worker") == 0
