"""HTTP connection of one client: records its progress in its seat, and answers malformed requests with a bare
status.
"""

import asyncio
import logging
from http import HTTPStatus
from typing import Any, cast

from aiohttp import web

from keda_py.serving.ports.port import LimitedPort, certificate_of
from keda_py.serving.ports.table import Seat

log = logging.getLogger(__name__)

LINE_BYTES, FIELD_BYTES = 8190, 8190


class Connection(web.RequestHandler):
    """HTTP connection with its `seat` and the client's `certificate` (DER), if any."""

    __slots__ = ("_port", "_wire", "certificate", "seat")

    def __init__(self, server: web.Server, seat: Seat, port: LimitedPort) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=port.limits.idle,
            access_log=cast(Any, None),
            logger=cast(Any, _WIRE),
            lingering_time=1.0,
            max_line_size=LINE_BYTES,
            max_field_size=FIELD_BYTES,
            auto_decompress=False,  # a compressed body could expand beyond every bound
        )
        self.seat, self._port = seat, port
        self.certificate: bytes | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Record the certificate, and take the seat."""
        self.certificate = certificate_of(transport)
        self._wire = cast(asyncio.Transport, transport)  # uvloop's transport does not inherit from asyncio's
        self._port.enter(self.seat, self._wire)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Free the seat."""
        self._port.depart(self.seat, self._wire)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Start timing a request at its first byte."""
        if data and self.seat.reading_since is None:  # aiohttp passes b"" to continue with buffered data
            self.seat.reading_since = asyncio.get_running_loop().time()
        super().data_received(data)

    def begin_answer(self) -> None:
        """Switch the seat to answering; the body may still be arriving."""
        self.seat.answering_since, self.seat.reading_since = asyncio.get_running_loop().time(), None

    def end_answer(self, *, had_body: bool) -> None:
        """Switch the seat to idle, or leave it reading if a pipelined request has begun meanwhile."""
        self.seat.answering_since, self.seat.idle_since = None, asyncio.get_running_loop().time()
        if had_body:
            self.seat.reading_since = None

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer a malformed request or an uncaught error with nothing but the status."""
        if status == HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(exc, ConnectionError):
            log.error("request failed", exc_info=exc)
        else:
            log.debug("request ended early", extra={"status": status, "error": message or ""})
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun; all that is left is to close")
        response = BareResponse(status=status, text=HTTPStatus(status).phrase)
        response.force_close()
        return response


class BareResponse(web.Response):
    """Response for use without an application, whose signals would remove aiohttp's Server header."""

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        hide_software(self)


def hide_software(response: web.StreamResponse) -> None:
    """Remove the Server header, which would tell clients the versions of Python and aiohttp."""
    response.headers.popall("Server", None)


class _Wire(logging.LoggerAdapter[logging.Logger]):
    """Logger for aiohttp that demotes malformed requests to DEBUG: any client can send them."""

    def exception(self, msg: object, *args: object, **more: Any) -> None:
        self.debug("malformed request", **more)


_WIRE = _Wire(log, {})
