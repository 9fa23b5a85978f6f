"""Schedules fire at their boundary, on the real clock: the next full minute is never far."""

import asyncio
from datetime import datetime, timedelta

from keda_py.clock import SystemClock
from tests.builders import cron, deployment, scaled_object
from tests.e2e.scene import Scene

SOON = timedelta(seconds=8)
LATE_SECONDS = 3.0


def boundary() -> datetime:
    """The next full minute that leaves time to prepare."""
    return (SystemClock().now() + SOON).replace(second=0, microsecond=0) + timedelta(minutes=1)


def daily_at(moment: datetime) -> str:
    return f"{moment.minute} {moment.hour} * * *"


async def test_windows_open_and_close_on_the_minute(scene: Scene) -> None:
    at = boundary()
    opening = cron(daily_at(at), daily_at(at + timedelta(hours=2)), desired=1)
    closing = cron(daily_at(at - timedelta(hours=2)), daily_at(at), desired=1)
    await scene.create(
        deployment("opens"),
        scaled_object(opening, name="opens", pollingInterval=300),
        deployment("closes", 1),
        scaled_object(closing, name="closes", pollingInterval=300, cooldownPeriod=2),
    )
    await scene.condition("Active", "False", "ScalerNotActive", "opens")
    await scene.condition("Active", "True", "ScalerActive", "closes")
    assert SystemClock().now() < at, "preparing took until the window"

    async def seconds_after(replicas: int, name: str) -> float:
        await scene.replicas(replicas, name, seconds=90)
        return (SystemClock().now() - at).total_seconds()

    opened, closed = await asyncio.gather(seconds_after(1, "opens"), seconds_after(0, "closes"))
    assert 0 <= opened <= LATE_SECONDS
    assert 2 <= closed <= 2 + LATE_SECONDS
