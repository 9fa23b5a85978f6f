"""Trust in client certificates: front proxies that speak for others, and clients that speak for themselves.

Read from the ConfigMap extension-apiserver-authentication (`authentication_config.py`) and from --client-ca-file. The
handshake has proved that a certificate is valid under one of the authorities and that the client has its key. Which
authority that is, and whether it still holds, is decided here at each request, so that an expired certificate or a
withdrawn authority is refused even on an open connection.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import orjson
from cryptography import x509
from cryptography.x509.oid import NameOID

from keda_py.errors import ConfigError
from keda_py.serving.caller import Caller
from keda_py.serving.certificates import read_bundle, signed_by
from keda_py.serving.front_proxy import FrontProxy, RequestHeaders

REMEMBERED = 1024
"""Parsed certificates that are cached; parsing one costs 100 us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustSpec:
    """PEM texts of authorities, and the headers in which a front proxy names the user."""

    front_proxy_ca: str = ""
    client_cas: tuple[str, ...] = ()
    allowed_names: tuple[str, ...] = ()
    """Common names that a front proxy may have; empty allows any."""
    headers: RequestHeaders = field(default_factory=RequestHeaders)

    @property
    def authorities(self) -> tuple[str, ...]:
        """Return the PEM texts of both kinds of authorities, for the handshake."""
        return tuple(filter(None, (self.front_proxy_ca, *self.client_cas)))


def read_trust(data: Mapping[str, str], client_ca: str = "") -> TrustSpec:
    """Read the ConfigMap's data and the text of --client-ca-file. Raises ConfigError."""
    return TrustSpec(
        front_proxy_ca=data.get("requestheader-client-ca-file", ""),
        client_cas=tuple(filter(None, (data.get("client-ca-file", ""), client_ca))),
        allowed_names=_names(data, "requestheader-allowed-names"),
        headers=RequestHeaders(
            user=_headers(data, "requestheader-username-headers"),
            uid=_headers(data, "requestheader-uid-headers") or ("x-remote-uid",),
            group=_headers(data, "requestheader-group-headers"),
            extra_prefixes=_headers(data, "requestheader-extra-headers-prefix"),
        ),
    )


def _headers(data: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(name.lower() for name in _names(data, key) if name)


def _names(data: Mapping[str, str], key: str) -> tuple[str, ...]:
    text = data.get(key, "")
    if not text:
        return ()
    try:
        names = orjson.loads(text)
    except orjson.JSONDecodeError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{key}: {text[:100]!r} is not a JSON list of strings", field=key)
    return tuple(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientIdentity:
    """Meaning of a client certificate, and its validity; `client` is None if it may not speak for itself."""

    is_front_proxy: bool
    client: Caller | None
    begins: datetime
    ends: datetime


class ClientTrust:
    """Evaluates client certificates under one TrustSpec, with a cache."""

    def __init__(self, spec: TrustSpec) -> None:
        self.spec = spec
        self.front_proxy = FrontProxy(spec.headers)
        self._front = read_bundle(spec.front_proxy_ca.encode())
        self._clients = tuple(authority for text in spec.client_cas for authority in read_bundle(text.encode()))
        self._known: OrderedDict[bytes, ClientIdentity] = OrderedDict()

    def certified(self, der: bytes, now: datetime) -> ClientIdentity | None:
        """Return the meaning of a certificate (DER) at `now`; None if it is not valid then."""
        found = self._known.get(der)
        if found is None:
            # Cached by the bytes of the certificate; its dates are checked at each call, below.
            found = self._known[der] = self._read(der)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return found if found.begins <= now < found.ends else None

    def _read(self, der: bytes) -> ClientIdentity:
        certificate = x509.load_der_x509_certificate(der)
        front, client = _signer(certificate, self._front), _signer(certificate, self._clients)
        names = _texts(certificate.subject, NameOID.COMMON_NAME)
        name = names[0] if names else ""
        allowed = not self.spec.allowed_names or name in self.spec.allowed_names
        signers = [authority for authority in (front, client) if authority is not None]
        groups = _texts(certificate.subject, NameOID.ORGANIZATION_NAME)
        return ClientIdentity(
            is_front_proxy=front is not None and allowed,
            client=Caller(name=name, groups=groups) if client is not None and name else None,
            begins=certificate.not_valid_before_utc,
            # Invalid as soon as the certificate or one of its authorities expires.
            ends=min((certificate.not_valid_after_utc, *(signer.not_valid_after_utc for signer in signers))),
        )


def _signer(certificate: x509.Certificate, authorities: Sequence[x509.Certificate]) -> x509.Certificate | None:
    """Return the authority that signed the certificate directly: an intermediate CA must be in the bundle itself."""
    return next((authority for authority in authorities if signed_by(certificate, authority)), None)


def _texts(subject: x509.Name, oid: x509.ObjectIdentifier) -> tuple[str, ...]:
    return tuple(str(attribute.value) for attribute in subject.get_attributes_for_oid(oid))
