"""`GuardedClient`: httpx's client, in which no credential follows a redirect to another origin.

An origin is scheme, host and port. httpx by itself drops Authorization there and nothing else; Go, and so KEDA, too.
What a request says of redirects is in `net/redirect_rule.py`. Rules of this file: what is checked is the very request
that would be sent next; an error shows scheme, host and port of a redirect, never its path or query. A user and a
password in an address leave it here and travel as Authorization, so that no log and no error has them.
"""

from typing import TYPE_CHECKING

import httpx

from keda_py.net.redirect_rule import EXTENSION, GUARDED, RedirectRule
from keda_py.net.tls import may_present_certificate

if TYPE_CHECKING:
    from httpx._client import UseClientDefault
    from httpx._types import AuthTypes

# Of HTTP itself: every request with a host or a body has them.
_PLAIN_HEADERS = frozenset({"host", "content-length", "content-type", "transfer-encoding"})
# What httpx has in place of "not given".
_DEFAULT = httpx.USE_CLIENT_DEFAULT


class RedirectRefused(httpx.RequestError):
    """A redirect leads where this request must not go."""


class GuardedClient(httpx.AsyncClient):
    """Follows redirects as `RedirectRule` has it."""

    async def send(
        self,
        request: httpx.Request,
        *,
        stream: bool = False,
        auth: "AuthTypes | UseClientDefault | None" = _DEFAULT,
        follow_redirects: "bool | UseClientDefault" = _DEFAULT,
    ) -> httpx.Response:
        """As httpx does. Raises RedirectRefused."""
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
        """One exchange; where a redirect leads stands in `next_request`."""
        if request.url.userinfo:
            user, password = request.url.username, request.url.password
            request.url = request.url.copy_with(userinfo=b"")
            if auth is _DEFAULT and "Authorization" not in request.headers:  # as in Go, a header goes first
                auth = httpx.BasicAuth(user, password)
        try:
            return await super().send(request, stream=stream, auth=auth, follow_redirects=False)
        except httpx.InvalidURL:  # of where it redirects to: our own address has been read before
            raise httpx.RemoteProtocolError("redirected to an address that cannot be read", request=request) from None


async def _finish(response: httpx.Response) -> None:
    """Read to the end, so that the connection can be used again."""
    try:
        await response.aread()
    finally:
        await response.aclose()


def _check(request: httpx.Request, following: httpx.Request, usual: frozenset[str]) -> None:
    """Raises RedirectRefused. `usual` are the headers of every request, in small letters."""
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
    """Without the scheme's own port, and in small letters."""
    return str(url.copy_with(userinfo=b"", path="/", query=None, fragment=None)).rstrip("/")


def _attached(request: httpx.Request, following: httpx.Request, rule: RedirectRule, usual: frozenset[str]) -> str:
    """What may be a credential, as a part of a sentence; "" for nothing."""
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
