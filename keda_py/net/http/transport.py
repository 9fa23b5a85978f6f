"""httpx transport over aiohttp: where a request leaves httpx and an answer comes back.

Rules of this file: every aiohttp error becomes the httpx error of the same meaning; no URL appears in an error text
(its query or userinfo may be a secret); virtual time stands still from the request until the answer's body is closed.
Time-outs are the loop's: `connect` bounds the wait for a connection, `read` everything after it, the whole body
included, as in Go's client. Each namespace has a share of the connections, within which its requests wait.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import aiohttp
import httpx
from aiohttp.resolver import AsyncResolver
from yarl import URL

from keda_py.answers.bounds import AnswerBounds, too_long
from keda_py.answers.connections import Connections
from keda_py.answers.ledger import NoRoom
from keda_py.answers.servers import note
from keda_py.answers.tenants import tenant
from keda_py.clock import Clock
from keda_py.errors import AnswerTooLong
from keda_py.net.http.heads import BoundedConnector
from keda_py.net.http.own_subject_certificates import OwnSubjectCertificates
from keda_py.net.http.sockets import Sockets
from keda_py.net.proxies import Proxies

# httpx sets these headers itself; aiohttp must add none.
_NO_AUTOMATIC_HEADERS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_SET_BY_AIOHTTP = (b"content-length", b"transfer-encoding")
# aiohttp decompresses, in bounded steps, so that what unpacks from an answer is counted.
_OF_THE_PACKED_BODY = (b"content-encoding", b"content-length", b"transfer-encoding")
_UNKNOWN = 64 * 1024
"""Bytes reserved at first for an answer without Content-Length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Bound on connections, and the seconds an idle one is kept (0: closed after each answer)."""

    connections: Connections
    idle_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Default TLS context for requests without one, and the servers that need a context of their own.

    The default is made on first use: reading the system's authorities takes 45 ms of CPU.
    """

    make_context: Callable[[], ssl.SSLContext]
    own_subject_certificates: OwnSubjectCertificates
    _made: list[ssl.SSLContext] = field(default_factory=list)

    @property
    def context(self) -> ssl.SSLContext:
        """Return the default context, made once."""
        if not self._made:
            self._made.append(self.make_context())
        return self._made[0]


# aiohttp's error -> httpx's, with a text where aiohttp's own would repeat the address or a header. The first match
# counts, because aiohttp's classes overlap.
_MEANING: tuple[tuple[tuple[type[Exception], ...], type[httpx.RequestError], str], ...] = (
    ((aiohttp.ConnectionTimeoutError,), httpx.ConnectTimeout, "no connection in time"),
    ((aiohttp.ServerTimeoutError, TimeoutError), httpx.ReadTimeout, "no complete answer in time"),
    (
        (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError),
        httpx.ProxyError,
        "the proxy refused or cannot be reached",
    ),
    ((aiohttp.ClientConnectorError,), httpx.ConnectError, ""),
    (
        (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError),
        httpx.UnsupportedProtocol,
        "not an http:// or https:// address",
    ),
    ((ValueError,), httpx.LocalProtocolError, "a header or the address has a forbidden character"),
    (
        (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError),
        httpx.RemoteProtocolError,
        "the server closed the connection too early",
    ),
    ((aiohttp.ClientResponseError,), httpx.RemoteProtocolError, "the answer is not HTTP, or its head is too long"),
    ((aiohttp.ClientError, OSError), httpx.NetworkError, ""),
)


@contextmanager
def _as_httpx(request: httpx.Request) -> Iterator[None]:
    try:
        yield
    except (aiohttp.ClientError, OSError, ValueError) as error:
        kind, text = next((kind, text) for known, kind, text in _MEANING if isinstance(error, known))
        raise kind(text or _cause(error), request=request) from None  # its text may repeat the address


def _cause(error: Exception) -> str:
    """Return the system's reason, such as "Connection refused", or why a certificate was not trusted."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"TLS: {error.certificate_error}"
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, ConnectionError) and cause.errno:  # asyncio's strerror contains the address
        return os.strerror(cause.errno)
    return (cause.strerror if isinstance(cause, OSError) else None) or type(cause).__name__


class _Body(httpx.AsyncByteStream):
    """Body of an answer, bounded in bytes and time; memory for it is reserved before it is read."""

    def __init__(
        self, answer: aiohttp.ClientResponse, request: httpx.Request, answers: AnswerBounds, deadline: float | None
    ) -> None:
        self._answer, self._request, self._answers, self._deadline = answer, request, answers, deadline
        self._tenant, self._room = tenant(), 0
        self.held = ExitStack()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        most, received = self._answers.max_bytes, 0
        await self._take_room(_announced(self._answer, min(_UNKNOWN, most)))
        while chunk := await self._next_chunk():
            received += len(chunk)
            if received > self._room:
                await self._take_room(max(most, received))
            yield chunk

    async def _take_room(self, size: int) -> None:
        """Reserve memory for `size` bytes in all. Raises httpx.ReadError above the limit."""
        if size > self._answers.max_bytes:
            text = too_long(self._answers.max_bytes)
            raise httpx.ReadError(text, request=self._request) from AnswerTooLong(text)
        more, growing = size - self._room, bool(self._room)
        # The synchronous attempt comes first: nearly always there is room, and a wait would cost a time-out per answer.
        if more and not self._answers.ledger.try_take(self._tenant, more, growing=growing):
            await self._wait_for_room(more, growing=growing)
        self._room = size

    async def _wait_for_room(self, size: int, *, growing: bool) -> None:
        lack = f"too many large answers are on their way to {self._tenant or 'the operator'} at once"
        try:
            async with asyncio.timeout_at(self._deadline):
                await self._answers.ledger.take(self._tenant, size, growing=growing)
        except TimeoutError:
            raise httpx.ReadTimeout(f"no room for the answer in time, {lack}", request=self._request) from None
        except NoRoom:
            raise httpx.ReadError(f"no room for the answer, {lack}", request=self._request) from None

    async def _next_chunk(self) -> bytes:
        with _as_httpx(self._request):
            async with asyncio.timeout_at(self._deadline):
                return await self._answer.content.readany()

    async def aclose(self) -> None:
        """Release the connection; if the body was not read to its end, close it instead."""
        self._answer.release() if self._answer.content.at_eof() else self._answer.close()
        if self._room:
            self._answers.ledger.give_back(self._tenant, self._room)
            self._room = 0
        self.held.close()


class AiohttpTransport(httpx.AsyncBaseTransport):
    """httpx transport over two aiohttp sessions, opened on first use because they need the running loop."""

    def __init__(
        self, *, clock: Clock, trust: Trust, proxies: Proxies, limits: ConnectionLimits, answers: AnswerBounds
    ) -> None:
        self._clock, self._trust, self._proxies, self._limits, self._answers = clock, trust, proxies, limits, answers
        self._sockets = Sockets(limits.connections.share // 2)
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        """By whether they keep idle connections."""
        self._names: AsyncResolver | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the answer's body is read later, through `_Body`."""
        with ExitStack() as held:
            held.enter_context(self._clock.busy())
            held.callback(await self._connection(request))
            with _as_httpx(request):
                answer = await self._send(request)
            timeout = request.extensions.get("timeout", {}).get("read")
            deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
            body = _Body(answer, request, self._answers, deadline)
            # From here on the body holds the connection and the virtual time, until it is closed.
            body.held = held.pop_all()
        headers = [(name, value) for name, value in answer.raw_headers if name.lower() not in _OF_THE_PACKED_BODY]
        extensions = {"http_version": b"HTTP/1.1", "reason_phrase": (answer.reason or "").encode("latin-1", "replace")}
        return httpx.Response(answer.status, headers=headers, stream=body, extensions=extensions)

    async def _connection(self, request: httpx.Request) -> Callable[[], None]:
        """Wait for a place in the namespace's share of connections; the returned function gives it back."""
        host = (request.url.host, request.url.port)
        note(request.url.netloc.decode())
        try:
            return await self._limits.connections.take(host, request.extensions.get("timeout", {}).get("pool"))
        except NoRoom as error:
            raise httpx.PoolTimeout(str(error), request=request) from None

    async def _send(self, request: httpx.Request) -> aiohttp.ClientResponse:
        url = URL(str(request.url), encoded=True)
        # Plain HTTP needs no TLS context, and making the default one takes 45 ms.
        if url.scheme == "http" and self._proxies.for_url(url) is None:
            return await self._send_with(request, url, None)
        context = request.extensions.get("ssl") or self._trust.context
        server, own_subject_certificates = (url.raw_host or "", url.port or 0), self._trust.own_subject_certificates
        proxied = self._proxies.for_url(url) is not None
        used = context if proxied else own_subject_certificates.context_for(context, server)
        clock, seconds = asyncio.get_running_loop().time, request.extensions.get("timeout", {}).get("connect")
        began = clock()
        try:
            return await self._send_with(request, url, used)
        # Only the failed handshake leads here, so a server with an ordinary certificate costs nothing more.
        except aiohttp.ClientConnectorCertificateError as error:
            refusal = error.certificate_error
            if proxied or not isinstance(refusal, ssl.SSLCertVerificationError):
                raise
            learning = own_subject_certificates.learn(context, used, server, refusal)
            if not await _in_time(learning, _remaining(seconds, clock() - began)):
                raise
        return await self._send_with(
            request, url, own_subject_certificates.context_for(context, server), clock() - began
        )

    async def _send_with(
        self, request: httpx.Request, url: URL, context: ssl.SSLContext | None, spent: float = 0.0
    ) -> aiohttp.ClientResponse:
        timeout = request.extensions.get("timeout", {})
        return await self._open().request(
            request.method,
            url,
            headers=[(k.decode("latin-1"), v.decode("latin-1")) for k, v in request.headers.raw if _is_ours(k)],
            data=await request.aread() or None,
            allow_redirects=False,
            proxy=self._proxies.for_url(url),
            ssl=context or True,
            timeout=aiohttp.ClientTimeout(
                connect=_remaining(timeout.get("pool"), spent),
                sock_connect=_remaining(timeout.get("connect"), spent),
                sock_read=timeout.get("read"),
            ),
        )

    def _open(self) -> aiohttp.ClientSession:
        """Return the session for the current namespace, by whether it may keep another connection."""
        # A namespace above its share gets the session that closes each connection after its answer.
        keep = self._limits.idle_seconds if self._sockets.keeps else 0.0
        if bool(keep) not in self._sessions:
            self._names = self._names or AsyncResolver()  # asynchronous for the reason that net/names.py gives
            connector = BoundedConnector(
                resolver=self._names,
                limit=0,
                force_close=not keep,
                keepalive_timeout=keep or None,
                socket_factory=self._sockets.make,
            )
            self._sessions[bool(keep)] = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=_NO_AUTOMATIC_HEADERS,
                trust_env=False,
            )
        return self._sessions[bool(keep)]

    async def aclose(self) -> None:
        for session in self._sessions.values():
            await session.close()
        if self._names is not None:
            await self._names.close()


def _remaining(seconds: float | None, spent: float) -> float | None:
    """Return the rest of a time-out, never 0, which aiohttp takes for no time-out."""
    return None if seconds is None else max(seconds - spent, 0.001)


async def _in_time(answer: Awaitable[bool], seconds: float | None) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        return False


def _announced(answer: aiohttp.ClientResponse, otherwise: int) -> int:
    """Return the body's size by Content-Length, or `otherwise`; for a compressed body the header says nothing."""
    if answer.content_length is None or "Content-Encoding" in answer.headers:
        return otherwise
    return answer.content_length


def _is_ours(name: bytes) -> bool:
    return name.lower() not in _SET_BY_AIOHTTP
