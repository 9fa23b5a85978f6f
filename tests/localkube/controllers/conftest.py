"""A control plane on virtual time for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.localkube.controllers.bare_cluster import BareCluster


@pytest.fixture
async def cluster() -> AsyncIterator[BareCluster]:
    """Start a control plane with the namespace `default`."""
    async with BareCluster() as cluster:
        yield cluster
