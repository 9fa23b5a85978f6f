"""A server that answers as a test wants."""

from collections.abc import AsyncIterator

import pytest

from tests.http_server import HttpServer, http_server


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server
