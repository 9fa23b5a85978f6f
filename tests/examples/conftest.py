"""A Redis of one's own for each test that asks for it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from tests.servers import free_port, redis_command, running


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[Redis]:
    port = free_port()
    with running(redis_command(port, tmp_path), port, tmp_path / "redis.log"):
        async with Redis(port=port) as client:
            yield client
