"""A real HTTP server for tests: answers by path, and remembers what it was asked."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HttpServer:
    """`answers` maps a path to a text or to a handler; anything else is 404."""

    def __init__(self) -> None:
        self.answers: dict[str, str | Answer] = {}
        self.asked: list[web.Request] = []
        self.url = ""

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        found = self.answers.get(request.path)
        if found is None:
            raise web.HTTPNotFound
        return web.Response(text=found) if isinstance(found, str) else await found(request)


@asynccontextmanager
async def http_server(tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> AsyncIterator[HttpServer]:
    """Serve on a free port until the block ends."""
    server = HttpServer()
    runner = web.ServerRunner(web.Server(server.answer), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, host, 0, ssl_context=tls)
    await site.start()
    scheme = "https" if tls else "http"
    server.url = f"{scheme}://{host}:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
