"""/healthz and /readyz for the kubelet: alive is who answers, ready is who has synced and is not leaving."""

from collections.abc import Callable

from aiohttp import web


def probe_app(ready: Callable[[], bool]) -> web.Application:
    """The probe endpoints; `ready` is asked at each request."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def readyz(_: web.Request) -> web.Response:
        return web.Response(text="ok") if ready() else web.Response(status=503, text="not ready")

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    return app
