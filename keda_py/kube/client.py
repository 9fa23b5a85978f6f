"""Kubernetes client: plain dicts in and out, every refusal an error of keda_py/errors.py.

Everything that talks to the API server goes through here: informers, scale, events, the lease, the operator's own reads
and writes. Rules: every request has a time-out, a 429 is obeyed, virtual time stands still while a request is open, and
an unexpected answer is an error, never an empty result.
"""

import asyncio
import copy
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import aiohttp
import orjson

from keda_py.answers.connections import Connections
from keda_py.answers.ledger import NoRoom
from keda_py.answers.work_context import current_work
from keda_py.clock import Clock
from keda_py.errors import NotLeading, ReadOnly, TooManyRequests, Unauthorized, Unavailable
from keda_py.kube.refusals import error_from_answer
from keda_py.kube.resources import EVERYTHING, Obj, ObjectPath, Resource, Selection
from keda_py.kube.transport import CONNECT_SECONDS, Request, Transport, read_body

REQUEST_SECONDS = 30.0
PAGE_SIZE = 500
# Requests at once for one namespace; each takes a connection. Measured: a burst of 1 000 was no faster with 100.
SHARE = 32
ATTEMPTS = 5
RETRY_AFTER_CAP = 30.0
# A page of 500 objects of etcd's largest size (1.5 MiB) would be 750 MiB; real pages stay far below a third of that.
BODY_LIMIT = 256 * 2**20


Propagation = Literal["Background", "Foreground", "Orphan"]


class PatchKind(StrEnum):
    """Content types of PATCH, one for each of the four ways to patch."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One answered or failed request, for our own metrics.

    `verb` is what API servers count (LIST and WATCH are not GET); `code` is 0 without an answer.
    """

    host: str
    verb: str
    resource: str
    code: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Limits of a client's requests.

    `share` bounds the requests under way for one namespace; watches are not counted. `write_seconds` bounds everything
    but GET: a leader sets it below lease duration minus renew deadline, so that no write of its own is still on its way
    when another replica takes over.
    """

    write_seconds: float = REQUEST_SECONDS
    share: int = SHARE


class KubeClient:
    """Async context manager. `observe` is called once per exchange with the API server, retries included.

    `remedy` tells which right is missing after a 403, by the resource's metrics label.
    """

    def __init__(
        self,
        clock: Clock,
        kubeconfig: str = "",
        *,
        observe: Callable[[Exchange], None] = lambda _: None,
        limits: RequestLimits = RequestLimits(),
        remedy: Callable[[str], str] = lambda _: "",
    ) -> None:
        self.clock = clock
        self._transport = Transport(kubeconfig)
        self._observe = observe
        self._write_seconds = limits.write_seconds
        self._remedy = remedy
        self._requests = Connections(limits.share)
        self._may_write: Callable[[], bool] = lambda: True
        self._sending: Callable[[], AbstractContextManager[None]] = nullcontext
        self._writes = True
        self.one_by_one = asyncio.Lock()
        """Lock around a request that all informers send at once after an outage, so that it takes one connection."""

    def guarded(
        self, may_write: Callable[[], bool], sending: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> Self:
        """Return a client for a leader's writes: `may_write` is asked as each write is sent; if false, NotLeading is
        raised.

        `sending` is entered for the duration of each write. The new client uses the connections of this one, and so
        must not outlive it.
        """
        guarded = copy.copy(self)
        guarded._may_write, guarded._sending = may_write, sending
        return guarded

    def read_only(self) -> Self:
        """Return a client that sends no write and raises ReadOnly instead; it must not outlive this one."""
        reader = copy.copy(self)
        reader._writes = False
        return reader

    async def __aenter__(self) -> Self:
        """Load the configuration. Raises ConfigError."""
        await self._transport.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.close()

    @property
    def url(self) -> str:
        return self._transport.url

    async def authorization(self) -> str:
        """Return our Authorization header, re-read as tokens rotate; "" without credentials. Raises Unavailable."""
        return await self._transport.authorization()

    async def get(self, path: ObjectPath) -> Obj:
        """Read one object. Raises NotFound and other KubeErrors, as all methods here do."""
        return await self.send(Request(method="GET", path=path.path, resource=path.label))

    async def list(self, resource: Resource, namespace: str = "", selection: Selection = EVERYTHING) -> list[Obj]:
        """Read all objects of a resource, page by page."""
        items: list[Obj] = []
        page = ""
        while True:
            query = {"limit": str(PAGE_SIZE), **selection.query(), **({"continue": page} if page else {})}
            answer = await self.list_page(resource, namespace, query)
            items.extend(answer.get("items") or ())
            page = (answer.get("metadata") or {}).get("continue") or ""
            if not page:
                return items

    async def list_page(self, resource: Resource, namespace: str, query: dict[str, str]) -> Obj:
        """Send one LIST request and return its page, `metadata.continue` included."""
        path = resource.collection(namespace)
        return await self.send(Request(method="GET", path=path, query=query, resource=resource.plural))

    async def create(self, resource: Resource, body: Obj) -> Obj:
        """POST into the namespace that `body` names. Raises AlreadyExists."""
        namespace = body.get("metadata", {}).get("namespace", "")
        path = resource.collection(namespace)
        return await self.send(Request(method="POST", path=path, body=body, resource=resource.plural))

    async def update(self, path: ObjectPath, body: Obj) -> Obj:
        """PUT. With metadata.resourceVersion in `body`, Conflict when another client wrote first."""
        return await self.send(Request(method="PUT", path=path.path, body=body, resource=path.label))

    async def patch(self, path: ObjectPath, body: Any, kind: PatchKind = PatchKind.MERGE) -> Obj:
        """Send a PATCH. An APPLY is sent as field manager keda-operator, and forced."""
        query = {"fieldManager": "keda-operator", "force": "true"} if kind is PatchKind.APPLY else {}
        headers = {"Content-Type": kind.value}
        request = Request(method="PATCH", path=path.path, query=query, body=body, headers=headers, resource=path.label)
        return await self.send(request)

    async def delete(
        self, path: ObjectPath, *, uid: str = "", resource_version: str = "", propagation: Propagation = "Background"
    ) -> Obj:
        """Delete an object and its dependents; Conflict if its uid or resourceVersion is not the given one."""
        pairs = (("uid", uid), ("resourceVersion", resource_version))
        body: Obj = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        if preconditions := {name: value for name, value in pairs if value}:
            body["preconditions"] = preconditions
        return await self.send(Request(method="DELETE", path=path.path, body=body, resource=path.label))

    async def send(self, request: Request) -> Obj:
        """Send a request and return its answer, which must be a JSON object. Raises Unavailable for another."""
        body = await self.raw(request)
        try:
            answer = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise Unavailable(f"{request.method} {request.path}: the answer is not JSON") from error
        if not isinstance(answer, dict) or not isinstance(answer.get("metadata", {}), dict):
            raise Unavailable(f"{request.method} {request.path}: the answer is not a Kubernetes object")
        return answer

    async def raw(self, request: Request) -> bytes:
        """Send a request and return the answer's body unparsed; 429 and 401 are retried within the time-out."""
        default = REQUEST_SECONDS if request.method == "GET" else self._write_seconds
        seconds = request.timeout or default
        with self.clock.busy():
            # The time limit includes the wait for a place, so that a crowded namespace fails instead of queueing for
            # ever.
            async with _bounded(request, seconds), self._place(request, seconds):
                return await self._attempt(request, asyncio.get_running_loop().time() + seconds)

    def is_crowded(self, namespace: str) -> bool:
        """Return whether a full share of the namespace's requests is already waiting for a free place."""
        return self._requests.waiting(namespace) >= self._requests.share

    @asynccontextmanager
    async def _place(self, request: Request, seconds: float) -> AsyncIterator[None]:
        """Hold one place of the namespace's share while the request is under way.

        Requests of the operator itself have no namespace and never wait: the Lease has to be renewed whatever tenants
        do.
        """
        if not current_work().namespace:
            yield
            return
        try:
            give_back = await self._requests.take(None, seconds)
        except NoRoom:
            raise Unavailable(f"{request.method} {request.path}: too many for this namespace at once") from None
        try:
            yield
        finally:
            give_back()

    @asynccontextmanager
    async def stream(self, request: Request, quiet_seconds: float) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open a long answer that the caller reads; Unavailable if nothing arrives for `quiet_seconds`."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=quiet_seconds)
        async with AsyncExitStack() as stack:
            with self.clock.busy():
                async with _bounded(request, REQUEST_SECONDS):
                    response = await self._open_stream(stack, request, timeout)
            yield response

    async def _open_stream(
        self, stack: AsyncExitStack, request: Request, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        try:
            return await stack.enter_async_context(self._answered(request, timeout))
        except Unauthorized:
            if not await self._transport.renew():
                raise
        return await stack.enter_async_context(self._answered(request, timeout))

    async def _attempt(self, request: Request, deadline: float) -> bytes:
        """Send until answered: a 429 waits as the server asks, a 401 renews the credentials once."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
        attempt = 0
        while True:
            attempt += 1
            if request.method != "GET" and not self._writes:
                raise ReadOnly(f"{request.method} {request.path}: not sent, a shadow writes nothing")
            # Asked anew at each attempt: a retry after a 429 may come after the renew deadline, when another replica
            # may write.
            if request.method != "GET" and not self._may_write():
                raise NotLeading(f"{request.method} {request.path}: not sent, another replica may be leading by now")
            try:
                with self._sending() if request.method != "GET" else nullcontext():
                    async with self._answered(request, timeout) as response:
                        return await _read(response)
            except Unauthorized:
                if attempt > 1 or not await self._transport.renew():
                    raise
            except TooManyRequests as refusal:
                # The jitter only lengthens the wait: the server's figure is a minimum, and replicas refused together
                # must spread.
                wait = min(refusal.retry_after, RETRY_AFTER_CAP) * random.uniform(1.0, 1.25)
                if attempt >= ATTEMPTS or asyncio.get_running_loop().time() + wait >= deadline:
                    raise
                await asyncio.sleep(wait)

    @asynccontextmanager
    async def _answered(
        self, request: Request, timeout: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send one exchange, count it, and yield the answer if it is a 2xx; raise the matching error otherwise."""
        loop = asyncio.get_running_loop()
        started, code = loop.time(), 0
        async with AsyncExitStack() as stack:
            try:
                response = await stack.enter_async_context(self._transport.exchange(request, timeout))
                code = response.status
            finally:
                seconds = loop.time() - started
                host, verb = urlsplit(self.url).netloc, _verb(request)
                self._observe(Exchange(host=host, verb=verb, resource=request.resource, code=code, seconds=seconds))
            if not 200 <= code < 300:
                retry_after, remedy = response.headers.get("Retry-After", ""), self._remedy(request.resource)
                raise error_from_answer(code, await _read(response), retry_after, remedy)
            yield response


def _verb(request: Request) -> str:
    if "watch" in request.query:
        return "WATCH"
    return "LIST" if "limit" in request.query else request.method


@asynccontextmanager
async def _bounded(request: Request, seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise Unavailable(f"{request.method} {request.path}: no answer in {seconds:g} s") from error


async def _read(response: aiohttp.ClientResponse) -> bytes:
    if (body := await read_body(response, BODY_LIMIT)) is None:
        raise Unavailable(f"{response.method} {response.url.path}: the answer is over {BODY_LIMIT} bytes")
    return body
