"""HTTP server over aiohttp, TLS or plain: every port of the process uses it, but for the webhook's.

The limits are those of `ports/port.py`. Pipelined requests are answered one after the other, in order (aiohttp does
that).
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from aiohttp import web

from keda_py.serving.ports.connection import BareResponse, Connection, hide_software
from keda_py.serving.ports.port import GRACE_SECONDS, LimitedPort
from keda_py.serving.ports.table import PortLimits, Seat

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Answering = Callable[[web.BaseRequest], Awaitable[BareResponse]]
Connecting = Callable[[web.Server, Seat, LimitedPort], Connection]

RequestT = TypeVar("RequestT", bound=web.BaseRequest)
ResponseT = TypeVar("ResponseT", bound=web.StreamResponse)


class LimitedServer(LimitedPort):
    """Server of one application, which itself bounds only bodies (`client_max_size`) and answers.

    `app` may also be one function that answers everything with a `BareResponse`: aiohttp's routing and signals cost
    20 us a request.
    """

    def __init__(
        self, app: web.Application | Answering, limits: PortLimits | None = None, connection: Connecting = Connection
    ) -> None:
        super().__init__(limits)
        self._app, self._connection = app, connection
        self._runner: web.BaseRunner | None = None

    async def serve(self, listeners: Sequence[socket.socket], tls: ssl.SSLContext | None) -> None:
        """Accept connections on listening sockets, TLS or plain; the server closes them when it ends."""
        self._runner = self._run()
        await self._runner.setup()
        await super().serve(listeners, tls)

    def _run(self) -> web.BaseRunner:
        """Make the aiohttp runner, which belongs to the running event loop."""
        app = self._app
        if not isinstance(app, web.Application):
            server = web.Server(partial(self._answer, handler=app))
            return web.ServerRunner(server, handle_signals=False, shutdown_timeout=GRACE_SECONDS)
        app.middlewares.insert(0, self._answer)
        app.on_response_prepare.append(_hide_software)
        return web.AppRunner(app, handle_signals=False, shutdown_timeout=GRACE_SECONDS)

    def connect(self, seat: Seat) -> asyncio.Protocol:
        """Make aiohttp's protocol of a connection."""
        assert self._runner is not None
        assert self._runner.server is not None
        return self._connection(self._runner.server, seat, self)

    async def finish(self) -> None:
        """Answer the requests under way."""
        if self._runner is not None:
            await self._runner.cleanup()

    @web.middleware
    async def _answer(self, request: RequestT, handler: Callable[[RequestT], Awaitable[ResponseT]]) -> ResponseT:
        """Tell the connection when an answer begins and ends; mark it as the last one after `leave`."""
        connection = request.protocol
        if isinstance(connection, Connection):
            connection.begin_answer()
        try:
            response = await handler(request)
        finally:
            if isinstance(connection, Connection):
                connection.end_answer(had_body=request.body_exists)
        if self.is_leaving:
            response.force_close()
        return response


async def _hide_software(request: web.Request, response: web.StreamResponse) -> None:
    hide_software(response)
