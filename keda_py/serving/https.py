"""An HTTPS port with limits: the metrics server and the admission webhook listen with it.

Handshake, request and answer each have their time; a client that is slower is cut off, so that no number of slow ones
keeps the others waiting. Idle connections live longer than those of Go's clients (90 s), so that it is the client who
closes. Pipelined requests are answered one after the other, in order (aiohttp does that).
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from aiohttp import web

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

SWEEP_SECONDS = 1.0
GRACE_SECONDS = 2.0
LINE_BYTES, FIELD_BYTES = 8190, 8190
BACKLOG = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one client may take; times in seconds."""

    handshake: float = 10.0
    request: float = 15.0
    """From the first byte of a request until it is handed over (its body may still be coming), or its turn comes."""
    answer: float = 30.0
    """A backstop: applications bound their answers by themselves, and sooner."""
    idle: float = 300.0
    connections: int = 2000


class Connection(web.RequestHandler):
    """Knows since when it has been waiting for what, and which `certificate` (DER) the client has shown, if any."""

    __slots__ = ("_limits", "_wire", "_wires", "answering_since", "certificate", "idle_since", "reading_since")

    def __init__(self, server: web.Server, limits: Limits, wires: set[asyncio.Transport], **more: Any) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(server, loop=loop, keepalive_timeout=limits.idle, **more)
        self._limits, self._wires = limits, wires
        self.reading_since: float | None = loop.time()  # the first request must come as fast as any other
        self.answering_since: float | None = None
        self.idle_since = loop.time()
        self.certificate: bytes | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake is done; it stays the only one of this connection."""
        tls = transport.get_extra_info("ssl_object")
        self.certificate = tls.getpeercert(binary_form=True) if isinstance(tls, ssl.SSLObject) else None
        self._wire = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        self._wires.add(self._wire)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Both sides have closed, or one is gone."""
        self._wires.discard(self._wire)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        if data and self.reading_since is None:  # aiohttp also comes here to read on in what it has
            self.reading_since = asyncio.get_running_loop().time()
        super().data_received(data)

    def is_too_slow(self, now: float) -> bool:
        """Whether it has used up its time, on the loop's clock."""
        if self.answering_since is not None:
            return now - self.answering_since > self._limits.answer
        if self.reading_since is not None:
            return now - self.reading_since > self._limits.request
        return now - self.idle_since > self._limits.idle


class HttpsServer:
    """Serves one application. `app` needs no limits of its own but for bodies (`client_max_size`) and answers."""

    def __init__(self, app: web.Application, limits: Limits | None = None) -> None:
        app.middlewares[:0] = [self._say_goodbye, _note_times]
        app.on_response_prepare.append(_hide_software)
        self._limits = limits or Limits()
        self._runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=GRACE_SECONDS)
        self._listener: asyncio.Server | None = None
        self._sweeping: asyncio.TimerHandle | None = None
        self._wires: set[asyncio.Transport] = set()
        self._leaving = False

    async def start(self, host: str, port: int, tls: ssl.SSLContext) -> int:
        """Listen; the port, which matters where `port` was 0. Host "" is every interface. Raises OSError."""
        await self._runner.setup()
        self._listener = await asyncio.get_running_loop().create_server(
            self._connect,
            host or None,
            port,
            ssl=tls,
            ssl_handshake_timeout=self._limits.handshake,
            ssl_shutdown_timeout=GRACE_SECONDS,
            backlog=BACKLOG,
        )
        self._sweep()
        return int(self._listener.sockets[0].getsockname()[1])

    def leave(self) -> None:
        """Every connection's next answer is its last: clients that go on asking find another server by themselves."""
        self._leaving = True

    async def aclose(self) -> None:
        """Listen no more, answer what is on its way within the grace, then close every connection."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._listener is not None:
            self._listener.close()
        await self._runner.cleanup()
        for wire in tuple(self._wires):  # a TLS connection ends with a word from the other side, which may never come
            wire.abort()
        await asyncio.sleep(0)

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._open())

    def _connect(self) -> Connection:
        assert self._runner.server is not None
        return Connection(
            self._runner.server,
            self._limits,
            self._wires,
            access_log=None,
            logger=_WIRE,
            lingering_time=1.0,
            max_line_size=LINE_BYTES,
            max_field_size=FIELD_BYTES,
        )

    def _open(self) -> list[Connection]:
        server = self._runner.server
        return [one for one in server.connections if isinstance(one, Connection)] if server is not None else []

    @web.middleware
    async def _say_goodbye(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if self._leaving:
            response.force_close()
        return response

    def _sweep(self) -> None:
        """Cut off who is too slow; above the limit of connections also who has been idle longest."""
        loop = asyncio.get_running_loop()
        now, kept = loop.time(), list[Connection]()
        for one in self._open():
            if one.is_too_slow(now):
                log.debug("slow client cut off", extra={"peer": str(one.peername)})
                one.force_close()
            elif one.answering_since is None:
                kept.append(one)
        for one in sorted(kept, key=lambda one: one.idle_since)[: max(0, len(kept) - self._limits.connections)]:
            one.force_close()
        self._sweeping = loop.call_later(SWEEP_SECONDS, self._sweep)


@web.middleware
async def _note_times(request: web.Request, handler: Handler) -> web.StreamResponse:
    connection = request.protocol
    if not isinstance(connection, Connection):
        return await handler(request)
    loop = asyncio.get_running_loop()
    connection.answering_since, connection.reading_since = loop.time(), None
    try:
        return await handler(request)
    finally:
        connection.answering_since, connection.idle_since = None, loop.time()
        if request.body_exists:  # what came meanwhile was its body, not the beginning of the next request
            connection.reading_since = None


async def _hide_software(request: web.Request, response: web.StreamResponse) -> None:
    """Versions of Python and aiohttp are nobody's business."""
    response.headers.popall("Server", None)


class _Wire(logging.LoggerAdapter[logging.Logger]):
    """aiohttp tells malformed requests as errors; anybody can send those, and they are not ours."""

    def exception(self, msg: object, *args: object, **more: Any) -> None:
        self.debug("malformed request", **more)


_WIRE = _Wire(log, {})
