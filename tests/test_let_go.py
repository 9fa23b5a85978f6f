"""What a test has served with ends with the test: `conftest.py` sees to it."""

import gc
import weakref

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

served: list[weakref.ref[web.Application]] = []


@web.middleware
async def unchanged(request, handler):
    return await handler(request)


async def hello(_request):
    return web.Response(text="hello")


async def test_a_server_with_a_middleware_is_asked() -> None:
    app = web.Application(middlewares=[unchanged])
    app.router.add_get("/", hello)
    served.append(weakref.ref(app))
    async with TestClient(TestServer(app)) as client, client.get("/") as answer:
        assert await answer.text() == "hello"


def test_nothing_holds_it_any_more() -> None:
    gc.collect()
    assert [one() for one in served] == [None]
