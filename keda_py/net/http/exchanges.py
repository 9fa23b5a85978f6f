"""Exchanges over connections that aiohttp makes: one request, and the head of its answer.

aiohttp's session needs 130 us of CPU for an exchange. Most of it prepares for uploads, cookies, redirects and tracing,
which `client.py` does not have or leaves to httpx; its pool and its parser take 25. Rules of this file: what goes to
the wire is checked character by character, since tenants share connections; Content-Length is ours alone.
"""

import asyncio
import ssl
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TypeAlias

import aiohttp
import re2
from aiohttp import hdrs
from aiohttp.connector import Connection
from yarl import URL

from keda_py.net.http.heads import Answer, BoundedAnswers

_NAME = re2.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_METHOD, _TARGET = re2.compile(r"[A-Z]+"), re2.compile(r"[!-~]+")
_IN_VALUES = bytes(byte for byte in range(256) if byte == 9 or (byte >= 32 and byte != 127))
"""RFC 9110, 5.1 and 5.5."""
_SET_HERE = (b"content-length", b"transfer-encoding")
_FORBIDDEN = "a character that HTTP does not allow here"
_WITH_BODY = ("POST", "PUT", "PATCH")
_REPEATABLE = ("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE")
"""Methods that may be sent again when a kept connection turns out to be closed (RFC 9110, 9.2.2)."""
_MOST_ROUTES = 1024

Route: TypeAlias = tuple[str, str, ssl.SSLContext | None, URL | None]
"""Scheme, authority, trust and proxy: what requests must have in common to share connections."""


@dataclass(slots=True, kw_only=True)  # frozen ones take 2 us more to make
class WireRequest:
    """One request. `tls` None: aiohttp's own trust; `proxy` None: a direct connection. `text`: what was sent of it."""

    method: str
    url: URL
    headers: Sequence[tuple[bytes, bytes]] = field(repr=False)
    body: bytes = field(repr=False)
    tls: ssl.SSLContext | None
    proxy: URL | None
    timeout: aiohttp.ClientTimeout
    text: bytes | None = field(default=None, repr=False)


class WireAnswer:
    """Head of an answer, and its body, which occupies the connection until `release` or `close`."""

    __slots__ = ("_connection", "_keep", "content", "message")

    def __init__(self, answer: Answer, connection: Connection, keep: Callable[[Connection], None]) -> None:
        self.message, self.content = answer
        self._connection: Connection | None = connection
        self._keep = keep

    def close(self) -> None:
        """Close the connection, now or, where it was given back before, not at all."""
        if self._connection is not None:
            self._connection.close()

    def release(self) -> None:
        """Give the connection back to the pool, which keeps it for the next request."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._keep(connection)


class IdleConnections:
    """Connections that wait for a next request, each closed after so many seconds; the last one to come goes first.

    aiohttp's own pool takes 7 us a request for the same; for it they are in use all the time.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._has_timer = seconds, False
        self._idle: defaultdict[Route, deque[tuple[Connection, float]]] = defaultdict(deque)

    def take(self, route: Route) -> Connection | None:
        """Return a connection that is open, or None."""
        idle = self._idle.get(route)
        while idle:
            connection, _ = idle.pop()
            if not connection.closed:
                return connection
            connection.close()
        return None

    def keep(self, route: Route, connection: Connection) -> None:
        """Keep a connection, unless it must not be used again."""
        protocol = connection.protocol
        if not self._seconds or protocol is None or not protocol.is_connected() or protocol.should_close:
            connection.close()
            return
        loop = asyncio.get_running_loop()
        self._idle[route].append((connection, loop.time() + self._seconds))
        if not self._has_timer:
            self._has_timer = True
            loop.call_later(self._seconds, self._close_old)

    def release(self) -> None:
        """Give all of them to aiohttp's pool, which waits for their end when it is closed."""
        for idle in self._idle.values():
            for connection, _ in idle:
                connection.release()
        self._idle.clear()

    def _close_old(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for route, idle in list(self._idle.items()):
            while idle and (idle[0][1] <= now or idle[0][0].closed):
                idle.popleft()[0].close()
            if not idle:
                del self._idle[route]
        self._has_timer = bool(self._idle)
        if self._has_timer:
            nearest = min(idle[0][1] for idle in self._idle.values())
            loop.call_at(max(nearest, now + self._seconds / 10), self._close_old)  # a look at all takes 0.1 ms


class ConnectionPool:
    """Exchanges over one connector, which closes with them."""

    def __init__(self, connector: aiohttp.TCPConnector, idle_seconds: float) -> None:
        self._connector, self._idle = connector, IdleConnections(idle_seconds)
        self._made = lru_cache(_MOST_ROUTES)(_connection_request)

    async def ask(self, request: WireRequest) -> WireAnswer:
        """Send, and wait for the head of the answer. Raises an aiohttp error, OSError, or ValueError for characters."""
        try:
            return await self._ask_once(request)
        # No connection was made, so that none was found closed: to try again would only double the time-out.
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            raise
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
            # A server may close a kept connection at the moment at which we write to it, and may have worked on the
            # request by then: once more, and only where that does no harm.
            if request.method not in _REPEATABLE:
                raise
        return await self._ask_once(request)

    async def aclose(self) -> None:
        """Close all connections."""
        self._idle.release()
        await self._connector.close()

    async def _ask_once(self, request: WireRequest) -> WireAnswer:
        route = (request.url.scheme, request.url.raw_authority, request.tls, request.proxy)
        if (connection := self._idle.take(route)) is None:
            connection = await self._connect(request)
        try:
            protocol = connection.protocol
            if not isinstance(protocol, BoundedAnswers) or protocol.transport is None:
                raise aiohttp.ServerDisconnectedError
            # After the connection is there, because aiohttp adds the login of a proxy to its request as it connects.
            if (text := request.text) is None:
                text = request.text = _text(request, None if request.proxy is None else self._request_for(request))
            protocol.expect_answer(bodiless=request.method == "HEAD")
            protocol.transport.write(text)
            answer = await protocol.final_answer(request.timeout.sock_read)
            return WireAnswer(answer, connection, partial(self._idle.keep, route))
        except BaseException:
            # Closed and not given back, above all when cancelled: an answer that arrives later would be taken for that
            # of the next request on this connection, which may be another tenant's.
            connection.close()
            raise

    async def _connect(self, request: WireRequest) -> Connection:
        if request.url.scheme not in ("http", "https"):
            raise aiohttp.NonHttpUrlClientError(request.url)
        if not request.url.raw_host:
            raise aiohttp.InvalidURL(request.url)
        try:
            return await self._connector.connect(self._request_for(request), [], request.timeout)
        except TimeoutError:
            raise aiohttp.ConnectionTimeoutError("no connection in time") from None

    def _request_for(self, request: WireRequest) -> aiohttp.ClientRequest:
        return self._made(request.url.origin(), request.tls, request.proxy)


def _connection_request(origin: URL, tls: ssl.SSLContext | None, proxy: URL | None) -> aiohttp.ClientRequest:
    """Make what aiohttp's pool needs to know of a request in order to find or make its connection."""
    return aiohttp.ClientRequest("GET", origin, ssl=tls or True, proxy=proxy, loop=asyncio.get_running_loop())


def _text(request: WireRequest, proxied: aiohttp.ClientRequest | None) -> bytes:
    """Return the bytes of a request. Raises ValueError for a method, an address or a header with other characters
    than HTTP allows.
    """
    headers, target = request.headers, request.url.raw_path_qs
    if proxied is not None and request.url.scheme == "http":
        target = str(request.url.with_fragment(None))
        if login := proxied.headers.get(hdrs.PROXY_AUTHORIZATION):  # aiohttp makes it as it connects
            headers = [*headers, (b"Proxy-Authorization", login.encode())]
    parts = [_first_line(request.method, target)]
    # A pattern over the whole head costs 10 us. Values are secrets, so nothing is kept of them.
    for name, value in headers:
        if value.translate(None, _IN_VALUES):
            raise ValueError(_FORBIDDEN)
        if begin := _begin_of_line(name):
            parts += begin, value, b"\r\n"
    if request.body or request.method in _WITH_BODY:
        parts.append(b"Content-Length: %d\r\n" % len(request.body))
    return b"".join((*parts, b"\r\n", request.body))


@lru_cache(_MOST_ROUTES)
def _first_line(method: str, target: str) -> bytes:
    if _METHOD.fullmatch(method) is None or _TARGET.fullmatch(target) is None:
        raise ValueError(_FORBIDDEN)
    return f"{method} {target} HTTP/1.1\r\n".encode()


@lru_cache(_MOST_ROUTES)
def _begin_of_line(name: bytes) -> bytes:
    """Return a header's name and colon; b"" for a header that is set here."""
    if _NAME.fullmatch(name) is None:
        raise ValueError(_FORBIDDEN)
    return b"" if name.lower() in _SET_HERE else b"%s: " % name
