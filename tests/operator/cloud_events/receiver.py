"""A CloudEvents receiver on a path of a real HTTP server, and events to send to it."""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aiohttp import web

from keda_py.core.cloud_events import CloudEvent
from tests.http_server import HttpServer

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@dataclass
class Receiver:
    """`got` are headers and data of the events that were taken; `status` is answered to whatever comes."""

    server: HttpServer
    path: str = "/events"
    status: int = 204
    statuses: list[int] = field(default_factory=list)
    """Answered first, one each."""
    got: list[tuple[dict[str, str], dict[str, str]]] = field(default_factory=list)
    asked: int = 0
    open: asyncio.Event = field(default_factory=asyncio.Event)
    """Not set: nobody is answered."""

    def __post_init__(self) -> None:
        self.open.set()
        self.server.answers[self.path] = self._answer

    @property
    def url(self) -> str:
        return f"{self.server.url}{self.path}"

    @property
    def types(self) -> list[str]:
        return [headers["ce-type"] for headers, _ in self.got]

    @property
    def ids(self) -> list[str]:
        return [headers["ce-id"] for headers, _ in self.got]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        body = await request.read()
        await self.open.wait()
        status = self.statuses.pop(0) if self.statuses else self.status
        if status < 300:
            headers = {name.lower(): value for name, value in request.headers.items()}
            self.got.append((headers, json.loads(body)))
        return web.Response(status=status)


def event(number: int = 0, name: str = "orders") -> CloudEvent:
    return CloudEvent(
        id=str(number),
        type="keda.scaledobject.ready.v1",
        time=NOON,
        kind="ScaledObject",
        namespace="shop",
        name=name,
        reason="ScaledObjectReady",
        message="ScaledObject is ready for scaling",
    )
