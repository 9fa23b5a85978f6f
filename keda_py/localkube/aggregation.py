"""API aggregation: requests for a group that an APIService hands to somebody else go there, over HTTPS, as front proxy.

The caller's identity travels in X-Remote-* headers behind our own client certificate, as with a real kube-aggregator.
A Service is found by its EndpointSlices, its Endpoints, or its externalName. Called by the routes for clients, and by
the HPA controller for external metrics; `controllers/api_services.py` keeps the APIServices' Available condition.
"""

import base64
import logging
import ssl
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

import aiohttp
import orjson
from multidict import CIMultiDict

from keda_py.localkube.calls import Answer, Call, text
from keda_py.localkube.resources import Obj
from keda_py.localkube.selectors import LabelSelector
from keda_py.localkube.store import Store

log = logging.getLogger(__name__)

CONNECT_SECONDS, READ_SECONDS = 5.0, 60.0
SERVICE_NAME = "kubernetes.io/service-name"
# Headers that belong to one hop, or that would let a caller choose an identity.
_ONE_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "content-length"}
_IDENTITY = {"authorization", "x-remote-user", "x-remote-uid", "x-remote-group"}
_NOT_FORWARDED = _ONE_HOP | _IDENTITY | {"accept-encoding"}
_UNAVAILABLE = (ConnectionError, TimeoutError, aiohttp.ClientError, ssl.SSLError)


@dataclass(frozen=True, slots=True)
class Backend:
    """Where an APIService's server listens, and the name its certificate must carry."""

    host: str
    port: int
    server_name: str


class UnresolvedError(Exception):
    """The APIService's Service leads nowhere; `reason` as in its Available condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Aggregation:
    """Forwards requests to the servers behind APIServices."""

    def __init__(self, store: Store, front_proxy: tuple[str, str]) -> None:
        """`front_proxy`: the files of our client certificate and its key."""
        self._store, self._front_proxy = store, front_proxy
        self._api_services = store.resources.get("apiregistration.k8s.io/v1", "APIService")
        self._contexts: dict[tuple[str, bool], ssl.SSLContext] = {}
        self._session: aiohttp.ClientSession | None = None

    def api_service(self, group: str, version: str) -> Obj | None:
        """The APIService that hands this group version to another server, None when it is our own."""
        found = self._store.find(self._api_services, "", f"{version}.{group}")
        return found if found is not None and found["spec"].get("service") else None

    async def forward(self, api_service: Obj, call: Call) -> Answer:
        """The other server's answer, or 503 in plain text as the real aggregator has it."""
        try:
            backend = self.resolve(api_service)
        except UnresolvedError:
            return text("service unavailable\n", 503)
        try:
            response = await self._request(api_service, backend, call)
            if call.query.get("watch") or "follow" in call.query:
                return _answer(response, None, _chunks(response))
            async with response:
                return _answer(response, await response.read(), None)
        except _UNAVAILABLE as error:
            where = f"{backend.host}:{backend.port}"
            log.debug("aggregated API does not answer", extra={"address": where, "error": repr(error)})
            return text(f"error trying to reach service: {where}: {error or type(error).__name__}\n", 503)

    def resolve(self, api_service: Obj) -> Backend:
        """The address behind the APIService; UnresolvedError."""
        reference = api_service["spec"]["service"]
        namespace, name, port = reference["namespace"], reference["name"], reference.get("port", 443)
        service = self._store.find(self._store.resources.get("v1", "Service"), namespace, name)
        if service is None:
            raise UnresolvedError("ServiceNotFound", f'service/{name} in "{namespace}" is not present')
        server_name = f"{name}.{namespace}.svc"
        if service["spec"].get("type") == "ExternalName":
            return Backend(service["spec"]["externalName"], port, server_name)
        ports = service["spec"].get("ports") or ()
        chosen = next((entry for entry in ports if entry["port"] == port), None)
        if chosen is None:
            message = f'service/{name} in "{namespace}" is not listening on port {port}'
            raise UnresolvedError("ServicePortError", message)
        host, target = self._endpoint(namespace, name, chosen.get("name", ""))
        return Backend(host, target, server_name)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _endpoint(self, namespace: str, name: str, port_name: str) -> tuple[str, int]:
        """One ready address of the Service and the number of its named port."""
        slices = self._store.resources.get("discovery.k8s.io/v1", "EndpointSlice")
        selector = LabelSelector.of({"matchLabels": {SERVICE_NAME: name}})
        for endpoint_slice in self._store.list(slices, namespace, labels=selector):
            ready = (e for e in endpoint_slice.get("endpoints") or () if _serves(e))
            addresses = [address for endpoint in ready for address in endpoint["addresses"]]
            if addresses and (port := _port(endpoint_slice.get("ports"), port_name)):
                return addresses[0], port
        endpoints = self._store.find(self._store.resources.get("v1", "Endpoints"), namespace, name)
        for subset in (endpoints or {}).get("subsets") or ():
            if subset.get("addresses") and (port := _port(subset.get("ports"), port_name)):
                return subset["addresses"][0]["ip"], port
        message = f'endpoints for service/{name} in "{namespace}" have no addresses with port name "{port_name}"'
        raise UnresolvedError("MissingEndpoints", message)

    async def _request(self, api_service: Obj, backend: Backend, call: Call) -> aiohttp.ClientResponse:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, limit_per_host=64)
            self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS)
        return await self._session.request(
            call.method,
            f"https://{backend.host}:{backend.port}{call.path}",
            params=dict(call.query),
            data=call.body or None,
            headers=_forwarded(call),
            ssl=self._context(api_service["spec"]),
            server_hostname=backend.server_name,
            timeout=timeout,
            allow_redirects=False,
        )

    def _context(self, spec: Mapping[str, object]) -> ssl.SSLContext:
        """One context for each trust, kept: building one costs 20 ms."""
        key = (str(spec.get("caBundle") or ""), bool(spec.get("insecureSkipTLSVerify")))
        context = self._contexts.get(key)
        if context is None:
            bundle = base64.b64decode(key[0]).decode() if key[0] else None
            context = self._contexts[key] = ssl.create_default_context(cadata=bundle)
            if key[1]:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.load_cert_chain(*self._front_proxy)
        return context


def _forwarded(call: Call) -> CIMultiDict[str]:
    headers = CIMultiDict((k, v) for k, v in call.headers.items() if k.lower() not in _NOT_FORWARDED)
    headers.add("X-Remote-User", call.user.name)
    if call.user.uid:
        headers.add("X-Remote-Uid", call.user.uid)
    for group in call.user.groups:
        headers.add("X-Remote-Group", group)
    headers.add("Accept-Encoding", "identity")
    return headers


def _answer(response: aiohttp.ClientResponse, body: bytes | None, stream: AsyncGenerator[bytes, None] | None) -> Answer:
    content_type = response.headers.get("Content-Type", "application/json")
    return Answer(status=response.status, body=body, content_type=content_type, stream=stream)


async def _chunks(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    async with response:
        async for chunk, _ in response.content.iter_chunks():
            yield chunk


def _serves(endpoint: Obj) -> bool:
    return bool((endpoint.get("conditions") or {}).get("ready", True)) and bool(endpoint.get("addresses"))


def _port(ports: list[Obj] | None, name: str) -> int:
    """The number of the port of that name; a lone unnamed port is meant by every name."""
    found = [entry["port"] for entry in ports or () if (entry.get("name") or "") == name]
    number: int = found[0] if found else 0
    return number


def status_message(answer: Answer, what: str) -> str:
    """What a client makes of a refusal: the Status message, or words of its own about `what` ("get x")."""
    try:
        body = orjson.loads(answer.encode())
        message = body.get("message", "") if isinstance(body, dict) and body.get("kind") == "Status" else ""
    except orjson.JSONDecodeError:
        message = ""
    generic = {
        404: "the server could not find the requested resource",
        403: "forbidden",
        503: "the server is currently unable to handle the request",
    }
    return message or f"{generic.get(answer.status, 'an error on the server has prevented the request')} ({what})"
