"""Boundaries of schedules that come soon after a poll: the poll's reading is young, and tells of what is over."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.operator.controller.state import Due
from tests.builders import cron, deployment, scaled_object
from tests.worlds.world import World

MINUTES = 10
POLL = 7
"""Seconds between polls: in ten minutes they come at many distances before a full minute."""


@contextmanager
def counted_looks(world: World) -> Iterator[Counter[int]]:
    """Looks that plan the next one by a change known in advance, by minute."""
    looks: Counter[int] = Counter()

    def note(frame, event, _argument):
        if event == "call" and frame.f_code is Due.look_after.__code__:
            looks[world.clock.now().minute] += 1

    sys.setprofile(note)
    try:
        yield looks
    finally:
        sys.setprofile(None)


async def test_each_boundary_is_acted_on_at_once_and_by_few_looks(world: World) -> None:
    hours = cron("*/2 * * * *", "1-59/2 * * * *")
    await world.create(deployment(), scaled_object(hours, pollingInterval=POLL, cooldownPeriod=0))
    await world.seconds(60 - world.clock.now().second - 1)
    with counted_looks(world) as looks:
        for _ in range(MINUTES):
            await world.seconds(2)
            assert world.replicas() == (world.clock.now().minute + 1) % 2
            await world.seconds(58)
    assert max(looks.values()) <= 60 / POLL + 4


async def test_a_clock_that_is_set_is_followed_by_few_looks(world: World) -> None:
    hours = cron("0 13 * * *", "0 14 * * *")
    await world.create(deployment(), scaled_object(hours, pollingInterval=POLL, cooldownPeriod=0))
    await world.seconds(20)
    path = SCALED_OBJECTS.named("default", "app")
    with counted_looks(world) as looks:
        for number, step in enumerate((1, 1, -1, -1, 1, -1)):
            world.clock.step(timedelta(hours=step))
            # A change of the object is looked at with the reading that there is.
            await world.client.patch(path, {"metadata": {"annotations": {"reviewed": str(number)}}})
            await world.seconds(4)
    assert looks.total() <= 6 * 30
