"""Admission: before a write is stored, its owner references are checked and each matching webhook is called.

Webhooks of ValidatingWebhookConfigurations are called over HTTPS as a real server calls them: caBundle, timeoutSeconds,
failurePolicy, namespace and object selectors, matchConditions, AdmissionReview v1. Virtual time stands still during a
call, and its time-out runs on real time.
"""

import asyncio
import base64
import logging
import ssl
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
import orjson

from keda_py.core.values.selectors import LabelSelector
from keda_py.localkube.access.owners import OwnerReferences
from keda_py.localkube.model.calls import Call, RequestTarget
from keda_py.localkube.store.services import Backend, UnresolvedError
from keda_py.localkube.store.store import Store
from keda_py.schema.cel import compile_rule
from keda_py.schema.cel_functions import CelError
from keda_py.schema.resources import Obj
from keda_py.schema.status import StatusError, forbidden, internal

_log = logging.getLogger(__name__)

DEFAULT_TIMEOUT = 10
IDLE_SECONDS = 90.0
"""An unused connection to a webhook is closed after that time, which is client-go's."""


# `matchConditions` of admission webhooks, in CEL: whether a webhook is called about a write that its rules match.
#
# As in a real API server: all conditions must be true. One that is false decides, whatever fails beside it; otherwise
# an expression that fails is decided by failurePolicy: Fail refuses the write, Ignore passes the webhook over.


class ConditionsError(Exception):
    """A condition has no value for this write, none is false, and failurePolicy is Fail."""


def are_met(webhook: Obj, request: Obj) -> bool:
    """`request` is that of an AdmissionReview, with both objects. Raises ConditionsError."""
    conditions = webhook.get("matchConditions") or ()
    if not conditions:
        return True
    objects = {"object": request["object"], "oldObject": request["oldObject"]}
    scope = {**objects, "request": {name: value for name, value in request.items() if name not in objects}}
    errors = []
    for condition in conditions:
        try:
            if not _holds(condition["expression"], scope):
                return False
        except CelError as error:
            errors.append(f"expression '{condition['expression']}' resulted in error: {error}")
    if errors and webhook.get("failurePolicy", "Fail") == "Fail":
        raise ConditionsError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return not errors


def _holds(expression: str, scope: Obj) -> bool:
    value = compile_rule(expression)(scope)
    if not isinstance(value, bool):
        raise CelError("must evaluate to bool")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A write that is to be admitted: `obj` is None for a deletion, `old` is None for a creation."""

    call: Call
    target: RequestTarget
    operation: str
    obj: Obj | None
    old: Obj | None


class Services(Protocol):
    """Resolves the address of a Service."""

    def backend_of(self, reference: Obj) -> Backend:
        """The address of a reference (namespace, name, port). Raises UnresolvedError if nothing serves it."""
        ...


class WebhookConnections:
    """Connections to webhooks, kept open between reviews as a real API server keeps them.

    With a connection for each review, its TLS handshake cost more than the review: 2 ms of the 18 ms of CPU that all
    processes spend on a new ScaledObject.
    """

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def post(self, url: str, body: bytes, bundle: str, server: str | None) -> bytes:
        """Return the answer of a server that a CA of `bundle` certifies, as `server` if given.

        Raises ClientError for any status from 400 on.
        """
        while True:
            sent = _Sent()
            try:
                return await self._exchange(url, body, bundle, server, sent)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                # A webhook may close an idle connection in the moment in which a review is sent on it, as one that
                # ends does. A review changes nothing, so it may be sent again; each such connection has gone then, and
                # the last attempt is on a new one.
                if not sent.on_kept_connection:
                    raise

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _exchange(self, url: str, body: bytes, bundle: str, server: str | None, sent: "_Sent") -> bytes:
        if self._session is None:
            self._session = _open_session()
        async with self._session.post(
            url,
            data=body,
            headers={"Content-Type": "application/json"},
            ssl=self._context(bundle),
            server_hostname=server,
            trace_request_ctx=sent,
        ) as answer:
            answer.raise_for_status()
            return await answer.read()

    def _context(self, bundle: str) -> ssl.SSLContext:
        # Building a context from a bundle takes 20 ms; a burst of writes would pay that for each.
        if bundle not in self._contexts:
            pem = base64.b64decode(bundle).decode()
            self._contexts[bundle] = ssl.create_default_context(cadata=pem or None)
        return self._contexts[bundle]


@dataclass(slots=True)
class _Sent:
    """Notes how a request was sent."""

    on_kept_connection: bool = False


def _open_session() -> aiohttp.ClientSession:
    async def note(_: aiohttp.ClientSession, context: Any, __: aiohttp.TraceConnectionReuseconnParams) -> None:
        context.trace_request_ctx.on_kept_connection = True

    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(note)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS)
    return aiohttp.ClientSession(connector=connector, trace_configs=[trace])


class Admission:
    """Calls the webhooks of the stored configurations."""

    def __init__(self, store: Store, services: Services, owners: OwnerReferences) -> None:
        self._store, self._services, self._owners = store, services, owners
        self._configurations = store.resources.get("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
        self._namespaces = store.resources.get("v1", "Namespace")
        self._connections = WebhookConnections()

    async def aclose(self) -> None:
        """Close the connections to webhooks."""
        await self._connections.aclose()

    async def check(self, review: Review) -> list[str]:
        """The warnings of all webhooks. Raises StatusError if one refuses, or fails with failurePolicy Fail."""
        if review.obj is not None:
            self._owners.check(review.call, review.target, review.old, review.obj)
        warnings: list[str] = []
        for webhook in self._matching(review):
            warnings += await self._ask(webhook, review)
        return warnings

    def _matching(self, review: Review) -> Iterator[Obj]:
        for configuration in self._store.list(self._configurations):
            for webhook in configuration.get("webhooks") or ():
                covered = any(_covers(rule, review) for rule in webhook.get("rules") or ())
                if covered and self._selected(webhook, review) and _meets_conditions(webhook, review):
                    yield webhook

    def _selected(self, webhook: Obj, review: Review) -> bool:
        # Either state may match: a write that removes the label still concerns the webhook, as in the real server.
        objects = [obj for obj in (review.obj, review.old) if obj is not None]
        if not any(LabelSelector.of(webhook.get("objectSelector")).matches(obj) for obj in objects):
            return False
        space = self._store.find(self._namespaces, "", review.target.namespace) if review.target.namespace else None
        return space is None or LabelSelector.of(webhook.get("namespaceSelector")).matches(space)

    async def _ask(self, webhook: Obj, review: Review) -> list[str]:
        name = webhook["name"]
        try:
            response = await self._call(webhook, review)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, KeyError, UnresolvedError) as error:
            if webhook.get("failurePolicy", "Fail") == "Ignore":
                _log.warning("admission webhook failed open", extra={"webhook": name, "error": str(error)})
                return []
            problem = str(error) or "context deadline exceeded"
            raise internal(f'failed calling webhook "{name}": failed to call webhook: {problem}') from None
        if not response.get("allowed"):
            raise _denied(name, response.get("status") or {})
        return list(response.get("warnings") or ())

    async def _call(self, webhook: Obj, review: Review) -> Obj:
        config = webhook["clientConfig"]
        url, server = self._url(config), _server_name(config)
        uid = str(uuid.uuid4())
        body = orjson.dumps(_admission_review(review, uid))
        async with asyncio.timeout(webhook.get("timeoutSeconds") or DEFAULT_TIMEOUT):
            answer = await self._connections.post(url, body, config.get("caBundle", ""), server)
        response: Obj = orjson.loads(answer)["response"]
        # The uid shows that the answer belongs to this review; a real server refuses any other, too.
        if response.get("uid") != uid:
            raise ValueError(f"expected response.uid={uid}, got {response.get('uid')}")
        return response

    def _url(self, config: Obj) -> str:
        if config.get("url"):
            return str(config["url"])
        service = config["service"]
        backend = self._services.backend_of(service)
        return f"https://{backend.host}:{backend.port}{service.get('path') or '/'}"


def _meets_conditions(webhook: Obj, review: Review) -> bool:
    if not webhook.get("matchConditions"):
        return True
    request = _admission_review(review, "")["request"]
    try:
        return are_met(webhook, request)
    except ConditionsError as error:
        resource = review.target.resource
        raise forbidden(resource.group, resource.plural, request["name"], str(error)) from None


def _server_name(config: Obj) -> str | None:
    service = config.get("service")
    return f"{service['name']}.{service['namespace']}.svc" if service else None


def _covers(rule: Obj, review: Review) -> bool:
    resource = review.target.resource
    plural = resource.plural + (f"/{review.target.subresource}" if review.target.subresource else "")
    scope = rule.get("scope", "*")
    return (
        _listed(rule.get("operations"), review.operation)
        and _listed(rule.get("apiGroups"), resource.group)
        and _listed(rule.get("apiVersions"), resource.version)
        and any(_fits(pattern, plural) for pattern in rule.get("resources") or ())
        and (scope == "*" or (scope == "Namespaced") == resource.namespaced)
    )


def _listed(values: list[str] | None, value: str) -> bool:
    return "*" in (values or ()) or value in (values or ())


def _fits(pattern: str, plural: str) -> bool:
    """Match a rule's resources: `*` excludes subresources, `*/*` includes them, `pods/*` and `*/scale` fix a side."""
    wanted, _, wanted_part = pattern.partition("/")
    name, _, part = plural.partition("/")
    return wanted in ("*", name) and (wanted_part == part or (wanted_part == "*" and "/" in pattern))


def _admission_review(review: Review, uid: str) -> Obj:
    resource, target = review.target.resource, review.target
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    plural = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    user = review.call.user
    name = target.name or (review.obj or {}).get("metadata", {}).get("name", "")
    request: dict[str, Any] = {
        "uid": uid,
        "kind": kind,
        "resource": plural,
        "requestKind": kind,
        "requestResource": plural,
        "name": name,
        "operation": review.operation,
        "userInfo": {"username": user.name, "uid": user.uid, "groups": list(user.groups)},
        "object": review.obj,
        "oldObject": review.old,
        "dryRun": review.call.dry_run,
        "options": None,
    }
    if target.namespace:
        request["namespace"] = target.namespace
    if target.subresource:
        request["subResource"] = request["requestSubResource"] = target.subresource
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def _denied(name: str, status: Obj) -> StatusError:
    code = status.get("code") or 403
    head = f'admission webhook "{name}" denied the request'
    text = status.get("message") or status.get("reason")
    message = f"{head}: {text}" if text else f"{head} without explanation"
    return StatusError(
        code if code >= 400 else 403, status.get("reason") or "Forbidden", message, status.get("details")
    )
