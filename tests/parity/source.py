"""A number behind HTTP that a test sets, and the trigger that reads it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from keda_py.clock import Clock
from keda_py.kube.resources import Obj


class Source:
    """`value` None: the source answers 500."""

    def __init__(self) -> None:
        self.value: float | None = 0
        self.port = 0

    def trigger(self, target: float = 5, **more: Any) -> Obj:
        """A metrics-api trigger on this source."""
        metadata = {
            "url": f"http://127.0.0.1:{self.port}/value",
            "valueLocation": "value",
            "targetValue": f"{target:g}",
        }
        return {"type": "metrics-api", "metadata": metadata, **more}


@asynccontextmanager
async def a_source(clock: Clock) -> AsyncIterator[Source]:
    source = Source()

    async def answer(_: web.Request) -> web.Response:
        with clock.busy():
            if source.value is None:
                return web.Response(status=500)
            return web.json_response({"value": source.value})

    app = web.Application()
    app.router.add_get("/value", answer)
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        source.port = runner.addresses[0][1]
        yield source
    finally:
        await runner.cleanup()
