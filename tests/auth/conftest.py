"""Cluster with our kinds, and Redis servers that require a password."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from keda_py.clock import SystemClock
from tests.builders import deployment
from tests.servers import free_port, redis_command, running
from tests.worlds.world import World, open_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path, clock=SystemClock()) as world:
        yield world


@pytest.fixture
def guarded_redis(tmp_path: Path) -> Iterator[int]:
    """Return the port of a Redis whose password is "old"."""
    port = free_port()
    with running(redis_command(port, tmp_path, "--requirepass", "old"), port, tmp_path / "log"):
        yield port


@pytest.fixture
async def as_in_keda(world: World) -> AsyncIterator[World]:
    """Return `working`, with an operator that sends its own identity anywhere."""
    await world.apply(deployment("app"))
    async with world.operator.running(operator_identity_anywhere="true"):
        yield world


@pytest.fixture
async def working(world: World) -> AsyncIterator[World]:
    """Return a cluster with a Deployment "app" and a running operator."""
    await world.apply(deployment("app", env=[{"name": "PLAIN", "value": "p"}]))
    async with world.operator.running():
        yield world
