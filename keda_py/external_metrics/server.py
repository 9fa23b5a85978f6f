"""external.metrics.k8s.io/v1beta1 over TLS: where the HPA controller asks.

Requests come through the API server's aggregation layer. A question goes to `external_metrics.py`; all else is a static
document (`external_metrics/discovery.py`) or a probe. Every refusal is a Kubernetes Status. Who may ask is decided by
an `Authenticator`. Behaviour reference, section 7.1.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

import orjson
from aiohttp import web

from keda_py.external_metrics.discovery import DOCUMENTS, ROOT, document_for
from keda_py.external_metrics.question import ExternalMetrics
from keda_py.serving.https import Handler, LimitedServer
from keda_py.serving.statuses import StatusError, internal_error, method_not_allowed, not_found, timed_out

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 64 * 1024
"""Questions have no body."""

ANSWER_SECONDS = 10.0
"""An HPA sync waits this long at most; a trigger's own time-out is 3 s."""

_PROBES = ("/healthz", "/livez", "/readyz")


class Authenticator(Protocol):
    """Decides who may ask. Probes are open to all."""

    async def check(self, request: web.Request) -> None:
        """Return if the request may be answered. Raises StatusError 401 or 403."""
        ...


class Relay(Protocol):
    """May know a better answer than ours."""

    async def ask(self, request: web.Request) -> web.StreamResponse | None:
        """The answer; None: it is for us to answer."""
        ...


class MetricsServer:
    """The HTTPS server. `not_ready` says why /readyz fails, "" while it does not; `more` answers at further paths.

    `relays` are asked in their order before we answer by ourselves.
    """

    def __init__(
        self,
        *,
        metrics: ExternalMetrics,
        authenticator: Authenticator,
        not_ready: Callable[[], str],
        more: Mapping[str, Handler] = MappingProxyType({}),
        relays: Sequence[Relay] = (),
    ) -> None:
        self._metrics = metrics
        self._authenticator, self._not_ready, self._more = authenticator, not_ready, more
        self._relays = tuple(relays)
        self._server = LimitedServer(self._build_app())

    async def start(self, host: str, port: int, tls: ssl.SSLContext) -> int:
        """Listen; the port, which matters where `port` was 0. Raises OSError when the address is taken."""
        return await self._server.start(host, port, tls)

    def leave(self) -> None:
        """Go on answering, but let clients know that they have to connect elsewhere."""
        self._server.leave()

    async def aclose(self) -> None:
        """Answer what is on its way for up to two seconds, then close."""
        await self._server.aclose()

    def _build_app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=MAX_BODY_BYTES)
        for path in _PROBES:
            app.router.add_get(path, self._probe)
        for path in DOCUMENTS:
            app.router.add_get(path, _document)
        app.router.add_get("/", _paths)
        app.router.add_get(f"{ROOT}/namespaces/{{namespace}}/{{metric}}", self._metrics.answer)
        for path, handler in self._more.items():
            app.router.add_get(path, handler)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if request.path not in _PROBES:
                    await self._authenticator.check(request)
                    for relay in self._relays:
                        if (answer := await relay.ask(request)) is not None:
                            return answer
                return await handler(request)
        except StatusError as error:
            return _refusal(error)
        except web.HTTPMethodNotAllowed:
            return _refusal(method_not_allowed())
        except web.HTTPNotFound:
            return _refusal(not_found())
        except TimeoutError:
            return _refusal(timed_out(f"no answer within {ANSWER_SECONDS:g} s"))
        except Exception:  # a request must not end without a Status
            log.exception("request failed", extra={"path": request.path})
            return _refusal(internal_error("internal error; the log tells more"))

    async def _probe(self, request: web.Request) -> web.Response:
        reason = self._not_ready() if request.path == "/readyz" else ""
        return web.Response(text=reason, status=500) if reason else web.Response(text="ok")


async def _document(request: web.Request) -> web.Response:
    document = document_for(request.path, request.headers.get("Accept", ""))
    headers = {"ETag": f'"{document.etag}"', "Vary": "Accept"}
    if document.etag in request.headers.get("If-None-Match", ""):
        return web.Response(status=304, headers=headers)
    return web.Response(body=document.body, headers={**headers, "Content-Type": document.content_type})


async def _paths(request: web.Request) -> web.Response:
    return _json(orjson.dumps({"paths": [*DOCUMENTS, *_PROBES]}))


def _refusal(error: StatusError) -> web.Response:
    return _json(orjson.dumps(error.body()), status=error.code)


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")
