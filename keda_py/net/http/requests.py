"""Requests of the usual kind, built without httpx's merging: an address, headers, perhaps bytes, and a time-out.

httpx takes 25 us to build one: it makes the headers three times and looks for uploads, cookies and parameters.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import httpx

from keda_py.net.http.exchanges import WireRequest

_MADE_HERE = frozenset({b"host", b"content-length", b"transfer-encoding"})
_MERGED = frozenset({"data", "files", "json", "params", "cookies"})
"""Arguments that httpx turns into something else."""
_WITH_BODY = ("POST", "PUT", "PATCH")
_DEFAULT = type(httpx.USE_CLIENT_DEFAULT)

Pairs: TypeAlias = Mapping[bytes, tuple[bytes, bytes]]
"""Headers by their names in lower case."""


class PlainRequest(httpx.Request):
    """A complete request; its headers are made when they are asked for, and sent as the pairs that they are made of."""

    wire: WireRequest | None = None
    """The form in which it was sent, for the next time."""

    def __init__(
        self,
        method: str,
        url: httpx.URL,
        pairs: list[tuple[bytes, bytes]],
        body: bytes,
        extensions: dict[str, Any],
    ) -> None:
        self.method, self.url, self.extensions = method, url, extensions
        self.stream, self._content = httpx.ByteStream(body), body
        self._pairs = pairs
        self._made_headers: httpx.Headers | None = None

    @property
    def headers(self) -> httpx.Headers:
        if self._made_headers is None:
            self._made_headers = httpx.Headers(self._pairs)
        return self._made_headers

    @headers.setter
    def headers(self, headers: httpx.Headers) -> None:
        self._made_headers = headers

    @property
    def is_unchanged(self) -> bool:
        """Return whether no caller has asked for the headers, which it could change."""
        return self._made_headers is None


def wire_headers(request: httpx.Request) -> list[tuple[bytes, bytes]]:
    """Return the headers as they go to the wire."""
    if isinstance(request, PlainRequest) and request.is_unchanged:
        return request._pairs
    return request.headers.raw


class PlainRequests:
    """Builds the requests that need nothing but the client's own headers and time-out."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._usual = {name.lower(): (name, value) for name, value in client.headers.raw}
        self._limits = client.timeout.as_dict()

    def build(self, method: str, url: httpx.URL | str, given: Mapping[str, Any]) -> httpx.Request | None:
        """Return the request that the client would build of these arguments; None if it has to do that itself."""
        seconds = given.get("timeout", httpx.USE_CLIENT_DEFAULT)
        given = {name: value for name, value in given.items() if value is not None}
        body = given.get("content", b"")
        own = _plain_pairs(given.get("headers", {}))
        if (
            not isinstance(url, httpx.URL)
            or not url.is_absolute_url
            or type(body) is not bytes
            or not isinstance(seconds, (float, int, _DEFAULT))
            or not given.keys().isdisjoint(_MERGED)
            or own is None
        ):
            return None
        method = method.upper()
        pairs = [(b"Host", url.netloc), *({**self._usual, **own} if own else self._usual).values()]
        if body or method in _WITH_BODY:
            pairs.append((b"Content-Length", b"%d" % len(body)))
        limits = (
            self._limits
            if isinstance(seconds, _DEFAULT)
            else dict.fromkeys(("connect", "read", "write", "pool"), seconds)
        )
        return PlainRequest(method, url, pairs, body, {"timeout": limits, **given.get("extensions", {})})


def _plain_pairs(headers: object) -> Pairs | None:
    """Return the headers as they go to the wire; None for those that httpx has to look at."""
    if not isinstance(headers, dict):
        return None
    try:
        own = {
            name.lower().encode("ascii"): (name.encode("ascii"), value.encode("ascii"))
            for name, value in headers.items()
        }
    except (AttributeError, UnicodeEncodeError):
        return None
    return own if len(own) == len(headers) and own.keys().isdisjoint(_MADE_HERE) else None
