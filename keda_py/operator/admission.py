"""The validating webhook: AdmissionReview in, allowed or denied out, from informer caches.

One HTTPS server, one path a kind (behaviour reference, section 12). The checks are pure (`keda_py/core/admission*.py`);
what an object is checked against comes from `neighbours.py`. An answer other than 200 is a failed call, which the API
server's failurePolicy (Ignore) passes over: that is what happens before the caches have synced.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import orjson
from aiohttp import web
from pydantic import BaseModel

from keda_py.apis.admission_review import AdmissionRequest, AdmissionReview
from keda_py.apis.cloud_event_source import CloudEventSource, ClusterCloudEventSource
from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject
from keda_py.apis.trigger_authentication import ClusterTriggerAuthentication, TriggerAuthentication
from keda_py.context import Lendings
from keda_py.core.admission import AdmissionWarning, Denial, Finding
from keda_py.core.admission_others import check_authentication, check_cloud_event_source, check_scaled_job
from keda_py.core.admission_scaled_object import check_scaled_object
from keda_py.errors import ConfigError
from keda_py.kube.events import EventRecorder
from keda_py.kube.resources import Obj
from keda_py.metrics.prometheus import OperatorMetrics
from keda_py.operator.caches import Caches
from keda_py.operator.neighbours import Neighbours
from keda_py.serving.https import LimitedServer
from keda_py.trigger_checks import warn_of_triggers

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 7 * 1024 * 1024
"""Two objects of the largest size that etcd takes, and the rest of a review."""
ANSWER_SECONDS = 8.0
"""The API server waits for 10 s."""
CONTROLLER = "keda-admission"
"""reportingController of our Events."""

M = TypeVar("M", bound=BaseModel)
Judge = Callable[[AdmissionRequest], Awaitable[Iterable[Finding]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """One entry of the ValidatingWebhookConfiguration."""

    name: str
    path: str
    group: str
    plural: str


def _webhook(kind: str, group: str, name: str) -> Webhook:
    prefix = "/validate-" + group.replace(".", "-")
    return Webhook(name=f"{name}.kb.io", path=f"{prefix}-v1alpha1-{kind}", group=group, plural=f"{kind}s")


SCALED_OBJECT = _webhook("scaledobject", "keda.sh", "vscaledobject")
SCALED_JOB = _webhook("scaledjob", "keda.sh", "vscaledjob")
AUTHENTICATION = _webhook("triggerauthentication", "keda.sh", "vstriggerauthentication")
CLUSTER_AUTHENTICATION = _webhook("clustertriggerauthentication", "keda.sh", "vsclustertriggerauthentication")
EVENT_SOURCE = _webhook("cloudeventsource", "eventing.keda.sh", "vcloudeventsource")
CLUSTER_EVENT_SOURCE = _webhook("clustercloudeventsource", "eventing.keda.sh", "vclustercloudeventsource")
WEBHOOKS = (
    SCALED_OBJECT,
    SCALED_JOB,
    AUTHENTICATION,
    CLUSTER_AUTHENTICATION,
    EVENT_SOURCE,
    CLUSTER_EVENT_SOURCE,
)


class AdmissionServer:
    """Answers the API server. Its Events are written while `events` runs."""

    def __init__(
        self,
        neighbours: Neighbours,
        caches: Caches,
        lendings: Lendings,
        events: EventRecorder,
        instruments: OperatorMetrics,
    ) -> None:
        self._neighbours, self._caches, self._lendings = neighbours, caches, lendings
        self.events, self._instruments = events, instruments
        self._judges: dict[str, Judge] = {
            SCALED_OBJECT.path: self._judge_scaled_object,
            SCALED_JOB.path: _judge(ScaledJob, self._check_scaled_job),
            AUTHENTICATION.path: _judge(TriggerAuthentication, check_authentication),
            CLUSTER_AUTHENTICATION.path: _judge(ClusterTriggerAuthentication, check_authentication),
            EVENT_SOURCE.path: _judge(CloudEventSource, check_cloud_event_source),
            CLUSTER_EVENT_SOURCE.path: _judge(ClusterCloudEventSource, check_cloud_event_source),
        }
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        for path in self._judges:
            app.router.add_post(path, self._answer)
        self._server = LimitedServer(app)

    async def start(self, host: str, port: int, tls: ssl.SSLContext) -> None:
        """Listen. Raises OSError when the address is taken."""
        await self._server.start(host, port, tls)

    def leave(self) -> None:
        """Go on answering, but let clients know that they have to connect elsewhere."""
        self._server.leave()

    async def aclose(self) -> None:
        """Answer what is on its way, then close."""
        await self._server.aclose()

    async def _answer(self, request: web.Request) -> web.Response:
        """Only asked at the paths of our webhooks."""
        began, code = asyncio.get_running_loop().time(), 200
        try:
            return await self._review(request)
        except web.HTTPException as refusal:
            code = refusal.status
            raise
        finally:
            took = asyncio.get_running_loop().time() - began
            self._instruments.process.reconciles.record_review(request.path, code, took)

    async def _review(self, request: web.Request) -> web.Response:
        if not self._caches.has_synced:
            raise web.HTTPServiceUnavailable(text="caches have not synced")
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                review = parse_object(AdmissionReview, orjson.loads(await request.read()))
                response = await self._respond(request.path, review.request)
        except (ConfigError, ValueError) as error:
            raise web.HTTPBadRequest(text=f"not an AdmissionReview v1: {error}") from None
        except TimeoutError:
            raise web.HTTPGatewayTimeout(text=f"no answer within {ANSWER_SECONDS:g} s") from None
        except web.HTTPException:
            raise
        except Exception:  # what we cannot judge the failurePolicy decides
            log.exception("admission review failed", extra={"path": request.path})
            raise web.HTTPInternalServerError(text="internal error; the log tells more") from None
        return web.Response(body=orjson.dumps(response), content_type="application/json")

    async def _respond(self, path: str, request: AdmissionRequest) -> Obj:
        if request.new is None or _only_sheds_finalizers(request) or not self._is_ours(request.namespace):
            return _response(request.uid)
        action = request.operation.lower()
        if path == SCALED_OBJECT.path:
            self._instruments.admission.record_validation(request.namespace, action)
        try:
            findings = tuple(await self._judges[path](request))
        except ConfigError as error:
            findings = (Denial(message=str(error), reason="invalid-object", field=error.field),)
        denial = next((finding for finding in findings if isinstance(finding, Denial)), None)
        if denial is None:
            warnings = [finding for finding in findings if isinstance(finding, AdmissionWarning)]
            self._record(request, warnings)
            return _response(request.uid, warnings=[_one_line(warning.message) for warning in warnings])
        if path in (SCALED_OBJECT.path, SCALED_JOB.path):
            self._instruments.admission.record_denial(request.namespace, action, denial.reason)
        log.info("object denied", extra={"path": path, "namespace": request.namespace, "reason": denial.reason})
        return _response(request.uid, denial=denial)

    def _is_ours(self, namespace: str) -> bool:
        """Outside of --watch-namespace another operator decides."""
        return not namespace or self._caches.covers(namespace)

    def _record(self, request: AdmissionRequest, warnings: Iterable[AdmissionWarning]) -> None:
        if request.dry_run or request.new is None:
            return
        for warning in warnings:
            if warning.recorded:
                self.events.record(request.new, "Normal", "KEDAScalerInfo", warning.message)

    async def _judge_scaled_object(self, request: AdmissionRequest) -> Iterable[Finding]:
        obj = parse_object(ScaledObject, request.new or {})
        around = await self._neighbours.around(obj)
        found = check_scaled_object(obj, around, dry_run=bool(request.dry_run))
        return chain(found, warn_of_triggers(obj.spec.triggers, self._lendings))

    def _check_scaled_job(self, obj: ScaledJob) -> Iterable[Finding]:
        return chain(check_scaled_job(obj), warn_of_triggers(obj.spec.triggers, self._lendings))


def _judge(model: type[M], check: Callable[[M], Iterable[Finding]]) -> Judge:
    """For kinds that are judged by themselves."""

    async def judge(request: AdmissionRequest) -> Iterable[Finding]:
        return check(parse_object(model, request.new or {}))

    return judge


def _only_sheds_finalizers(request: AdmissionRequest) -> bool:
    """Deletion must go on, whatever the object says."""
    new, old = request.new or {}, request.old or {}

    def finalizers(obj: Obj) -> int:
        return len((obj.get("metadata") or {}).get("finalizers") or ())

    return finalizers(new) < finalizers(old) and new.get("spec") == old.get("spec")


def _one_line(text: str) -> str:
    """A warning travels in a header; keys that users wrote may hold anything."""
    return "".join(one if one.isprintable() else " " for one in text)


def _response(uid: str, *, denial: Denial | None = None, warnings: list[str] | None = None) -> Obj:
    response: Obj = {"uid": uid, "allowed": denial is None}
    if denial is not None:
        response["status"] = {"status": "Failure", "code": 403, "reason": "Forbidden", "message": denial.message}
    if warnings:
        response["warnings"] = warnings
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
