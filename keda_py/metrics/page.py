"""The text page on --metrics-bind-address.

Rendering 2000 series costs 27 ms, so a scrape is rendered in a thread, at most ten times a second.
"""

import asyncio

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from keda_py.metrics.prometheus import OperatorMetrics

RENDER_SECONDS = 0.1
"""A rendered page serves everybody who asks within this time."""


class MetricsPage:
    """What `/metrics` answers."""

    def __init__(self, metrics: OperatorMetrics) -> None:
        self._metrics = metrics
        self._page, self._rendered_at = b"", float("-inf")
        self._rendering = asyncio.Lock()

    async def render(self) -> bytes:
        """The page, at most a tenth of a second old; rendered off the loop."""
        async with self._rendering:
            now = asyncio.get_running_loop().time()
            if now - self._rendered_at >= RENDER_SECONDS:
                self._metrics.process.sample()
                self._page = await asyncio.to_thread(generate_latest, self._metrics.registry)
                self._rendered_at = now
            return self._page

    async def answer(self, request: web.Request) -> web.Response:
        """For `app.router.add_get("/metrics", page.answer)`."""
        return web.Response(body=await self.render(), headers={"Content-Type": CONTENT_TYPE_LATEST})
