"""Somebody who writes to a workload in the very moment in which the operator's scale is on its way.

An admission webhook is asked after a request has come and before it is stored: whoever writes then, writes first.
"""

import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import orjson
from aiohttp import web

from keda_py.clock import SystemClock
from keda_py.kube.resources import VALIDATING_WEBHOOK_CONFIGURATIONS, Obj
from keda_py.localkube.access.certificates import Authority
from keda_py.localkube.access.identity import load_pair
from tests.worlds.world import World

Meddling = Callable[[], Awaitable[None]]


@asynccontextmanager
async def meddling(world: World, *turns: Meddling) -> AsyncIterator[list[int]]:
    """At each scale of a Deployment the next of `turns` is taken; the counts that the operator asked for."""
    left, asked = list(turns), list[int]()

    async def review(request: web.Request) -> web.Response:
        question = orjson.loads(await request.read())["request"]
        asked.append(question["object"]["spec"].get("replicas", 0))
        if left:
            await left.pop(0)()
        answer = {"uid": question["uid"], "allowed": True}
        review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": answer}
        return web.Response(body=orjson.dumps(review), content_type="application/json")

    authority = Authority("meddler", SystemClock().now())
    app = web.Application()
    app.router.add_post("/", review)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_pair(tls, authority.server(["localhost"], []))
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    await world.client.create(VALIDATING_WEBHOOK_CONFIGURATIONS, _configuration(runner.addresses[0][1], authority))
    try:
        yield asked
    finally:
        await world.client.delete(VALIDATING_WEBHOOK_CONFIGURATIONS.named("", "meddler"))
        await runner.cleanup()


def _configuration(port: int, authority: Authority) -> Obj:
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["*"],
        "resources": ["deployments/scale"],
        "operations": ["UPDATE"],
    }
    ca = base64.b64encode(authority.certificate).decode()
    webhook = {
        "name": "meddler.example.com",
        "rules": [rule],
        "clientConfig": {"url": f"https://localhost:{port}/", "caBundle": ca},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    return {**kind, "metadata": {"name": "meddler"}, "webhooks": [webhook]}
