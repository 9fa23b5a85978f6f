"""Who calls: client certificates, bearer tokens, or an anonymous user.

The cluster's own authority signs client certificates (common name = user, organisations = groups); tokens are issued
for ServiceAccounts and known only here. The front proxy's authority is another one: aggregated APIs trust its
certificate to speak for users.
"""

import secrets
import ssl
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta

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
"""Whom a token is meant for: without this one the API server refuses it."""
_SERVER_NAMES = ("kubernetes.default.svc", "kubernetes.default", "kubernetes", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """A bearer token's meaning; `ends` None is never."""

    user: User
    ends: datetime | None = None
    audiences: tuple[str, ...] = (API_AUDIENCE,)


class Identity:
    """The cluster's credentials: certificates live in real time, tokens on the cluster's clock."""

    def __init__(self, clock: Clock) -> None:
        made = SystemClock().now()
        self._clock = clock
        self._authority = Authority("kubernetes", made)
        self._front_authority = Authority("front-proxy-ca", made)
        self._tokens: dict[str, IssuedToken] = {}
        self._users: dict[bytes, User] = {}
        self.front_proxy = self._front_authority.client(FRONT_PROXY)

    @property
    def certificate_authority(self) -> bytes:
        """What clients trust, and what signs them; PEM."""
        return self._authority.certificate

    @property
    def front_proxy_authority(self) -> bytes:
        """What aggregated APIs trust the front proxy by; PEM."""
        return self._front_authority.certificate

    def server_context(self, address: str = "127.0.0.1") -> ssl.SSLContext:
        """TLS of the API server; a client certificate is welcome, not required."""
        pair = self._authority.server(_SERVER_NAMES, sorted({address, "127.0.0.1", "::1"} - {"0.0.0.0"}))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        load_pair(context, pair)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=self.certificate_authority.decode())
        return context

    def client_context(self, user: User) -> ssl.SSLContext:
        """TLS of a client that is `user`."""
        context = ssl.create_default_context(cadata=self.certificate_authority.decode())
        load_pair(context, self.client_pair(user))
        return context

    def client_pair(self, user: User) -> KeyPair:
        """A certificate that says `user`."""
        return self._authority.client(user.name, user.groups)

    def serving_pair(self, names: tuple[str, ...], addresses: tuple[str, ...]) -> KeyPair:
        """A certificate for a server inside the cluster, signed by the cluster's authority."""
        return self._authority.server(names, addresses)

    def issue(self, user: User, lifetime: timedelta | None = None, audiences: tuple[str, ...] = ()) -> str:
        """A new token for `user`, meant for the API server unless `audiences` names others."""
        token = secrets.token_urlsafe(32)
        ends = self._clock.now() + lifetime if lifetime is not None else None
        self._tokens[token] = IssuedToken(
            user=_with_authenticated(user), ends=ends, audiences=audiences or (API_AUDIENCE,)
        )
        return token

    def token(self, text: str) -> IssuedToken | None:
        """What a token means; None for an unknown or expired one."""
        known = self._tokens.get(text)
        if known is None or (known.ends is not None and known.ends <= self._clock.now()):
            return None
        return known

    def user_of(self, certificate: bytes | None, headers: dict[str, str]) -> User:
        """The caller of a request; StatusError 401 for a token that was not issued here."""
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
        """The handshake has verified it; reading it once is enough."""
        if certificate not in self._users:
            subject = x509.load_der_x509_certificate(certificate).subject
            names = [str(name.value) for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
            groups = [str(name.value) for name in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
            if not names:
                raise unauthorized()
            self._users[certificate] = _with_authenticated(User(name=names[0], groups=tuple(groups)))
        return self._users[certificate]


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """The user that a ServiceAccount's pods are."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(name=f"system:serviceaccount:{namespace}:{name}", groups=groups, uid=uid)


def impersonated(name: str, groups: tuple[str, ...]) -> User:
    """Another user, with the groups that the name or the caller gives."""
    parts = name.split(":")
    if not groups and parts[:2] == ["system", "serviceaccount"] and len(parts) == 4:
        return _with_authenticated(service_account(parts[2], parts[3]))
    return _with_authenticated(User(name=name, groups=groups))


def load_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Put certificate and key into a context; OpenSSL takes them from a file only."""
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # readable to us alone
        file.write(pair.key + pair.certificate)
        file.flush()
        context.load_cert_chain(file.name)


def _with_authenticated(user: User) -> User:
    if AUTHENTICATED in user.groups:
        return user
    return User(name=user.name, groups=(*user.groups, AUTHENTICATED), uid=user.uid)
