"""A world with an operator at work in it, one that is still without, and one for several replicas."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.http_server import HttpServer, http_server
from tests.operator.replicas import Replicas, build_replicas
from tests.worlds.world import World, open_world


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


@pytest.fixture
async def quiet_world(tmp_path: Path, server: HttpServer) -> AsyncIterator[World]:
    async with open_world(tmp_path, server) as world:
        yield world


@pytest.fixture
async def world(quiet_world: World) -> World:
    await quiet_world.operator.start()
    return quiet_world


@pytest.fixture
async def replicas(tmp_path: Path, server: HttpServer) -> AsyncIterator[Replicas]:
    async with build_replicas(tmp_path, server) as replicas:
        yield replicas
