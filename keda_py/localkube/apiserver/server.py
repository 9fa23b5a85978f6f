"""The HTTPS server: connections, authentication and logs; `routes.py` serves the requests.

Callers may use client certificates or tokens; those with neither are `system:anonymous`. Virtual time stands still
while a request is handled; an open watch does not stop it.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from typing import Protocol

from aiohttp import web

from keda_py.clock import Clock
from keda_py.localkube.model.calls import ApiAnswer, Call, User, refusal
from keda_py.schema.status import StatusError, internal, too_large

_log = logging.getLogger(__name__)

MAX_BODY = 3 * 1024 * 1024
# Seconds after which a watcher that does not read is cut off: its undelivered events stop virtual time.
STALLED_SECONDS = 5.0


class Authenticator(Protocol):
    """Authenticates requests."""

    def user_of(self, certificate: bytes | None, headers: dict[str, str]) -> User:
        """The caller. Raises StatusError 401 for wrong credentials."""
        ...


class ApiServer:
    """Serves `answer` on one port."""

    def __init__(
        self,
        answer: Callable[[Call], Awaitable[ApiAnswer]],
        authenticator: Authenticator,
        clock: Clock,
        context: ssl.SSLContext | None,
    ) -> None:
        self._answer, self._authenticator = answer, authenticator
        self._clock, self._context = clock, context
        self._runner: web.AppRunner | None = None
        self.host, self.port = "", 0

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen on host and port; 0 takes a free port."""
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_route("*", "/{path:.*}", self._serve)
        # A client that hangs up cancels its request: an abandoned watch would hold virtual time until its time-out.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, ssl_context=self._context, backlog=1024)
        await site.start()
        self.host, self.port = host, self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close every connection."""
        if self._runner is None:
            return
        server = self._runner.server
        transports = [connection.transport for connection in server.connections] if server is not None else []
        await self._runner.cleanup()
        self._runner = None
        # A TLS connection closes with an answer of its peer, which may never come: abort those that are left.
        for transport in filter(None, transports):
            transport.abort()
        await asyncio.sleep(0)

    @property
    def url(self) -> str:
        return f"http{'s' if self._context else ''}://{self.host}:{self.port}"

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        with self._clock.busy():
            answer = await self._answered(request)
        if answer.stream is None:
            return web.Response(
                body=answer.encode(),
                status=answer.status,
                headers={**answer.headers, "Content-Type": answer.content_type},
            )
        return await _streamed(request, answer)

    async def _answered(self, request: web.Request) -> ApiAnswer:
        headers = {name.lower(): ",".join(request.headers.getall(name)) for name in request.headers}
        try:
            user = self._authenticator.user_of(_certificate(request), headers)
            call = Call(
                method=request.method,
                path=request.path,
                query=dict(request.query),
                headers=headers,
                body=await request.read() if request.body_exists else b"",
                user=user,
            )
            return await self._answer(call)
        except StatusError as error:
            return refusal(error)
        except web.HTTPRequestEntityTooLarge:
            return refusal(too_large(MAX_BODY))
        except (web.HTTPException, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - one broken request must not take the connection down silently
            _log.exception("request failed", extra={"method": request.method, "path": request.path})
            return refusal(internal(f"{type(error).__name__}: {error}"))


async def _streamed(request: web.Request, answer: ApiAnswer) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
    lines = answer.stream
    assert lines is not None
    try:
        await response.prepare(request)
        async for chunk in lines:
            async with asyncio.timeout(STALLED_SECONDS):
                await response.write(chunk)
        await response.write_eof()
    except (ConnectionError, TimeoutError):
        if request.transport is not None:
            request.transport.abort()
    finally:
        await lines.aclose()
    return response


def _certificate(request: web.Request) -> bytes | None:
    """The client certificate that the handshake has verified, DER."""
    transport = request.transport
    ssl_object = transport.get_extra_info("ssl_object") if transport is not None else None
    certificate: bytes | None = ssl_object.getpeercert(True) if ssl_object is not None else None
    return certificate
