"""The thing that workloads are scaled on: an HTTP endpoint with a number, and with everything that can go wrong."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from tests.http_server import HttpServer, http_server

NONSENSE = ("", "{}", "[]", "null", "<html>please log in</html>", '{"value": "many"}', '{"value": {"a": 1}}')


class Source:
    """`value` is what it answers; `fail`, `hang` and `babble` make it misbehave until `value` is set again."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._value = 0.0
        self._body: str | None = None
        self._failing = self._hanging = False
        self._asked = asyncio.Condition()
        self._released = asyncio.Event()
        self.questions = 0
        server.answers["/jobs"] = self._answer

    @property
    def url(self) -> str:
        return f"{self._server.url}/jobs"

    @property
    def value(self) -> float:
        return self._value

    @value.setter
    def value(self, value: float) -> None:
        self._value, self._body, self._failing, self._hanging = value, None, False, False
        self._released.set()

    def fail(self) -> None:
        self._failing = True

    def hang(self) -> None:
        self._released.clear()
        self._hanging = True

    def babble(self, body: str) -> None:
        self._body = body

    async def asked(self, times: int = 1, seconds: float = 30.0) -> None:
        """Return when `times` more questions have come."""
        wanted = self.questions + times
        async with asyncio.timeout(seconds), self._asked:
            await self._asked.wait_for(lambda: self.questions >= wanted)

    async def _answer(self, _: web.Request) -> web.StreamResponse:
        async with self._asked:
            self.questions += 1
            self._asked.notify_all()
        if self._hanging:
            await self._released.wait()
        if self._failing:
            return web.Response(status=503, text="try later")
        return web.Response(text=f'{{"value": {self._value}}}' if self._body is None else self._body)


@asynccontextmanager
async def serve_source() -> AsyncIterator[Source]:
    async with http_server() as server:
        source = Source(server)
        yield source
        source.value = 0  # lets questions go that still hang
