"""An admission webhook behind TLS that answers as a test wants, and records its requests."""

import asyncio
import base64
import ssl
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web

from keda_py.localkube.access.certificates import Authority
from keda_py.localkube.access.identity import load_pair

Obj = dict[str, Any]
NAME = "vet.example.com"


class Webhook:
    """A webhook that serves while its context is entered; `verdict` is merged into each response, `hangs` never
    answers, `leaves` breaks the connection of the next request.
    """

    def __init__(self, authority: Authority, *names: str) -> None:
        self._authority, self._names = authority, names or ("localhost",)
        self.asked: list[Obj] = []
        self.connections: set[tuple[str, int]] = set()
        """The addresses that clients asked from."""
        self.verdict: Obj = {"allowed": True}
        self.hangs = self.leaves = False
        self.port = 0

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/vet", self._review)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        load_pair(context, self._authority.server(self._names, []))
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    def configuration(self, **changes: Any) -> Obj:
        """Build a ValidatingWebhookConfiguration for every change of ScaledObjects."""
        rule = {
            "apiGroups": ["keda.sh"],
            "apiVersions": ["*"],
            "resources": ["scaledobjects"],
            "operations": ["CREATE", "UPDATE", "DELETE"],
        }
        client = {"url": f"https://localhost:{self.port}/vet", "caBundle": self.bundle}
        webhook = {
            "name": NAME,
            "rules": [rule],
            "clientConfig": client,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **changes,
        }
        return {"metadata": {"name": "vet"}, "webhooks": [webhook]}

    @property
    def bundle(self) -> str:
        return base64.b64encode(self._authority.certificate).decode()

    async def _review(self, request: web.Request) -> web.Response:
        question = orjson.loads(await request.read())["request"]
        self.asked.append(question)
        assert request.transport is not None
        self.connections.add(request.transport.get_extra_info("peername")[:2])
        if self.leaves:
            self.leaves = False
            request.transport.abort()
        if self.hangs:
            await asyncio.get_running_loop().create_future()
        response = {"uid": question["uid"], **self.verdict}
        review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
        return web.Response(body=orjson.dumps(review), content_type="application/json")
