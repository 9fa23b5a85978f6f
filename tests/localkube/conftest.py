"""A cluster on a clock that does not move, and its administrator."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from keda_py.clock import FakeClock
from keda_py.localkube.cluster import LocalCluster
from tests.definitions import DEFINITIONS
from tests.localkube.client import Client


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 11, 21, 8, tzinfo=UTC))


@pytest.fixture
async def cluster(clock: FakeClock) -> AsyncIterator[LocalCluster]:
    async with LocalCluster(clock) as running:
        await running.apply(DEFINITIONS)
        yield running


@pytest.fixture
def client(cluster: LocalCluster) -> Client:
    return Client(cluster)
