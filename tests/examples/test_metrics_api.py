"""metrics-api: a number inside the JSON of an application that wants to know who asks."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.examples.play import play
from tests.http_server import HttpServer, http_server
from tests.localkube.kubectl import needs_kubectl


class Rides:
    """The application: who shows the token learns how many wait."""

    waiting = 0

    async def answer(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != "Bearer change-me":
            return web.Response(status=401)
        return web.json_response({"rides": {"waiting": self.waiting}})


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


@needs_kubectl
async def test_dispatchers_follow_the_rides_and_three_riders_wake_nobody(tmp_path: Path, server: HttpServer) -> None:
    rides = Rides()
    server.answers["/api/status"] = rides.answer
    async with play(tmp_path, "metrics-api", {"http://rides.default.svc:8080": server.url}) as at:
        await at.apply()
        rides.waiting = 3
        await at.seconds(60)
        assert at.replicas("dispatcher") == 0
        rides.waiting = 45
        await at.seconds(45)
        assert at.replicas("dispatcher") == 3
        await at.shows()
        rides.waiting = 0
        await at.seconds(150)
        assert at.replicas("dispatcher") == 0
