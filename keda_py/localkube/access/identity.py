"""Authentication: client certificates, bearer tokens, or an anonymous user.

The cluster's authority signs client certificates (common name = user, organisations = groups). Tokens are issued for
ServiceAccounts and known only to this process. The front proxy has an authority of its own: aggregated APIs accept user
names only from a client that it has signed. All clusters of a process share both authorities and the serving
certificate, since making them takes half the time in which a cluster starts.
"""

import secrets
import ssl
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.x509.oid import NameOID

from keda_py.clock import Clock, SystemClock
from keda_py.localkube.access.certificates import Authority, KeyPair
from keda_py.localkube.model.calls import ANONYMOUS, User
from keda_py.schema.status import unauthorized

ADMIN = User(name="kubernetes-admin", groups=("system:masters",))
AUTHENTICATED = "system:authenticated"
FRONT_PROXY = "front-proxy-client"
API_AUDIENCE = "https://kubernetes.default.svc.cluster.local"
"""The audience that the API server requires of a token."""
_SERVER_NAMES = ("kubernetes.default.svc", "kubernetes.default", "kubernetes", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """The user and audiences behind a bearer token; `ends` None means that it never expires."""

    user: User
    ends: datetime | None = None
    audiences: tuple[str, ...] = (API_AUDIENCE,)


class Identity:
    """The cluster's credentials: certificates run on real time, tokens on the cluster's clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._authority = _authority("kubernetes")
        self._front_authority = _authority("front-proxy-ca")
        self.front_proxy = _front_proxy()
        self._tokens: dict[str, IssuedToken] = {}
        self._users: dict[bytes, User] = {}

    @property
    def certificate_authority(self) -> bytes:
        """The authority (PEM) that signs servers and clients."""
        return self._authority.certificate

    @property
    def front_proxy_authority(self) -> bytes:
        """The authority (PEM) by which aggregated APIs verify the front proxy."""
        return self._front_authority.certificate

    def server_context(self, address: str = "127.0.0.1") -> ssl.SSLContext:
        """Build the API server's TLS; a client certificate is optional."""
        return _server_context(address)

    def client_context(self, user: User) -> ssl.SSLContext:
        """Build TLS that presents a certificate of `user`."""
        context = ssl.create_default_context(cadata=self.certificate_authority.decode())
        load_pair(context, self.client_pair(user))
        return context

    def client_pair(self, user: User) -> KeyPair:
        """Issue a client certificate for `user`."""
        return self._authority.client(user.name, user.groups)

    def serving_pair(self, names: tuple[str, ...], addresses: tuple[str, ...]) -> KeyPair:
        """Issue a serving certificate for a server inside the cluster."""
        return self._authority.server(names, addresses)

    def issue(self, user: User, lifetime: timedelta | None = None, audiences: tuple[str, ...] = ()) -> str:
        """Issue a token for `user`, for the API server unless `audiences` names others."""
        token = secrets.token_urlsafe(32)
        ends = self._clock.now() + lifetime if lifetime is not None else None
        self._tokens[token] = IssuedToken(
            user=_with_authenticated(user), ends=ends, audiences=audiences or (API_AUDIENCE,)
        )
        return token

    def token(self, text: str) -> IssuedToken | None:
        """The token's user and audiences; None for an unknown or expired token."""
        known = self._tokens.get(text)
        if known is None or (known.ends is not None and known.ends <= self._clock.now()):
            return None
        return known

    def user_of(self, certificate: bytes | None, headers: dict[str, str]) -> User:
        """Authenticate a request. Raises StatusError 401 for a token that was not issued here."""
        if certificate is not None:
            return self._certified(certificate)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if not scheme:
            return ANONYMOUS
        known = self.token(token.strip()) if scheme.lower() == "bearer" else None
        if known is None or API_AUDIENCE not in known.audiences:
            raise unauthorized()
        return known.user

    def _certified(self, certificate: bytes) -> User:
        """Read the user of a certificate that the handshake has verified; each is parsed once."""
        if certificate not in self._users:
            subject = x509.load_der_x509_certificate(certificate).subject
            names = [str(name.value) for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
            groups = [str(name.value) for name in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
            if not names:
                raise unauthorized()
            self._users[certificate] = _with_authenticated(User(name=names[0], groups=tuple(groups)))
        return self._users[certificate]


@cache
def _authority(name: str) -> Authority:
    return Authority(name, SystemClock().now())


@cache
def _front_proxy() -> KeyPair:
    return _authority("front-proxy-ca").client(FRONT_PROXY)


@cache
def _server_context(address: str) -> ssl.SSLContext:
    authority = _authority("kubernetes")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_pair(context, authority.server(_SERVER_NAMES, sorted({address, "127.0.0.1", "::1"} - {"0.0.0.0"})))
    # Clients with a token, or anonymous ones, have no certificate; the handshake verifies those that are sent.
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(cadata=authority.certificate.decode())
    return context


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """The user as which a ServiceAccount's pods call."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(name=f"system:serviceaccount:{namespace}:{name}", groups=groups, uid=uid)


def impersonated(name: str, groups: tuple[str, ...]) -> User:
    """The impersonated user: with the groups of the request, or else those that its name implies."""
    parts = name.split(":")
    if not groups and parts[:2] == ["system", "serviceaccount"] and len(parts) == 4:
        return _with_authenticated(service_account(parts[2], parts[3]))
    return _with_authenticated(User(name=name, groups=groups))


def load_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Load a key pair into a context; OpenSSL reads it from a file only."""
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # created with mode 0600
        file.write(pair.key + pair.certificate)
        file.flush()
        context.load_cert_chain(file.name)


def _with_authenticated(user: User) -> User:
    if AUTHENTICATED in user.groups:
        return user
    return User(name=user.name, groups=(*user.groups, AUTHENTICATED), uid=user.uid)
