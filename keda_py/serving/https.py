"""HTTP server with limits, TLS or plain: every port of the process uses it.

Handshake, request and answer have a time limit each; a slower client is disconnected, and a full port drops connections
by `ports/table.py`, so that no number of slow clients keeps the others waiting. Idle connections live longer than those
of Go's clients (90 s), so that the client closes first: a server that closes an idle connection may lose a request that
is already on its way. Pipelined requests are answered one after the other, in order (aiohttp does that). Connections
are accepted a few at a time, so that a flood of them leaves the loop free for others.
"""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from aiohttp import web

from keda_py.serving.ports.connection import BUFFER_BYTES, BareResponse, Connection, SharedBufferProtocol, hide_software
from keda_py.serving.ports.listening import descriptors, listen
from keda_py.serving.ports.table import PortLimits, Seat, Table

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Answering = Callable[[web.BaseRequest], Awaitable[BareResponse]]

RequestT = TypeVar("RequestT", bound=web.BaseRequest)
ResponseT = TypeVar("ResponseT", bound=web.StreamResponse)

SWEEP_SECONDS = 1.0
GRACE_SECONDS = 2.0
ACCEPTED_AT_ONCE = 16
PAUSE_SECONDS = 0.1
"""Wait after an accept that failed for lack of descriptors or memory."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class LimitedServer:
    """Server of one application, which itself bounds only bodies (`client_max_size`) and answers.

    `app` may also be one function that answers everything with a `BareResponse`: aiohttp's routing and signals cost
    20 us a request.
    """

    def __init__(self, app: web.Application | Answering, limits: PortLimits | None = None) -> None:
        self._limits = limits or PortLimits()
        # A quarter of the descriptors at most: the API server's and sources' connections need the rest.
        self._table = Table(min(self._limits.connections, descriptors() // 4))
        self._app = app
        self._runner: web.BaseRunner | None = None
        self._tls: ssl.SSLContext | None = None
        # One buffer for all TLS connections; see `SharedBufferProtocol`.
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._listeners: Sequence[socket.socket] = ()
        self._opening: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self._wires: set[asyncio.Transport] = set()
        self._leaving = False
        self.on_first_client: Callable[[], object] = _do_nothing
        """Called with each connection that is the only one."""

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen and return the port, which matters if `port` was 0. Host "" is every interface. Raises OSError."""
        listeners = await listen(host, port)
        await self.serve(listeners, tls)
        return int(listeners[0].getsockname()[1])

    async def serve(self, listeners: Sequence[socket.socket], tls: ssl.SSLContext | None) -> None:
        """Accept connections on listening sockets, TLS or plain; the server closes them when it ends."""
        self._listeners, self._tls = listeners, tls
        self._runner = self._run()
        await self._runner.setup()
        for listener in listeners:
            self._listen(listener)

    def _run(self) -> web.BaseRunner:
        """Make the aiohttp runner, which belongs to the running event loop."""
        app = self._app
        if not isinstance(app, web.Application):
            server = web.Server(partial(self._answer, handler=app))
            return web.ServerRunner(server, handle_signals=False, shutdown_timeout=GRACE_SECONDS)
        app.middlewares.insert(0, self._answer)
        app.on_response_prepare.append(_hide_software)
        return web.AppRunner(app, handle_signals=False, shutdown_timeout=GRACE_SECONDS)

    def leave(self) -> None:
        """Close each connection after its next answer, so that clients with keep-alive move to another server."""
        self._leaving = True

    def stop_listening(self) -> None:
        """Accept no more connections, from this very moment on; those that are open are served."""
        for listener in self._listeners:
            asyncio.get_running_loop().remove_reader(listener)
            listener.close()
        self._listeners = ()

    async def aclose(self) -> None:
        """Stop listening, answer requests under way within the grace period, then close every connection."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        self.stop_listening()
        for opening in tuple(self._opening):
            opening.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
        for wire in tuple(self._wires):  # a graceful TLS close waits for the client, which may never answer
            wire.abort()
        # One turn of the loop, in which the aborted connections report `connection_lost`.
        await asyncio.sleep(0)

    @property
    def connections(self) -> int:
        """Return how many connections are open, handshakes included."""
        return len(self._table)

    def _listen(self, listener: socket.socket) -> None:
        if listener in self._listeners:  # it may have been closed during the pause
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        """Accept up to ACCEPTED_AT_ONCE waiting connections."""
        loop = asyncio.get_running_loop()
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                wire, address = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    continue  # the client has disconnected already; the errno differs by system
                # Without a pause the loop would spin: the listener stays readable while no descriptor is free.
                self._table.make_room()
                loop.remove_reader(listener)
                loop.call_later(PAUSE_SECONDS, self._listen, listener)
                return
            wire.setblocking(False)
            self._welcome(wire, Seat(str(address[0]), loop.time()))

    def _welcome(self, wire: socket.socket, seat: Seat) -> None:
        if not self._table.take(seat):
            wire.close()
            return
        if self._sweeping is None:
            self._sweep()
        if self.connections == 1:
            self.on_first_client()
        opening = asyncio.get_running_loop().create_task(self._open(wire, seat))
        seat.drop = opening.cancel
        self._opening.add(opening)
        opening.add_done_callback(partial(self._opened, wire, seat))

    async def _open(self, wire: socket.socket, seat: Seat) -> None:
        """Run the TLS handshake, if there is one, and hand the connection to its protocol."""
        limits = {"ssl_handshake_timeout": self._limits.handshake, "ssl_shutdown_timeout": GRACE_SECONDS}
        await asyncio.get_running_loop().connect_accepted_socket(
            partial(self._connect, seat), wire, ssl=self._tls, **(limits if self._tls is not None else {})
        )

    def _opened(self, wire: socket.socket, seat: Seat, opening: asyncio.Task[None]) -> None:
        self._opening.discard(opening)
        error = None if opening.cancelled() else opening.exception()
        if error is not None and not isinstance(error, OSError):
            log.error("connection could not be opened", exc_info=error)
        if error is not None or opening.cancelled():
            self._table.leave(seat)
            wire.close()

    def _connect(self, seat: Seat) -> asyncio.BaseProtocol:
        assert self._runner is not None
        assert self._runner.server is not None
        connection = Connection(self._runner.server, seat, self._table, self._wires, self._limits.idle)
        return SharedBufferProtocol(connection, self._buffer) if self._tls is not None else connection

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
        if self._leaving:
            response.force_close()
        return response

    def _sweep(self) -> None:
        """Disconnect slow clients, once a second while there are connections."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for seat in [seat for seat in self._table if seat.is_too_slow(self._limits, GRACE_SECONDS, now)]:
            log.debug("slow client cut off", extra={"peer": seat.address})
            seat.drop()
        self._sweeping = loop.call_later(SWEEP_SECONDS, self._sweep) if len(self._table) else None


def _do_nothing() -> None:
    pass


async def _hide_software(request: web.Request, response: web.StreamResponse) -> None:
    hide_software(response)
