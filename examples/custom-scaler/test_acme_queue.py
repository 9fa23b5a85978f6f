"""The scaler and a server of the test's own: no cluster and no operator. `pytest examples/custom-scaler`."""

import asyncio

from acme_queue.scaler import AcmeQueueMetadata, AcmeQueueScaler
from aiohttp import web
from aiohttp.test_utils import TestServer

from keda_py.testing import EngineContext, Trigger, as_secrets, check_scaler, shared_context


async def read_of(waiting: int) -> float:
    """What the scaler makes of an answer."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response(
            {"waiting": waiting if request.headers["Authorization"] == "Bearer opensesame" else None}
        )

    app = web.Application()
    app.router.add_get("/queues/jobs", answer)
    async with TestServer(app) as server, shared_context() as lent:
        metadata = {"url": str(server.make_url("")), "queue": "jobs"}
        trigger = Trigger(type="acme-queue", metadata=metadata, auth=as_secrets({"token": "opensesame"}))
        context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
        await check_scaler(AcmeQueueScaler, trigger, context)
        scaler = AcmeQueueScaler(AcmeQueueMetadata.parse(trigger.metadata, trigger.env, trigger.auth), context)
        return (await scaler.read()).value


def test_the_jobs_that_wait_are_counted() -> None:
    """The value is the server's count."""
    assert asyncio.run(read_of(12)) == 12
