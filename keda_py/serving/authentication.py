"""Authentication: second stage of a request to `external_metrics/server.py`.

In this order: another replica's certificate, a front proxy (certificate by the request-header CA, X-Remote-* headers),
a client certificate, a bearer token. A caller without any of them is anonymous. Comes from `api_request.py`; the next
stage is `authorisation.py`. Behaviour reference, section 7.1.
"""

from collections.abc import Mapping
from typing import Protocol

from keda_py.clock import Clock
from keda_py.serving.api_request import ApiRequest
from keda_py.serving.authentication_config import AuthenticationConfig
from keda_py.serving.caller import ANONYMOUS, REPLICA, Caller
from keda_py.serving.front_proxy import authenticated
from keda_py.serving.reviews import TokenReviews
from keda_py.serving.statuses import unauthorized


class Replicas(Protocol):
    """Knowledge of the other replicas' certificates: `Peers`."""

    def is_peer(self, der: bytes) -> bool:
        """Return whether a client certificate (DER) belongs to another replica."""
        ...


class Authentication:
    """Identifies callers. `replicas` is None for a single replica. `clock` is real time: certificates expire by it."""

    def __init__(
        self, config: AuthenticationConfig, tokens: TokenReviews, clock: Clock, replicas: Replicas | None = None
    ) -> None:
        self._config, self._tokens, self._clock, self._replicas = config, tokens, clock, replicas

    async def caller(self, asked: ApiRequest) -> Caller:
        """Return who sent a request. Raises StatusError 401 for a token that the API server does not know."""
        caller = self.certified_caller(asked)
        return caller if caller is not None else await self._by_token(asked.headers)

    def certified_caller(self, asked: ApiRequest) -> Caller | None:
        """Return who sent a request, as far as a certificate tells."""
        return self._certified(asked.certificate, asked.headers) if asked.certificate is not None else None

    def _certified(self, der: bytes, headers: Mapping[str, str]) -> Caller | None:
        # A replica's certificate is by our own authority, which the cluster's configuration does not list.
        if self._replicas is not None and self._replicas.is_peer(der):
            return REPLICA
        trust = self._config.trust
        certified = trust.certified(der, self._clock.now())
        if certified is None:
            return None
        # A front proxy's headers count only with its certificate; without them it may still be a client of its own.
        if certified.is_front_proxy and (named := trust.front_proxy.caller(headers)) is not None:
            return named
        return authenticated(certified.client) if certified.client is not None else None

    async def _by_token(self, headers: Mapping[str, str]) -> Caller:
        scheme, _, token = headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        caller = await self._tokens.caller(token.strip())
        if caller is None:
            raise unauthorized()
        return caller
