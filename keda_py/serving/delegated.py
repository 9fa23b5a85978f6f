"""Who may ask, delegated to the cluster: the `Authenticator` of `external_metrics/server.py`.

In this order: a front proxy's word (certificate by the request-header CA, X-Remote-* headers), a client certificate,
a bearer token. Then the cluster's authoriser. Without any of them a caller is anonymous, and anonymous callers are
refused without a question. Behaviour reference, section 7.1.
"""

from aiohttp import web

from keda_py.clock import Clock
from keda_py.errors import KubeError
from keda_py.serving.authentication_config import AuthenticationConfig
from keda_py.serving.caller import ANONYMOUS, Caller, wanted_of
from keda_py.serving.front_proxy import authenticated
from keda_py.serving.ports.connection import Connection
from keda_py.serving.reviews import AccessReviews, TokenReviews
from keda_py.serving.statuses import bad_request, forbidden, internal_error, unauthorized

LONGEST_PATH = 2048
"""No name of Kubernetes' is longer than 253; what was asked is remembered for a while, and that shall cost little."""


class DelegatedAccess:
    """Authentication and authorisation of each request. `clock` is real time: certificates expire by it."""

    def __init__(self, config: AuthenticationConfig, tokens: TokenReviews, access: AccessReviews, clock: Clock) -> None:
        self._config, self._tokens, self._access, self._clock = config, tokens, access, clock

    async def check(self, request: web.Request) -> None:
        """Return if the caller may do what is asked. Raises StatusError 401, 403, or 500 when that is unknown."""
        _insist_on_form(request)
        caller = await self._authenticate(request)
        wanted = wanted_of(request.method, request.rel_url.raw_path, watches=_watches(request))
        if caller is ANONYMOUS:
            raise forbidden(caller, wanted)
        try:
            verdict = await self._access.decide(caller, wanted)
        except KubeError as error:
            raise internal_error(f"the API server cannot tell whether you may: {error}") from None
        if not verdict.allowed:
            raise forbidden(caller, wanted, verdict.reason)

    async def _authenticate(self, request: web.Request) -> Caller:
        trust, certified = self._config.trust, None
        if (der := peer_certificate(request)) is not None:
            certified = trust.certified(der, self._clock.now())
        if certified is not None:
            if certified.is_front_proxy and (named := trust.front_proxy.caller(request.headers)) is not None:
                return named
            if certified.client is not None:
                return authenticated(certified.client)
        return await self._by_token(request)

    async def _by_token(self, request: web.Request) -> Caller:
        scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        caller = await self._tokens.caller(token.strip())
        if caller is None:
            raise unauthorized()
        return caller


def _insist_on_form(request: web.Request) -> None:
    """Bytes that are no UTF-8 reach us as lone surrogates, which no JSON carries to the authoriser or back."""
    if len(request.rel_url.raw_path) > LONGEST_PATH:
        raise bad_request(f"the path is longer than {LONGEST_PATH} bytes")
    try:
        "".join((request.raw_path, *request.headers.values())).encode()
    except UnicodeEncodeError:
        raise bad_request("path and headers must be UTF-8") from None


def peer_certificate(request: web.Request) -> bytes | None:
    """The client certificate of the request's connection, DER."""
    connection = request.protocol
    return connection.certificate if isinstance(connection, Connection) else None


def _watches(request: web.Request) -> bool:
    return request.query.get("watch", "") in ("1", "true")
