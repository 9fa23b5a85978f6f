"""Text page on --metrics-bind-address.

Rendering 2 000 series costs 27 ms, so a page is rendered in a thread, at most ten times a second, and for at most a
tenth of the time. Any client may request it: a few are served at once, and slow ones are disconnected, because the rest
of their page stays in memory.
"""

import asyncio
from typing import Protocol

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from keda_py.serving.ports.gate import Crowded, Gate

# A rendered page is reused for this time, or for ten times as long as its rendering took.
RENDER_SECONDS = 0.1
TAKE_SECONDS = 5.0
AT_ONCE, WAITING = 4, 64
PIECE_BYTES = 32 * 1024


class Metrics(Protocol):
    """Metrics of a process; `sample` updates those that are only read when the page is."""

    registry: CollectorRegistry

    def sample(self) -> None: ...


class MetricsPage:
    """Handler of `/metrics`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._page, self._good_until = b"", float("-inf")
        self._rendering = asyncio.Lock()
        self._gate = Gate(AT_ONCE, WAITING)

    async def render(self) -> bytes:
        """Return the page, rendered off the loop, as fresh as the load allows."""
        async with self._rendering:
            loop = asyncio.get_running_loop()
            began = loop.time()
            if began >= self._good_until:
                self._metrics.sample()
                self._page = await asyncio.to_thread(generate_latest, self._metrics.registry)
                # A slow render is reused for longer, so that rendering takes a tenth of the time at most.
                self._good_until = began + max(RENDER_SECONDS, 10 * (loop.time() - began))
            return self._page

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request; for `app.router.add_get("/metrics", page.answer)`."""
        try:
            async with self._gate.turn(request.remote or ""), asyncio.timeout(TAKE_SECONDS):
                return await self._send(request, await self.render())
        except Crowded:
            raise web.HTTPServiceUnavailable(text="too many requests for this page; try again") from None

    async def _send(self, request: web.Request, page: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE_LATEST, "Content-Length": str(len(page))})
        await response.prepare(request)
        if request.method != "HEAD":
            view = memoryview(page)
            for start in range(0, len(page), PIECE_BYTES):
                await response.write(view[start : start + PIECE_BYTES])
        await response.write_eof()
        return response
