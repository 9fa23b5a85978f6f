"""What tests of environments share: kills of their operator."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.http_server import HttpServer
from tests.operator.environments.killing import Kills


@pytest.fixture
async def kills(tmp_path: Path, server: HttpServer) -> AsyncIterator[Kills]:
    async with asyncio.TaskGroup() as tasks:
        yield Kills(tmp_path, server, tasks)
