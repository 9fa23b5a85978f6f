"""HTTP side of the webhook, in a process of its own: callers, their share of the work, and reports to the operator.

An answer other than 200 is a failed call, which the API server's failurePolicy decides about. Bodies are read by a few
requests at once, addresses taking turns (`serving/ports/gate.py`), so that memory is bounded and a flood from one
address does not keep the API server waiting.
"""

import asyncio
import logging
from collections.abc import Callable

import orjson
from aiohttp import web

from keda_py.apis.foreign import map_at
from keda_py.errors import KubeError
from keda_py.kube.resources import Obj
from keda_py.operator.admission.webhook.link import Message
from keda_py.operator.admission.webhook.paths import WEBHOOKS
from keda_py.operator.admission.webhook.quiet import Quiet
from keda_py.operator.admission.webhook.reviews import Malformed, Reviewer, read_review
from keda_py.serving.https import LimitedServer
from keda_py.serving.ports.connection import Connection
from keda_py.serving.ports.gate import Crowded, Gate

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 7 * 1024 * 1024
"""Two objects of the largest size that etcd takes, and the rest of a review."""
ANSWER_SECONDS = 8.0
"""The API server waits for 10 s."""
BODY_SECONDS = 3.0
AT_ONCE, WAITING = 4, 256


class WebhookServer:
    """Answers reviews and hands each outcome to `report`. `admits` says whether a client certificate (DER) may call."""

    def __init__(
        self, reviewer: Reviewer, report: Callable[[Message], object], admits: Callable[[bytes | None], bool]
    ) -> None:
        self._reviewer, self._report, self._admits = reviewer, report, admits
        self._gate = Gate(AT_ONCE, WAITING)
        self._malformed, self._failed = Quiet(), Quiet()
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        for webhook in WEBHOOKS:
            app.router.add_post(webhook.path, self._answer)
        self.port = LimitedServer(app)

    async def _answer(self, request: web.Request) -> web.Response:
        """Only asked at the paths of our webhooks."""
        loop = asyncio.get_running_loop()
        began, code, review = loop.time(), 500, Message()
        try:
            response, review = await self._bounded(request)
            code = 200
            return web.Response(body=orjson.dumps(response), content_type="application/json")
        except web.HTTPException as refusal:
            code = refusal.status
            raise
        finally:
            self._report({"reviewed": {"path": request.path, "code": code, "seconds": loop.time() - began, **review}})

    async def _bounded(self, request: web.Request) -> tuple[Message, Message]:
        """As `_review`. Raises HTTPException, and nothing else but what ends a connection."""
        try:
            self._check_head(request)
            async with asyncio.timeout(ANSWER_SECONDS), self._gate.turn(request.remote or ""):
                return await self._review(request)
        except Malformed as error:
            self._tell_malformed(request, str(error))
            raise web.HTTPBadRequest(text=f"not an AdmissionReview v1: {error}") from None
        except Crowded:
            raise web.HTTPServiceUnavailable(text="too many reviews wait; try again") from None
        except KubeError as error:
            log.debug("neighbours of an object are not known", extra={"error": str(error)})
            raise web.HTTPServiceUnavailable(text="what is around this object is not known now; try again") from None
        except TimeoutError:
            raise web.HTTPGatewayTimeout(text=f"no answer within {ANSWER_SECONDS:g} s") from None
        except (web.HTTPException, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 - what we cannot judge the failurePolicy decides
            self._tell_failed(request, error)
            raise web.HTTPInternalServerError(text="internal error; the log tells more") from None

    def _check_head(self, request: web.Request) -> None:
        connection = request.protocol
        shown = connection.certificate if isinstance(connection, Connection) else None
        if not self._admits(shown):
            raise web.HTTPForbidden(text="your client certificate is not one that may call this webhook")
        if request.content_type != "application/json" or "Content-Encoding" in request.headers:
            raise Malformed("the body must be application/json, not compressed")
        if (request.content_length or 0) > MAX_BODY_BYTES:
            raise web.HTTPRequestEntityTooLarge(MAX_BODY_BYTES, request.content_length or 0)

    async def _review(self, request: web.Request) -> tuple[Message, Message]:
        """Answer a review and report it to the operator."""
        question = read_review(await _body(request))
        verdict = await self._reviewer.review(request.path, question)
        return verdict.response, {
            "namespace": question.namespace,
            "about": _about(question.new or {}) if verdict.notes or verdict.author else {},
            "author": verdict.author,
            "action": question.operation.lower(),
            "judged": verdict.judged,
            "denied": verdict.denied,
            "notes": verdict.notes,
        }

    def _tell_malformed(self, request: web.Request, error: str) -> None:
        if (held := self._malformed.held_back(asyncio.get_running_loop().time())) is not None:
            fields = {"path": request.path, "peer": request.remote, "error": error[:200], "more": held}
            log.warning("malformed admission review refused", extra=fields)

    def _tell_failed(self, request: web.Request, error: Exception) -> None:
        if (held := self._failed.held_back(asyncio.get_running_loop().time())) is not None:
            log.error("admission review failed", extra={"path": request.path, "more": held}, exc_info=error)


def _about(obj: Obj) -> Obj:
    """Which version of which object was judged, for an Event about it; the checks have seen that these are texts."""
    metadata = map_at(obj, "metadata")
    return {name: metadata.get(name) for name in ("namespace", "name", "uid", "generation")}


async def _body(request: web.Request) -> bytes:
    """Raises Malformed for one that does not come, or not in the form that its head promises."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.read()
    except TimeoutError:
        raise Malformed(f"the body has not come within {BODY_SECONDS:g} s") from None
    except (web.RequestPayloadError, asyncio.IncompleteReadError):
        raise Malformed("the body has not come as announced") from None
