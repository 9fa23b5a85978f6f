"""Worlds whose operator knows the wakers' Service."""

import pytest

from tests.operator.waking.stand_in import SERVICE
from tests.worlds.world import World


@pytest.fixture
async def world(quiet_world: World) -> World:
    quiet_world.operator.flags["waker-service"] = SERVICE
    await quiet_world.operator.start()
    return quiet_world
