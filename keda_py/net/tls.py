"""TLS of clients: a trigger's settings, and the only place that turns them into an SSLContext.

Contexts are cached by their settings, because building one costs 20 ms of CPU and because connections are shared only
between requests with the same context: a context with a client certificate belongs to its tenant. The cache is weak: a
context lives as long as a scaler or a connection uses it.
"""

import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from weakref import WeakSet, WeakValueDictionary

from keda_py.errors import ConfigError
from keda_py.net.credential_keys import SharingKey, sharing_key
from keda_py.net.keys.pem import certificates
from keda_py.net.keys.private_keys import plain_private_key

_MOST_AUTHORITIES, _MOST_IN_CHAIN = 256, 10
"""Certificates; browsers trust about 150, and OpenSSL takes half a millisecond for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """PEM texts and switches of one trigger. All empty: the system's authorities, no client certificate.

    `http2`: the server is offered HTTP/2 and nothing else.
    """

    ca: str = field(default="", repr=False)
    cert: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    key_password: str = field(default="", repr=False)
    unsafe: bool = False
    http2: bool = False

    @property
    def credential(self) -> tuple[str, str, str]:
        """Return the client certificate, its key and the key's password."""
        return self.cert, self.key, self.key_password


_MIN_VERSIONS = {
    "TLS10": ssl.TLSVersion.TLSv1,
    "TLS11": ssl.TLSVersion.TLSv1_1,
    "TLS12": ssl.TLSVersion.TLSv1_2,
    "TLS13": ssl.TLSVersion.TLSv1_3,
}


_WITHOUT_CERTIFICATE: WeakSet[ssl.SSLContext] = WeakSet()


def may_present_certificate(context: ssl.SSLContext) -> bool:
    """Return whether a context may have a client certificate; unknown, so True, if not made by `TlsContexts`."""
    return context not in _WITHOUT_CERTIFICATE


class TlsContexts:
    """Cache of client contexts, one for each set of settings.

    `min_version` is KEDA_HTTP_MIN_TLS_VERSION, `ciphers` KEDA_HTTP_TLS_CIPHER_LIST (in Go's or OpenSSL's names),
    `ca_dirs` (--ca-dir) hold additional authorities. Raises ConfigError.
    """

    def __init__(self, min_version: str = "TLS12", ciphers: Sequence[str] = (), ca_dirs: Sequence[str] = ()) -> None:
        self._min_version, self._ciphers = minimum_version(min_version), tuple(ciphers)
        self._authorities = [
            str(path) for folder in ca_dirs for path in sorted(Path(folder).glob("*")) if path.is_file()
        ]
        self._verifying: WeakSet[ssl.SSLContext] = WeakSet()
        self._contexts: WeakValueDictionary[SharingKey, ssl.SSLContext] = WeakValueDictionary()

    def get(self, settings: TlsSettings, tenant: str) -> ssl.SSLContext:
        """Return the context for these settings. Raises ConfigError for a malformed PEM text."""
        # The client certificate is part of the key: connections are shared by context, and must not be across tenants.
        key = sharing_key(tenant, ("tls", settings.ca, settings.unsafe, settings.http2), *settings.credential)
        context = self._contexts.get(key)
        if context is None:
            context = self._contexts[key] = self._build(settings)
        return context

    @cached_property
    def authorities(self) -> Sequence[bytes]:
        """Authorities that the files of `ca_dirs` hold, DER; read once, where there are any."""
        if not self._authorities:
            return ()
        context = self._bare()
        for path in self._authorities:
            context.load_verify_locations(cafile=path)
        return context.get_ca_certs(binary_form=True)

    def trusts_directories(self, context: ssl.SSLContext) -> bool:
        """Return whether a context was made here and verifies servers, by the authorities of `ca_dirs`."""
        return context in self._verifying

    def pinned(self, certificate: bytes) -> ssl.SSLContext:
        """Make a context that trusts exactly this certificate (DER): no authority, no client certificate."""
        context = self._bare()
        context.load_verify_locations(cadata=certificate)
        return context

    def blind(self) -> ssl.SSLContext:
        """Make a context that trusts any certificate, to fetch one for inspection; nothing may be sent over it."""
        context = self._bare()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context

    def _bare(self) -> ssl.SSLContext:
        """Make a context with the configured versions and ciphers that trusts nothing."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = self._min_version
        restrict_ciphers(context, self._ciphers or _without_finite_fields())
        return context

    def _build(self, settings: TlsSettings) -> ssl.SSLContext:
        if bool(settings.cert) != bool(settings.key):
            raise ConfigError("cert and key belong together: give both or none", field="cert")
        context = ssl.create_default_context()
        # Python 3.13 sets it, and then refuses certificates without key identifiers, which many private CAs issue.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.minimum_version = self._min_version
        restrict_ciphers(context, self._ciphers or _without_finite_fields())
        for path in self._authorities:
            context.load_verify_locations(cafile=path)
        if settings.ca:
            _trust(context, settings.ca)
        if settings.cert:
            _present(context, settings)
        else:
            _WITHOUT_CERTIFICATE.add(context)
        if settings.http2:
            context.set_alpn_protocols(["h2"])
        if settings.unsafe:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        else:
            self._verifying.add(context)
        return context


def minimum_version(name: str) -> ssl.TLSVersion:
    """Parse TLS10, TLS11, TLS12 or TLS13. Raises ConfigError."""
    if name not in _MIN_VERSIONS:
        raise ConfigError(f'minimum TLS version "{name}" is unknown: use {", ".join(_MIN_VERSIONS)}')
    return _MIN_VERSIONS[name]


def restrict_ciphers(context: ssl.SSLContext, ciphers: Sequence[str]) -> None:
    """Allow only these ciphers, in Go's or OpenSSL's names; an empty list changes nothing. TLS 1.3's stay on, as in Go.

    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256. Raises ConfigError if none is known.
    """
    classic = [_openssl_name(name) for name in ciphers if not name.startswith("TLS_") or "_WITH_" in name]
    if not classic:
        return
    try:
        context.set_ciphers(":".join(classic))
    except ssl.SSLError as error:
        raise ConfigError(
            f"TLS ciphers: none of {':'.join(classic)} is known",
            field="KEDA_HTTP_TLS_CIPHER_LIST, KEDA_SERVICE_TLS_CIPHER_LIST",
        ) from error


@cache
def _without_finite_fields() -> tuple[str, ...]:
    """Return OpenSSL's ciphers without finite-field DHE, whose group the server chooses: 10 000 bits take 0.9 s."""
    known = ssl.create_default_context().get_ciphers()
    return tuple(cipher["name"] for cipher in known if cipher["kea"] != "kx-dhe")


def _openssl_name(name: str) -> str:
    if not name.startswith("TLS_"):
        return name
    exchange, _, rest = name.removeprefix("TLS_").partition("_WITH_")
    rest = rest.replace("AES_", "AES").replace("_CBC", "").replace("POLY1305_SHA256", "POLY1305")
    return f"{exchange}-{rest}".removeprefix("RSA-").replace("_", "-")


def _trust(context: ssl.SSLContext, ca: str) -> None:
    authorities = certificates(ca, "ca", _MOST_AUTHORITIES)
    try:
        context.load_verify_locations(cadata=b"".join(authorities))
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError("ca: is not a PEM certificate", field="ca") from error


def _present(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Load the client certificate through a temporary file, since OpenSSL reads no other source.

    The file gets the parsed certificates and one checked key, and nothing else that the tenant's texts contain.
    """
    import tempfile  # 0.4 MB, and few contexts have a client certificate

    chain = certificates(settings.cert, "cert", _MOST_IN_CHAIN)
    key = plain_private_key(settings.key, settings.key_password)
    descriptor, path = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.writelines([*map(ssl.DER_cert_to_PEM_cert, chain), key])
        context.load_cert_chain(path, password="")
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError("cert, key: not a PEM pair that fits", field="cert") from error
    finally:
        Path(path).unlink()
