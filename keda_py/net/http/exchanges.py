"""Exchanges over the connections of aiohttp's pool: one request, and the head of its answer.

aiohttp's session needs 130 us of CPU for an exchange, of which pool, protocol and parser take 50. The rest prepares for
uploads, cookies, redirects and tracing, which `client.py` does not have or leaves to httpx. Rules of this file: what
goes to the wire is checked character by character, since tenants share connections; Content-Length is ours alone.
"""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import aiohttp
import re2
from aiohttp import hdrs
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader
from multidict import CIMultiDictProxy
from yarl import URL

_NAME = re2.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_METHOD, _TARGET = re2.compile(r"[A-Z]+"), re2.compile(r"[!-~]+")
_IN_VALUES = bytes(byte for byte in range(256) if byte == 9 or (byte >= 32 and byte != 127))
"""RFC 9110, 5.1 and 5.5."""
_SET_HERE = (b"content-length", b"transfer-encoding")
_FORBIDDEN = "a character that HTTP does not allow here"
_WITH_BODY = ("POST", "PUT", "PATCH")
_REPEATABLE = ("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE")
"""Methods that may be sent again when a kept connection turns out to be closed (RFC 9110, 9.2.2)."""
_INTERIM, _SWITCHING = range(100, 200), 101
_CHUNK = 64 * 1024
"""Bytes of an answer that are kept before its reader asks for them."""
_MOST_ROUTES = 1024


@dataclass(slots=True, kw_only=True)  # frozen ones take 2 us more to make
class WireRequest:
    """One request. `tls` None: aiohttp's own trust; `proxy` None: a direct connection."""

    method: str
    url: URL
    headers: Sequence[tuple[bytes, bytes]] = field(repr=False)
    body: bytes = field(repr=False)
    tls: ssl.SSLContext | None
    proxy: URL | None
    timeout: aiohttp.ClientTimeout


class WireAnswer:
    """Head of an answer, and its body as it comes. `release` keeps the connection for the next request."""

    __slots__ = ("_connection", "content", "headers", "raw_headers", "reason", "status")

    def __init__(self, connection: Connection, message: RawResponseMessage, content: StreamReader) -> None:
        self._connection, self.content = connection, content
        self.status, self.reason = message.code, message.reason
        self.headers: CIMultiDictProxy[str] = message.headers
        self.raw_headers = message.raw_headers

    def close(self) -> None:
        """Close the connection, now or, where it was given back before, not at all."""
        self._connection.close()

    def release(self) -> None:
        """Give the connection back to the pool."""
        self._connection.release()


class ConnectionPool:
    """Exchanges over one connector, which closes with them."""

    def __init__(self, connector: aiohttp.TCPConnector) -> None:
        self._connector = connector
        self._route = lru_cache(_MOST_ROUTES)(_route)

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
        await self._connector.close()

    async def _ask_once(self, request: WireRequest) -> WireAnswer:
        url = request.url
        if url.scheme not in ("http", "https"):
            raise aiohttp.NonHttpUrlClientError(url)
        if not url.raw_host:
            raise aiohttp.InvalidURL(url)
        route = self._route(url.origin(), request.tls, request.proxy)
        try:
            connection = await self._connector.connect(route, [], request.timeout)
        except TimeoutError:
            raise aiohttp.ConnectionTimeoutError("no connection in time") from None
        try:
            # After the connection is there, because aiohttp adds the login of a proxy to the route as it connects.
            text = _text(request, route)
            protocol = connection.protocol
            if protocol is None or protocol.transport is None:
                raise aiohttp.ServerDisconnectedError
            protocol.set_response_params(
                skip_payload=request.method == "HEAD",
                read_until_eof=True,
                read_bufsize=_CHUNK,
            )
            protocol.transport.write(text)
            return WireAnswer(connection, *await _answer(protocol, request.timeout.sock_read))
        except BaseException:
            # Closed and not given back, above all when cancelled: an answer that arrives later would be taken for that
            # of the next request on this connection, which may be another tenant's.
            connection.close()
            raise


async def _answer(protocol: ResponseHandler, seconds: float | None) -> tuple[RawResponseMessage, StreamReader]:
    """Wait so long for the answer that is not an interim one.

    One timer for the whole head: aiohttp's own is set again with each piece of it, and once more for the body, which
    has a time-out of its own in `bodies.py`.
    """
    timer = asyncio.get_running_loop().call_later(seconds, _end_late, protocol) if seconds else None
    try:
        while True:
            message, content = await protocol.read()
            if message.code not in _INTERIM or message.code == _SWITCHING:
                return message, content
    finally:
        if timer is not None:
            timer.cancel()


def _end_late(protocol: ResponseHandler) -> None:
    protocol.set_exception(aiohttp.SocketTimeoutError("no answer in time"))


def _route(origin: URL, tls: ssl.SSLContext | None, proxy: URL | None) -> aiohttp.ClientRequest:
    """Make what aiohttp's pool needs to know of a request in order to find or make its connection."""
    return aiohttp.ClientRequest("GET", origin, ssl=tls or True, proxy=proxy, loop=asyncio.get_running_loop())


def _text(request: WireRequest, route: aiohttp.ClientRequest) -> bytes:
    """Return the bytes of a request. Raises ValueError for a method, an address or a header with other characters
    than HTTP allows.
    """
    headers, target = request.headers, request.url.raw_path_qs
    if request.proxy is not None and request.url.scheme == "http":
        target = str(request.url.with_fragment(None))
        if login := route.headers.get(hdrs.PROXY_AUTHORIZATION):  # aiohttp makes it as it connects
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
