"""HTTP client in which no credential follows a redirect to another origin: `GuardedClient`.

An origin is scheme, host and port. httpx drops only Authorization there; so does Go, and with it KEDA. A request states
its rule in `net/redirect_rule.py`. Rules of this file: the check applies to the very request that would be sent next;
an error shows scheme, host and port of a redirect, never its path or query. A user and password in an address are
removed here and sent as Authorization, so that no log or error contains them.
"""

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx

from keda_py.net.http.requests import PlainRequests
from keda_py.net.redirect_rule import EXTENSION, GUARDED, RedirectRule
from keda_py.net.tls import may_present_certificate

if TYPE_CHECKING:
    from httpx._client import UseClientDefault
    from httpx._types import AuthTypes

# Headers that HTTP itself requires of every request with a host or a body.
_PLAIN_HEADERS = frozenset({"host", "content-length", "content-type", "transfer-encoding"})
# httpx's marker for a parameter that is not given.
_DEFAULT = httpx.USE_CLIENT_DEFAULT


class RedirectRefused(httpx.RequestError):
    """Refusal of a redirect to a place where this request must not go."""


class GuardedClient(httpx.AsyncClient):
    """httpx's client, following redirects only as `RedirectRule` allows."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._plain = PlainRequests(self)

    def build_request(self, method: str, url: httpx.URL | str, **given: Any) -> httpx.Request:
        """Build a request as httpx does; the usual kind, whose parts need no merging, in a third of the time."""
        return self._plain.build(method, url, given) or super().build_request(method, url, **given)

    async def send(
        self,
        request: httpx.Request,
        *,
        stream: bool = False,
        auth: "AuthTypes | UseClientDefault | None" = _DEFAULT,
        follow_redirects: "bool | UseClientDefault" = _DEFAULT,
    ) -> httpx.Response:
        """Send a request and follow its redirects. Raises RedirectRefused."""
        follows = self.follow_redirects if isinstance(follow_redirects, type(_DEFAULT)) else follow_redirects
        history: list[httpx.Response] = []
        while True:
            response = await self._send_once(request, stream=stream, auth=auth)
            response.history = list(history)
            if not follows or response.next_request is None:
                return response
            await _finish(response)
            history.append(response)
            if len(history) > self.max_redirects:
                raise httpx.TooManyRedirects(f"over {self.max_redirects} redirects", request=request)
            _check(request, response.next_request, frozenset(self.headers))
            request = response.next_request

    async def _send_once(
        self,
        request: httpx.Request,
        *,
        stream: bool,
        auth: "AuthTypes | UseClientDefault | None",
    ) -> httpx.Response:
        """Send one request; a redirect's target is in `next_request`."""
        if request.url.userinfo:
            user, password = request.url.username, request.url.password
            # Removed from the URL before anything can log it.
            request.url = request.url.copy_with(userinfo=b"")
            if auth is _DEFAULT and "Authorization" not in request.headers:  # as in Go, a header takes precedence
                auth = httpx.BasicAuth(user, password)
        try:
            if stream or auth is not _DEFAULT or "timeout" not in request.extensions or self.is_closed:
                return await super().send(request, stream=stream, auth=auth, follow_redirects=False)
            return await self._send_plainly(request)
        except httpx.InvalidURL:  # of the redirect's target: our own address was parsed before
            raise httpx.RemoteProtocolError("redirected to an address that cannot be read", request=request) from None

    async def _send_plainly(self, request: httpx.Request) -> httpx.Response:
        """Send what most requests are, complete and with its credentials in headers, and read the answer.

        httpx does the same in 60 us of CPU: it prepares for log-ins in several steps, keeps cookies, of which this
        client keeps none, and logs each request.
        """
        began = time.perf_counter()
        response = await self._transport.handle_async_request(request)
        response.request = request
        try:
            if response.has_redirect_location:
                response.next_request = self._build_redirect_request(request, response)
            if not response.is_closed:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        response.elapsed = timedelta(seconds=time.perf_counter() - began)
        return response


async def _finish(response: httpx.Response) -> None:
    """Read an answer to its end, so that the connection can be reused."""
    try:
        await response.aread()
    finally:
        await response.aclose()


def _check(request: httpx.Request, following: httpx.Request, usual: frozenset[str]) -> None:
    """Check one redirect. Raises RedirectRefused. `usual` are the headers of every request, in lower case."""
    rule: RedirectRule = request.extensions.get(EXTENSION, GUARDED)
    here, there = request.url, following.url
    if not rule.follow:
        refusal = f"redirected to {_origin(there)}, and a question for a token or a secret follows no redirect"
    elif here.scheme == "https" and there.scheme != "https":
        refusal = f"redirected from https to {_origin(there)}, which is never followed"
    elif _origin(here) == _origin(there):
        return
    elif attached := _attached(request, following, rule, usual):
        refusal = f"redirected to {_origin(there)}, another origin, where {attached} of this request must not go"
    else:
        return
    raise RedirectRefused(f"{refusal}: write the address that answers", request=request)


def _origin(url: httpx.URL) -> str:
    """Return scheme, host and port in lower case, without a default port."""
    return str(url.copy_with(userinfo=b"", path="/", query=None, fragment=None)).rstrip("/")


def _attached(request: httpx.Request, following: httpx.Request, rule: RedirectRule, usual: frozenset[str]) -> str:
    """Return the part of a request that may be a credential, for an error text; "" if no part may."""
    if "Authorization" in request.headers:
        return "the header Authorization"
    if "headers" not in rule.public and (own := set(request.headers) - usual - _PLAIN_HEADERS):
        return f"the header {min(own)}"
    if "query" not in rule.public and request.url.query:
        return "the query"
    if "body" not in rule.public and _has_body(following):
        return "the body"
    context = request.extensions.get("ssl")
    return "the client certificate" if context is not None and may_present_certificate(context) else ""


def _has_body(request: httpx.Request) -> bool:
    return "Transfer-Encoding" in request.headers or request.headers.get("Content-Length", "0") != "0"
