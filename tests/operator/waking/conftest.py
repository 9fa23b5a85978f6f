"""Worlds whose operator knows the wakers' Service."""

from collections.abc import AsyncIterator

import pytest

from tests.faults.faulty import FaultyApi, serve_faulty
from tests.operator.waking.stand_in import SERVICE
from tests.worlds.world import World


@pytest.fixture
async def world(quiet_world: World) -> World:
    quiet_world.operator.flags["waker-service"] = SERVICE
    await quiet_world.operator.start()
    return quiet_world


@pytest.fixture
async def api(quiet_world: World) -> AsyncIterator[FaultyApi]:
    """The API server as the operator sees it; the operator is not started yet."""
    async with serve_faulty(quiet_world.cluster) as (api, url):
        quiet_world.operator.api_server = url
        quiet_world.operator.flags["waker-service"] = SERVICE
        yield api
