"""A world with an operator at work in it, one that is still without, one for a whole file, one for several replicas."""

import itertools
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from keda_py.kube.resources import NAMESPACES
from tests.builders import a_namespace
from tests.http_server import HttpServer, http_server
from tests.operator.replicas import Replicas, build_replicas
from tests.worlds.world import World, open_world

NUMBERS = itertools.count()


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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """One with an operator at work for all tests of a file, where `pytestmark` gives them one loop."""
    async with http_server() as server, open_world(tmp_path_factory.mktemp("world"), server) as world:
        await world.operator.start()
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def room(shared_world: World) -> AsyncIterator[World]:
    """The shared world as one test has it: in a namespace that is its own and gone after it, with no answer given."""
    shared_world.server.answers.clear()
    shared_world.server.asked.clear()
    shared_world.jobs(0)
    name = f"room-{next(NUMBERS)}"
    await shared_world.create(a_namespace(name))
    yield replace(shared_world, namespace=name)
    await shared_world.delete(NAMESPACES, name)
    await shared_world.seconds(5)
    assert shared_world.find(NAMESPACES, name) is None


@pytest_asyncio.fixture(loop_scope="module")
async def alone(tmp_path: Path) -> AsyncIterator[World]:
    """One like the shared, in the same loop, for a test that would spoil that one or be spoilt by the others."""
    async with http_server() as server, open_world(tmp_path, server) as world:
        await world.operator.start()
        yield world


@pytest.fixture
async def replicas(tmp_path: Path, server: HttpServer) -> AsyncIterator[Replicas]:
    async with build_replicas(tmp_path, server) as replicas:
        yield replicas
