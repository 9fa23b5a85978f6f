"""API aggregation: requests for a group with an APIService are forwarded to its server, as the front proxy.

The caller's identity travels in X-Remote-* headers, vouched for by the front proxy's client certificate, as with a real
kube-aggregator. A group may also be served in this process (`metrics_api.py`), until an APIService points elsewhere.
The routes call this for clients, the HPA controller for external metrics; `controllers/api_services.py` keeps the
Available conditions.
"""

import base64
import logging
import ssl
from collections.abc import AsyncGenerator, Callable

import aiohttp
import orjson
from multidict import CIMultiDict

from keda_py.localkube.access.certificates import KeyPair
from keda_py.localkube.access.identity import load_pair
from keda_py.localkube.model.calls import ApiAnswer, Call, text
from keda_py.localkube.store.services import Backend, ServiceAddresses, UnresolvedError
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj

log = logging.getLogger(__name__)

CONNECT_SECONDS, READ_SECONDS = 5.0, 60.0
# The number of connections that a real API server keeps to a metrics server.
CONNECTIONS_PER_HOST = 25
# Headers of one hop, and headers by which a caller could claim another user's identity: the backend trusts X-Remote-*
# of the front proxy, so a client's own must never pass.
_ONE_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "content-length"}
_IDENTITY = {"authorization", "x-remote-user", "x-remote-uid", "x-remote-group"}
_NOT_FORWARDED = _ONE_HOP | _IDENTITY | {"accept-encoding"}
_GENERIC_REFUSALS = {
    404: "the server could not find the requested resource",
    403: "forbidden",
    503: "the server is currently unable to handle the request",
}


class Aggregation:
    """Forwards requests for groups that the API server does not serve itself."""

    def __init__(self, store: Store, addresses: ServiceAddresses, front_proxy: KeyPair) -> None:
        self._store, self._addresses, self._front_proxy = store, addresses, front_proxy
        self._api_services = store.resources.get("apiregistration.k8s.io/v1", "APIService")
        self._here: dict[tuple[str, str], Callable[[Call], ApiAnswer]] = {}
        self._contexts: dict[tuple[str, bool], ssl.SSLContext] = {}
        self._session: aiohttp.ClientSession | None = None

    def serve_here(self, group: str, version: str, answer: Callable[[Call], ApiAnswer]) -> None:
        """Serve a group version in this process, unless an APIService names another server."""
        self._here[(group, version)] = answer

    def serves(self, group: str, version: str) -> bool:
        """Whether `forward` is responsible for this group version."""
        return (group, version) in self._here or self._remote(group, version) is not None

    async def forward(self, call: Call) -> ApiAnswer:
        """The other server's answer; 503 in plain text if it gives none, as from the real aggregator."""
        _, group, version, *_ = [part for part in call.path.split("/") if part]
        api_service = self._remote(group, version)
        if api_service is None:
            here = self._here.get((group, version))
            return here(call) if here is not None else text("404 page not found\n", 404)
        return await self.ask(api_service, call)

    async def ask(self, api_service: Obj, call: Call) -> ApiAnswer:
        """Send the request to the APIService's server."""
        try:
            backend = self.backend(api_service)
        except UnresolvedError:
            return text("service unavailable\n", 503)
        try:
            response = await self._request(api_service, backend, call)
            # A watch does not end, so it is passed on as it comes; all else is read whole, so that a connection which
            # breaks half-way becomes a 503 instead of a truncated answer.
            if call.query.get("watch") or call.query.get("follow"):
                return _answer(response, stream=_chunks(response))
            async with response:
                return _answer(response, body=await response.read())
        except (OSError, aiohttp.ClientError) as error:
            fields = {"url": backend.url, "error": repr(error)}
            log.debug("aggregated API does not answer", extra=fields)
            return text(f"error trying to reach service: {error or type(error).__name__}\n", 503)

    def backend(self, api_service: Obj) -> Backend:
        """The address of the APIService's server. Raises UnresolvedError."""
        return self._addresses.backend_of(api_service["spec"]["service"])

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _remote(self, group: str, version: str) -> Obj | None:
        found = self._store.find(self._api_services, "", f"{version}.{group}")
        return found if found is not None and found["spec"].get("service") else None

    async def _request(self, api_service: Obj, backend: Backend, call: Call) -> aiohttp.ClientResponse:
        if self._session is None:
            # Limited by host alone: a slow backend must not use up the connections of the others.
            connector = aiohttp.TCPConnector(limit=0, limit_per_host=CONNECTIONS_PER_HOST)
            self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        return await self._session.request(
            call.method,
            f"{backend.url}{call.path}",
            params=dict(call.query),
            data=call.body or None,
            headers=_forwarded(call),
            ssl=self._context(api_service["spec"]),
            server_hostname=backend.server_name,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS),
            allow_redirects=False,
        )

    def _context(self, spec: Obj) -> ssl.SSLContext:
        """TLS for one CA bundle; kept, since building a context takes 20 ms."""
        key = (spec.get("caBundle") or "", bool(spec.get("insecureSkipTLSVerify")))
        context = self._contexts.get(key)
        if context is None:
            bundle = base64.b64decode(key[0]).decode() if key[0] else None
            context = self._contexts[key] = ssl.create_default_context(cadata=bundle)
            if key[1]:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            load_pair(context, self._front_proxy)
        return context


def status_message(answer: ApiAnswer, what: str) -> str:
    """The error text of client-go for a refusal: the Status message, or one about `what` ("get x")."""
    try:
        body = orjson.loads(answer.encode())
    except orjson.JSONDecodeError:
        body = None
    if isinstance(body, dict) and body.get("kind") == "Status" and body.get("message"):
        return str(body["message"])
    return f"{_GENERIC_REFUSALS.get(answer.status, 'an error on the server has prevented the request')} ({what})"


def _forwarded(call: Call) -> CIMultiDict[str]:
    headers = CIMultiDict((name, value) for name, value in call.headers.items() if name not in _NOT_FORWARDED)
    headers.add("X-Remote-User", call.user.name)
    if call.user.uid:
        headers.add("X-Remote-Uid", call.user.uid)
    for group in call.user.groups:
        headers.add("X-Remote-Group", group)
    headers.add("Accept-Encoding", "identity")
    return headers


def _answer(
    response: aiohttp.ClientResponse, *, body: bytes | None = None, stream: AsyncGenerator[bytes, None] | None = None
) -> ApiAnswer:
    content_type = response.headers.get("Content-Type", "application/json")
    return ApiAnswer(status=response.status, body=body, content_type=content_type, stream=stream)


async def _chunks(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    async with response:
        async for chunk in response.content.iter_any():
            yield chunk
