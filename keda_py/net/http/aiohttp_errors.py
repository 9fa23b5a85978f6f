"""Errors of aiohttp as the httpx errors of the same meaning.

No text repeats the address or a header: either may be a secret.
"""

import os

import aiohttp
import httpx
from aiohttp.http_exceptions import HttpProcessingError

FAILURES = (aiohttp.ClientError, HttpProcessingError, OSError, ValueError)
"""Errors with which a request, or the reading of its answer, can fail."""

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
    (
        (aiohttp.ClientResponseError, HttpProcessingError),
        httpx.RemoteProtocolError,
        "the answer is not HTTP, or its head is too long",
    ),
    ((aiohttp.ClientError, OSError), httpx.NetworkError, ""),
)


def as_httpx(error: Exception, request: httpx.Request) -> httpx.RequestError:
    """Return the httpx error for one of FAILURES."""
    kind, text = next((kind, text) for known, kind, text in _MEANING if isinstance(error, known))
    return kind(text or _cause(error), request=request)


def _cause(error: Exception) -> str:
    """Return the system's reason, such as "Connection refused", or why a certificate was not trusted."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"TLS: {error.certificate_error}"
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, ConnectionError) and cause.errno:  # asyncio's strerror contains the address
        return os.strerror(cause.errno)
    return (cause.strerror if isinstance(cause, OSError) else None) or type(cause).__name__
