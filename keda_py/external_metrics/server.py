"""external.metrics.k8s.io/v1beta1 over TLS: where the HPA controller asks.

Requests come through the API server's aggregation layer. `_answer` is the way of every question, one stage after the
other with a value between each two: what is asked, who asks, whether they may, who answers, the answer. No stage sees a
`web.Request`, and every refusal is a Kubernetes Status. Behaviour reference, section 7.1.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import orjson
from aiohttp import web

from keda_py.external_metrics.discovery import PROBES
from keda_py.external_metrics.question import JSON, Answer, Question, question_of
from keda_py.external_metrics.routing import Route
from keda_py.serving.asked import Asked, read_request
from keda_py.serving.caller import Caller
from keda_py.serving.https import LimitedServer
from keda_py.serving.ports.connection import BareResponse
from keda_py.serving.statuses import StatusError, internal_error, method_not_allowed, timed_out

log = logging.getLogger(__name__)

ANSWER_SECONDS = 10.0
"""An HPA sync waits this long at most; a trigger's own time-out is 3 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What a question passes through; each raises StatusError where it ends there.

    `routes` says which of `answers` are asked, in which order, until one is not None.
    """

    authenticate: Callable[[Asked], Awaitable[Caller]]
    authorise: Callable[[Caller, Asked], Awaitable[None]]
    routes: Callable[[Question], tuple[Route, ...]]
    answers: Mapping[Route, Callable[[Question], Awaitable[Answer | None]]]


class MetricsServer:
    """The HTTPS server. `not_ready` says why /readyz fails, "" while it does not."""

    def __init__(self, stages: Stages, not_ready: Callable[[], str]) -> None:
        self._stages, self._not_ready = stages, not_ready
        self._server = LimitedServer(self._guard)

    async def start(self, host: str, port: int, tls: ssl.SSLContext) -> int:
        """Listen; the port, which matters where `port` was 0. Raises OSError when the address is taken."""
        return await self._server.start(host, port, tls)

    def leave(self) -> None:
        """Go on answering, but let clients know that they have to connect elsewhere."""
        self._server.leave()

    async def aclose(self) -> None:
        """Answer what is on its way for up to two seconds, then close."""
        await self._server.aclose()

    async def _guard(self, request: web.BaseRequest) -> BareResponse:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = self._probe(request) if request.path in PROBES else await self._answer(request)
        except StatusError as error:
            answer = _refusal(error)
        except TimeoutError:
            answer = _refusal(timed_out(f"no answer within {ANSWER_SECONDS:g} s"))
        except Exception:  # a request must not end without a Status
            log.exception("request failed", extra={"path": request.path})
            answer = _refusal(internal_error("internal error; the log tells more"))
        return BareResponse(
            body=answer.body, status=answer.status, content_type=answer.content_type, headers=answer.headers or None
        )

    async def _answer(self, request: web.BaseRequest) -> Answer:
        """Raises StatusError."""
        stages = self._stages
        asked = read_request(request)
        caller = await stages.authenticate(asked)
        await stages.authorise(caller, asked)
        question = question_of(caller, asked)
        for route in stages.routes(question):
            answer = await stages.answers[route](question)
            if answer is not None:
                return answer
        raise internal_error("no part of keda-py answers this question")

    def _probe(self, request: web.BaseRequest) -> Answer:
        """Open to all."""
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        reason = self._not_ready() if request.path == "/readyz" else ""
        return Answer(body=(reason or "ok").encode(), status=500 if reason else 200, content_type="text/plain")


def _refusal(error: StatusError) -> Answer:
    return Answer(body=orjson.dumps(error.body()), status=error.code, content_type=JSON)
