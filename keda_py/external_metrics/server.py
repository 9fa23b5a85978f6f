"""Server of external.metrics.k8s.io/v1beta1 over TLS, which the HPA controller asks.

Requests arrive through the API server's aggregation layer. `_answer` takes every request through the stages, with a
value between each two: read, authenticate, authorise, route, answer. No stage sees a `web.Request`, and every refusal
is a Kubernetes Status. Behaviour reference, section 7.1.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import orjson
from aiohttp import web

from keda_py.core.waking.requests import LONGEST_REPORT
from keda_py.external_metrics.authorised_request import JSON, ApiResponse, AuthorisedRequest, question_of
from keda_py.external_metrics.discovery import METRICS, PROBES
from keda_py.external_metrics.routing import Route
from keda_py.serving.api_request import ApiRequest, read_body, read_request
from keda_py.serving.caller import Caller, RequestAttributes
from keda_py.serving.https import LimitedServer
from keda_py.serving.ports.connection import BareResponse
from keda_py.serving.prompt import Prompt, PromptConnection, PromptPaths
from keda_py.serving.statuses import StatusError, internal_error, method_not_allowed, timed_out
from keda_py.serving.wake_endpoint import is_report

log = logging.getLogger(__name__)

# Longest time that an HPA's sync waits; a trigger's own time-out is 3 s.
ANSWER_SECONDS = 10.0


def _wait(_: ApiRequest) -> None:
    """Leave every request to the stages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Stages of a request; each raises StatusError if the request ends there.

    `routes` returns which of `answers` to call, in order, until one does not return None.
    `at_once` is asked before all of them, and answers what is cached in each.
    """

    authenticate: Callable[[ApiRequest], Awaitable[Caller]]
    authorise: Callable[[Caller, ApiRequest], Awaitable[None]]
    routes: Callable[[AuthorisedRequest], tuple[Route, ...]]
    answers: Mapping[Route, Callable[[AuthorisedRequest], Awaitable[ApiResponse | None]]]
    at_once: Prompt = _wait


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedStages:
    """The same stages for a question that needs no waiting, in the same order, each by what it has cached.

    Where one would have to wait, or to refuse, there is no answer here: the request goes through `Stages`, which wait
    and word refusals. `authenticate` returns None for a caller that only a review could tell.
    """

    authenticate: Callable[[ApiRequest], Caller | None]
    is_allowed: Callable[[Caller, RequestAttributes], bool]
    routes: Callable[[AuthorisedRequest], tuple[Route, ...]]
    answer: Callable[[AuthorisedRequest], bytes | None]

    def __call__(self, asked: ApiRequest) -> bytes | None:
        """Return the JSON of an answer 200, else None."""
        caller = self.authenticate(asked)
        if caller is None or caller.is_replica or not self.is_allowed(caller, asked.wanted):
            return None
        question = question_of(caller, asked)
        try:
            routes = self.routes(question)
        except StatusError:
            return None
        return self.answer(question) if routes == (Route.METRIC,) else None


class MetricsServer:
    """HTTPS server. `not_ready` returns why /readyz fails, "" if it does not."""

    def __init__(self, stages: Stages, not_ready: Callable[[], str]) -> None:
        self._stages, self._not_ready = stages, not_ready
        paths = PromptPaths(prefix=METRICS.root, answer=stages.at_once)
        self._server = LimitedServer(self._guard, connection=partial(PromptConnection, paths=paths))

    async def start(self, host: str, port: int, tls: ssl.SSLContext) -> int:
        """Listen and return the port, which matters if `port` was 0. Raises OSError if the address is in use."""
        return await self._server.start(host, port, tls)

    def leave(self) -> None:
        """Close each connection after its next answer, so that clients connect to another replica."""
        self._server.leave()

    async def aclose(self) -> None:
        """Answer requests under way for up to two seconds, then close."""
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

    async def _answer(self, request: web.BaseRequest) -> ApiResponse:
        """Take a request through all stages. Raises StatusError."""
        stages = self._stages
        asked = read_request(request)
        caller = await stages.authenticate(asked)
        await stages.authorise(caller, asked)
        if is_report(asked):  # nothing else has a body
            asked = replace(asked, body=await read_body(request, LONGEST_REPORT))
        question = question_of(caller, asked)
        for route in stages.routes(question):
            answer = await stages.answers[route](question)
            if answer is not None:
                return answer
        raise internal_error("no part of keda-py answers this request")

    def _probe(self, request: web.BaseRequest) -> ApiResponse:
        """Answer a probe without authentication."""
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        reason = self._not_ready() if request.path == "/readyz" else ""
        return ApiResponse(body=(reason or "ok").encode(), status=500 if reason else 200, content_type="text/plain")


def _refusal(error: StatusError) -> ApiResponse:
    return ApiResponse(body=orjson.dumps(error.body()), status=error.code, content_type=JSON)
