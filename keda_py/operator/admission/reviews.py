"""The validating webhook as the operator sees it: a port, the process that judges there, and the state that it needs.

The process judges reviews (`webhook/`), so that none of them takes time of this loop. It asks here for the neighbours
of an object, and reports its verdicts, which are counted, logged, and written as Events here.
"""

import asyncio
import logging
import socket
from collections.abc import Iterator, Sequence

from keda_py.errors import KubeError
from keda_py.kube.events import EventRecorder
from keda_py.kube.resources import Obj
from keda_py.operator.admission.cautions import Cautions, JudgedObject
from keda_py.operator.admission.paths import KINDS_BY_PATH, SCALED_JOB, SCALED_OBJECT
from keda_py.operator.admission.related_objects import RelatedObjects
from keda_py.operator.admission.requesters import Requester, Requesters
from keda_py.operator.admission.webhook.forwarded_logs import log_forwarded
from keda_py.operator.admission.webhook.link import Message
from keda_py.operator.admission.webhook.orders import give_orders, to_wire
from keda_py.operator.admission.webhook.process import WebhookProcess
from keda_py.operator.admission.webhook.quiet import Quiet
from keda_py.serving.ports.listening import listen
from keda_py.serving.serving_certificate import ServingCertificate
from keda_py.settings.settings import Settings
from keda_py.telemetry.prometheus import OperatorMetrics

log = logging.getLogger(__name__)

CONTROLLER = "keda-admission"
"""reportingController of our Events."""
STOP_SECONDS = 4.0
QUESTIONS_AT_ONCE = 16
_TOLD_EVERY = 1.0
_COUNTED = (SCALED_OBJECT.path, SCALED_JOB.path)


class AdmissionServer:
    """Serves the webhook while `run` runs, if it was started. Its Events are written while `events` runs."""

    def __init__(
        self,
        settings: Settings,
        neighbours: RelatedObjects,
        events: EventRecorder,
        instruments: OperatorMetrics,
        requesters: Requesters,
    ) -> None:
        self._settings, self._neighbours, self._caches = settings, neighbours, neighbours.caches
        self._requesters = requesters
        self.events, self._instruments = events, instruments
        self._cautions = Cautions(events, self._caches.scaled_objects)
        self._denials = Quiet(_TOLD_EVERY)
        self._certificate: ServingCertificate | None = None
        self._leaving = False
        self._listeners: list[socket.socket] = []
        self._questions: asyncio.TaskGroup | None = None
        self._asked = 0
        self.process = WebhookProcess(self._greetings, self._hear)

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError if the address is taken."""
        self._listeners = await listen(host, port)

    async def run(self) -> None:
        """Answer until closed or cancelled; return at once if it was not started."""
        if not self._listeners:
            self.process.begun.set()
            return
        async with asyncio.TaskGroup() as self._questions:
            recording = self._questions.create_task(self._requesters.run())
            await self.process.run(self._listeners)
            recording.cancel()

    def show(self, certificate: ServingCertificate) -> None:
        """Serve with another certificate."""
        self._certificate = certificate
        self.process.tell(_serving_part(certificate))

    def leave(self) -> None:
        """Go on answering, but let clients know that they have to connect elsewhere."""
        self._leaving = True
        self.process.tell({"leave": True})

    async def aclose(self) -> None:
        """Answer the requests under way, then close."""
        await self.process.stop(STOP_SECONDS)
        for listener in self._listeners:
            listener.close()
        self._listeners = []

    def _greetings(self) -> Iterator[Message]:
        orders = give_orders(
            self._settings,
            KINDS_BY_PATH,
            tuple(listener.fileno() for listener in self._listeners),
            logging.getLogger("keda_py").getEffectiveLevel(),
        )
        yield {"begin": to_wire(orders)}
        if self._certificate is not None:
            yield _serving_part(self._certificate)
        if self._leaving:
            yield {"leave": True}

    def _hear(self, message: Message) -> None:
        match message:
            case {"ask": _}:
                self._begin_answer(message)
            case {"reviewed": review}:
                self._note(review)
            case {"log": record}:
                log_forwarded(record)

    def _begin_answer(self, question: Message) -> None:
        if self._questions is None or self._asked >= QUESTIONS_AT_ONCE:
            self.process.tell({"answer": question["ask"], "error": "too many questions at once"})
            return
        self._asked += 1
        self._questions.create_task(self._answer(question))

    async def _answer(self, question: Message) -> None:
        answer: Obj = {"answer": question["ask"]}
        try:
            if self._caches.has_synced:
                answer["around"] = await self._neighbours.around(question)
            else:
                answer["error"] = "caches have not synced"
        except KubeError as error:
            answer["error"] = str(error)
        except Exception:  # one failing question must not end the others
            log.exception("neighbours cannot be told", extra={"namespace": question.get("namespace")})
            answer["error"] = "internal error"
        finally:
            self._asked -= 1
        self.process.tell(answer)

    def _note(self, review: Message) -> None:
        path, namespace, action = review["path"], review.get("namespace", ""), review.get("action", "")
        self._instruments.process.reconciles.record_review(path, review["code"], review["seconds"])
        if review.get("judged"):
            self._instruments.admission.record_validation(namespace, action)
        if notes := review.get("notes"):
            self._cautions.expect(_judged(review["about"], notes))
        if author := review.get("author"):
            self._requesters.expect(_request(review["about"], review.get("namespace", ""), author))
        if not (denied := review.get("denied")):
            return
        if path in _COUNTED:
            self._instruments.admission.record_denial(namespace, action, denied)
        if (held := self._denials.held_back(asyncio.get_running_loop().time())) is not None:
            fields = {"path": path, "namespace": namespace, "reason": denied, "more": held}
            log.info("object denied", extra=fields)


def _judged(about: Message, notes: Sequence[str]) -> JudgedObject:
    names = {name: str(about.get(name) or "") for name in ("namespace", "name", "uid")}
    return JudgedObject(**names, generation=about.get("generation") or 0, notes=notes)


def _request(about: Message, namespace: str, user: str) -> Requester:
    return Requester(
        namespace=namespace, name=str(about.get("name") or ""), uid=str(about.get("uid") or ""), user=str(user)
    )


def _serving_part(certificate: ServingCertificate) -> Message:
    """The certificate without the authority's key, which signs and does not serve."""
    texts = {"ca": certificate.ca, "certificate": certificate.certificate, "key": certificate.key}
    return {"certificate": {name: text.decode() for name, text in texts.items()}}
