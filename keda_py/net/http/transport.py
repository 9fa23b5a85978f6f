"""httpx transport over aiohttp: where a request leaves httpx and an answer comes back.

Rules of this file: every aiohttp error becomes the httpx error of the same meaning; no URL appears in an error text
(its query or userinfo may be a secret); virtual time stands still from the request until the answer's body is closed.
Time-outs are the loop's: `connect` bounds the wait for a connection, `read` everything after it, the whole body
included, as in Go's client. Each namespace has a share of the connections, within which its requests wait.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import lru_cache

import aiohttp
import httpx
from aiohttp.resolver import AsyncResolver
from yarl import URL

from keda_py.answers.bounds import AnswerBounds
from keda_py.answers.connections import Connections
from keda_py.answers.ledger import NoRoom
from keda_py.answers.work_context import note_server
from keda_py.clock import Clock
from keda_py.net.http.aiohttp_errors import FAILURES, as_httpx
from keda_py.net.http.bodies import BoundedAnswer, BoundedBody, check_size
from keda_py.net.http.exchanges import ConnectionPool, WireAnswer, WireRequest
from keda_py.net.http.heads import BoundedConnector
from keda_py.net.http.own_subject_certificates import OwnSubjectCertificates
from keda_py.net.http.requests import PlainRequest, wire_headers
from keda_py.net.http.sockets import Sockets
from keda_py.net.kept_address import encoded, server_of
from keda_py.net.proxies import Proxies

_MOST_REMEMBERED = 1024
"""Time-outs that are kept in the form that aiohttp takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeLimits:
    """Bounds on connections and answers, and the seconds an idle connection is kept (0: closed after each answer)."""

    connections: Connections
    idle_seconds: float
    answers: AnswerBounds


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpExchange:
    """One exchange, a redirect for itself, and its seconds until the answer's head; `status` is 0 without an answer."""

    status: int
    seconds: float


class _Held:
    """What a request holds until its answer's body is closed: virtual time, and a place among the connections."""

    __slots__ = ("_busy", "place")

    def __init__(self, clock: Clock) -> None:
        self.place: Callable[[], None] | None = None
        self._busy = clock.busy()
        self._busy.__enter__()

    def give_back(self) -> None:
        try:
            if self.place is not None:
                self.place()
        finally:
            self._busy.__exit__(None, None, None)


class AiohttpTransport(httpx.AsyncBaseTransport):
    """httpx transport over two pools of aiohttp, opened on first use because they need the running loop."""

    def __init__(
        self,
        *,
        clock: Clock,
        trust: Trust,
        proxies: Proxies,
        limits: ExchangeLimits,
        observe: Callable[[HttpExchange], None],
    ) -> None:
        self._clock, self._trust, self._proxies, self._limits = clock, trust, proxies, limits
        self._observe = observe
        self._sockets = Sockets(limits.connections.share // 2)
        self._pools: dict[bool, ConnectionPool] = {}
        """By whether they keep idle connections."""
        self._names: AsyncResolver | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; an answer's body that has not come yet is read later, through `BoundedBody` (`bodies.py`)."""
        await request.aread()
        held, clock, status = _Held(self._clock), asyncio.get_running_loop().time, 0
        began = clock()
        try:
            held.place = await self._connection(request)
            try:
                answer = await self._send(request)
            except FAILURES as error:
                raise as_httpx(error, request) from None
            body, status = self._body(answer, request), answer.message.code
        except BaseException:
            held.give_back()
            raise
        finally:
            self._observe(HttpExchange(status=status, seconds=clock() - began))
        if isinstance(body, bytes):
            held.give_back()
        else:
            body.give_back = held.give_back
        return BoundedAnswer(answer, body)

    def _body(self, answer: WireAnswer, request: httpx.Request) -> BoundedBody | bytes:
        if isinstance(content := answer.content, bytes):
            # No memory is reserved for what has come as a whole: nothing waits from here to its reader.
            answer.release()
            check_size(len(content), self._limits.answers, request)
            return content
        return BoundedBody(answer, content, request, self._limits.answers)

    async def _connection(self, request: httpx.Request) -> Callable[[], None]:
        """Wait for a place in the namespace's share of connections; the returned function gives it back."""
        host = (request.url.host, request.url.port)
        note_server(server_of(request.url))
        try:
            return await self._limits.connections.take(host, request.extensions.get("timeout", {}).get("pool"))
        except NoRoom as error:
            raise httpx.PoolTimeout(str(error), request=request) from None

    async def _send(self, request: httpx.Request) -> WireAnswer:
        url = encoded(request.url)
        proxy = self._proxies.for_url(url)
        # Plain HTTP needs no TLS context, and making the default one takes 45 ms.
        if url.scheme == "http" and proxy is None:
            return await self._open().ask(_wire_request(request, url, None, None))
        context = request.extensions.get("ssl") or self._trust.context
        server, own_subject_certificates = (url.raw_host or "", url.port or 0), self._trust.own_subject_certificates
        used = context if proxy else own_subject_certificates.context_for(context, server)
        clock, seconds = asyncio.get_running_loop().time, request.extensions.get("timeout", {}).get("connect")
        began = clock()
        try:
            return await self._open().ask(_wire_request(request, url, used, proxy))
        # Only the failed handshake leads here, so a server with an ordinary certificate costs nothing more.
        except aiohttp.ClientConnectorCertificateError as error:
            refusal = error.certificate_error
            if proxy or not isinstance(refusal, ssl.SSLCertVerificationError):
                raise
            learning = own_subject_certificates.learn(context, used, server, refusal)
            if not await _in_time(learning, _remaining(seconds, clock() - began)):
                raise
        learned = own_subject_certificates.context_for(context, server)
        return await self._open().ask(_wire_request(request, url, learned, None, clock() - began))

    def _open(self) -> ConnectionPool:
        """Return the connections for the current namespace, by whether it may keep another one."""
        # A namespace above its share gets those that are closed after each answer.
        keep = self._limits.idle_seconds if self._sockets.keeps else 0.0
        if bool(keep) not in self._pools:
            self._names = self._names or AsyncResolver()  # asynchronous for the reason that net/names.py gives
            connector = BoundedConnector(
                resolver=self._names,
                limit=0,
                force_close=not keep,
                keepalive_timeout=keep or None,
                socket_factory=self._sockets.make,
            )
            self._pools[bool(keep)] = ConnectionPool(connector, keep)
        return self._pools[bool(keep)]

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()
        if self._names is not None:
            await self._names.close()


def _wire_request(
    request: httpx.Request, url: URL, tls: ssl.SSLContext | None, proxy: URL | None, spent: float = 0.0
) -> WireRequest:
    plain = request if isinstance(request, PlainRequest) and request.is_unchanged and not spent else None
    if plain is not None and (kept := plain.wire) is not None and kept.url is url and kept.tls is tls:
        return kept
    timeout = request.extensions.get("timeout", {})
    pool, connect = timeout.get("pool"), timeout.get("connect")
    if spent:
        pool, connect = _remaining(pool, spent), _remaining(connect, spent)
    made = WireRequest(
        method=request.method,
        url=url,
        headers=wire_headers(request),
        body=request.content,
        tls=tls,
        proxy=proxy,
        timeout=_time_outs(pool, connect, timeout.get("read")),
    )
    if plain is not None:
        plain.wire = made
    return made


def _remaining(seconds: float | None, spent: float) -> float | None:
    """Return the rest of a time-out, never 0, which aiohttp takes for no time-out."""
    return None if seconds is None else max(seconds - spent, 0.001)


async def _in_time(answer: Awaitable[bool], seconds: float | None) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        return False


@lru_cache(_MOST_REMEMBERED)
def _time_outs(pool: float | None, connect: float | None, read: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(connect=pool, sock_connect=connect, sock_read=read)
