"""A cluster on virtual time for each test, and a source of load."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.parity.source import Source, a_source
from tests.parity.world import a_world
from tests.worlds.world import World


@pytest.fixture
def hpa_sync_seconds() -> float:
    """Between two looks of the HPA controller; a test that has it look for an hour sets more, by a parameter."""
    return 5.0


@pytest.fixture
async def world(tmp_path: Path, hpa_sync_seconds: float) -> AsyncIterator[World]:
    async with a_world(tmp_path, hpa_sync_seconds=hpa_sync_seconds) as world:
        yield world


@pytest.fixture
async def source(world: World) -> AsyncIterator[Source]:
    async with a_source(world.clock) as source:
        yield source
