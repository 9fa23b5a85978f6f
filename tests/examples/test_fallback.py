"""fallback: the source of the number goes away, and comes back."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.examples.play import play
from tests.http_server import HttpServer, http_server
from tests.localkube.kubectl import needs_kubectl


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


async def broken(_: web.Request) -> web.Response:
    return web.Response(status=500)


@needs_kubectl
async def test_six_are_there_while_nobody_knows_how_many_are_needed(tmp_path: Path, server: HttpServer) -> None:
    server.answers["/stats"] = '{"open": 25}'
    async with play(tmp_path, "fallback", {"http://orders.default.svc": server.url}) as at:
        await at.apply()
        await at.seconds(40)
        assert at.replicas("checkout") == 3
        server.answers["/stats"] = broken
        await at.seconds(15)
        assert at.replicas("checkout") == 3
        await at.seconds(65)
        assert at.replicas("checkout") == 6
        await at.shows()
        server.answers["/stats"] = '{"open": 0}'
        await at.seconds(180)
        assert at.replicas("checkout") == 0
        await at.shows()
