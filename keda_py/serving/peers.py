"""Mutual recognition of replicas by client certificates.

All replicas share an authority (`renewal/certificate_secret.py`, or files that another tool keeps). A peer is a client
with a client certificate of this authority for our own name; nothing else makes a peer. If we have the authority's key,
each replica issues its client certificate itself and keeps it in memory; if not, the serving certificate is used, if it
is also valid for clients. `operator/standby/forwarding.py` is the user on both sides.
"""

import ssl
from collections import OrderedDict

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from keda_py.clock import Clock
from keda_py.serving.certificates import (
    alternative_names,
    issue_client,
    pem,
    read_authority,
    read_bundle,
    read_leaf,
    signed_by,
)
from keda_py.serving.server_tls import ServerTls, load_pair
from keda_py.serving.serving_certificate import ServingCertificate

REMEMBERED = 64
"""Parsed certificates that are cached; parsing one costs 100 us."""


class Peers:
    """Peers by the certificates of `tls`. `name` is the DNS name all replicas serve under; `clock` is real time."""

    def __init__(self, tls: ServerTls, name: str, clock: Clock) -> None:
        self._tls, self.name, self._clock = tls, name, clock
        self._certificate: ServingCertificate | None = None
        self._contexts: list[ssl.SSLContext | None] = []
        """The one for requests to peers, once it is asked for: a replica that is alone never does."""
        self._authorities: tuple[x509.Certificate, ...] = ()
        self._known: OrderedDict[bytes, x509.Certificate | None] = OrderedDict()

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context for requests to a peer; None without a client certificate."""
        self._refresh()
        if not self._contexts:
            self._contexts.append(self._build(self._certificate) if self._certificate is not None else None)
        return self._contexts[0]

    def is_peer(self, der: bytes) -> bool:
        """Return whether a client certificate is another replica's; the handshake has proved that it has the key."""
        self._refresh()
        if der not in self._known:
            self._known[der] = self._read(der)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        found = self._known[der]
        return found is not None and found.not_valid_before_utc <= self._clock.now() < found.not_valid_after_utc

    def _read(self, der: bytes) -> x509.Certificate | None:
        """Return the certificate if it is a peer's, dates ignored."""
        leaf = x509.load_der_x509_certificate(der)
        is_ours = any(signed_by(leaf, authority) for authority in self._authorities)
        return leaf if is_ours and _is_for_clients(leaf) and self.name in alternative_names(leaf) else None

    def _refresh(self) -> None:
        """Drop everything derived from an earlier serving certificate."""
        certificate = self._tls.certificate
        if certificate is self._certificate:
            return
        self._certificate = certificate
        self._known.clear()
        self._authorities = read_bundle(certificate.ca) if certificate is not None else ()
        self._contexts.clear()

    def _build(self, certificate: ServingCertificate) -> ssl.SSLContext | None:
        authority, leaf = read_authority(certificate), read_leaf(certificate)
        if authority is not None:
            certificate = issue_client(authority, (self.name,), self._clock.now())
        elif leaf is None or not _is_for_clients(leaf):
            return None
        try:
            context = ssl.create_default_context(cadata=b"".join(map(pem, self._authorities)).decode())
            load_pair(context, certificate)
        except (ssl.SSLError, ValueError):
            return None
        return context


def _is_for_clients(leaf: x509.Certificate) -> bool:
    try:
        usages = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (x509.ExtensionNotFound, ValueError):
        return False
    return ExtendedKeyUsageOID.CLIENT_AUTH in usages
