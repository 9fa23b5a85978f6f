"""A control plane on virtual time for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.localkube.controllers.world import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Running, with the namespace `default`."""
    async with World() as world:
        yield world
