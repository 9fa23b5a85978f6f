"""HTTP side of the webhook, in a process of its own: callers, their share of the work, and reports to the operator.

An answer other than 200 is a failed call, which the API server's failurePolicy decides about. Bodies are read by a few
requests at once, addresses taking turns (`serving/ports/gate.py`), so that memory is bounded and a flood from one
address does not keep the API server waiting.
"""

import asyncio
import logging
from collections.abc import Callable

import orjson

from keda_py.apis.foreign import Obj, map_at
from keda_py.errors import KubeError
from keda_py.operator.admission.webhook.link import Message
from keda_py.operator.admission.webhook.quiet import Quiet
from keda_py.operator.admission.webhook.reviews import Malformed, Reviewer, read_review
from keda_py.serving.ports.gate import Crowded, Gate
from keda_py.serving.ports.small_http import BrokenBody, LongBody, SmallAnswer, SmallRequest, SmallServer

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 7 * 1024 * 1024
"""Two objects of the largest size that etcd takes, and the rest of a review."""
ANSWER_SECONDS = 8.0
"""The API server waits for 10 s."""
BODY_SECONDS = 3.0
AT_ONCE, WAITING = 4, 256
_TOO_LONG = f"the body is longer than {MAX_BODY_BYTES} bytes"


class Refused(Exception):
    """A review that gets no verdict: `status` and `text` of the answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


class WebhookServer:
    """Answers reviews and hands each outcome to `report`. `admits` says whether a client certificate (DER) may call."""

    def __init__(
        self, reviewer: Reviewer, report: Callable[[Message], object], admits: Callable[[bytes | None], bool]
    ) -> None:
        self._reviewer, self._report, self._admits = reviewer, report, admits
        self._gate = Gate(AT_ONCE, WAITING)
        self._malformed, self._failed = Quiet(), Quiet()
        self.port = SmallServer(self._answer)
        self.answered = 0
        """Reviews since the start."""

    async def _answer(self, request: SmallRequest) -> SmallAnswer:
        if request.path not in self._reviewer.kinds:
            return _refusal(404, "there is no webhook at this path")
        if request.method != "POST":
            return _refusal(405, "reviews are sent by POST")
        loop = asyncio.get_running_loop()
        began, code, review = loop.time(), 500, Message()
        try:
            response, review = await self._bounded(request)
            code = 200
            return SmallAnswer(status=code, body=orjson.dumps(response), content_type="application/json")
        except Refused as refusal:
            code = refusal.status
            return _refusal(code, refusal.text)
        finally:
            self.answered += 1
            self._report({"reviewed": {"path": request.path, "code": code, "seconds": loop.time() - began, **review}})

    async def _bounded(self, request: SmallRequest) -> tuple[Message, Message]:
        """As `_review`. Raises Refused and nothing else."""
        try:
            self._check_head(request)
            async with asyncio.timeout(ANSWER_SECONDS), self._gate.turn(request.address):
                return await self._review(request)
        except Malformed as error:
            self._tell_malformed(request, str(error))
            raise Refused(400, f"not an AdmissionReview v1: {error}") from None
        except Crowded:
            raise Refused(503, "too many reviews wait; try again") from None
        except KubeError as error:
            log.debug("neighbours of an object are not known", extra={"error": str(error)})
            raise Refused(503, "what is around this object is not known now; try again") from None
        except TimeoutError:
            raise Refused(504, f"no answer within {ANSWER_SECONDS:g} s") from None
        except Refused:
            raise
        except Exception as error:  # noqa: BLE001 - what we cannot judge the failurePolicy decides
            self._tell_failed(request, error)
            raise Refused(500, "internal error; the log tells more") from None

    def _check_head(self, request: SmallRequest) -> None:
        if not self._admits(request.certificate):
            raise Refused(403, "your client certificate is not one that may call this webhook")
        content_type = request.header("content-type").partition(";")[0].strip().lower()
        if content_type != "application/json" or request.header("content-encoding"):
            raise Malformed("the body must be application/json, not compressed")
        if int(request.header("content-length") or 0) > MAX_BODY_BYTES:  # h11 lets nothing but digits through
            raise Refused(413, _TOO_LONG)

    async def _review(self, request: SmallRequest) -> tuple[Message, Message]:
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

    def _tell_malformed(self, request: SmallRequest, error: str) -> None:
        if (held := self._malformed.held_back(asyncio.get_running_loop().time())) is not None:
            fields = {"path": request.path, "peer": request.address, "error": error[:200], "more": held}
            log.warning("malformed admission review refused", extra=fields)

    def _tell_failed(self, request: SmallRequest, error: Exception) -> None:
        if (held := self._failed.held_back(asyncio.get_running_loop().time())) is not None:
            log.error("admission review failed", extra={"path": request.path, "more": held}, exc_info=error)


def _about(obj: Obj) -> Obj:
    """Which version of which object was judged, for an Event about it; the checks have seen that these are texts."""
    metadata = map_at(obj, "metadata")
    return {name: metadata.get(name) for name in ("namespace", "name", "uid", "generation")}


async def _body(request: SmallRequest) -> bytes:
    """Raises Refused for one that is too long, Malformed for one that does not come as its head promises."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.body(MAX_BODY_BYTES)
    except TimeoutError:
        raise Malformed(f"the body has not come within {BODY_SECONDS:g} s") from None
    except BrokenBody:
        raise Malformed("the body has not come as announced") from None
    except LongBody:
        raise Refused(413, _TOO_LONG) from None


def _refusal(status: int, text: str) -> SmallAnswer:
    return SmallAnswer(status=status, body=text.encode())
