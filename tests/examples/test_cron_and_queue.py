"""cron-and-queue: a floor in office hours, and a queue that wakes the mailer at any hour."""

from datetime import UTC, datetime
from pathlib import Path

from redis.asyncio import Redis

from tests.examples.play import REDIS, here, play
from tests.localkube.kubectl import needs_kubectl

AN_HOUR_BEFORE = datetime(2026, 11, 20, 16, tzinfo=UTC)
"""That the schedule ends: 17:00 in Berlin, on a Friday."""


@needs_kubectl
async def test_two_are_there_in_office_hours_and_the_queue_adds_to_them_or_wakes_them(
    tmp_path: Path, redis: Redis
) -> None:
    async with play(tmp_path, "cron-and-queue", {REDIS: here(redis)}, begins=AN_HOUR_BEFORE) as at:
        await at.apply()
        await at.seconds(30)
        assert at.replicas("mailer") == 2, "it is 17:00 in Berlin, on a Friday"
        await redis.rpush("mails", *range(70))
        await at.seconds(30)
        assert at.replicas("mailer") == 4
        await at.shows()
        await redis.delete("mails")
        await at.until(datetime(2026, 11, 20, 17, 0, 30, tzinfo=UTC))
        assert at.replicas("mailer") == 2, "18:00 in Berlin"
        await at.until(datetime(2026, 11, 20, 17, 6, tzinfo=UTC))
        assert at.replicas("mailer") == 0
        await redis.rpush("mails", "a late one")
        await at.seconds(30)
        assert at.replicas("mailer") == 1
        await at.shows()
