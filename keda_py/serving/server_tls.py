"""TLS of our HTTPS ports: certificate and client authorities, both replaceable while serving.

A listening socket keeps one SSLContext for its life. Its `sni_callback`, which OpenSSL calls at each handshake (also
for clients that send no server name), switches the connection to the current context. Open connections keep theirs;
none is dropped.
"""

import asyncio
import contextlib
import io
import os
import ssl
import sys
from collections.abc import Callable, Sequence
from functools import partial

from keda_py.errors import ConfigError
from keda_py.net.tls import minimum_version, restrict_ciphers
from keda_py.serving.serving_certificate import ServingCertificate

# TLS 1.2 without CBC, unless ciphers are configured; every client of ours that knows TLS 1.2 has one of these.
_AUTHENTICATED_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
_DESCRIPTORS = "/proc/self/fd"


class ServerTls:
    """Certificate and client authorities of one process, shared by its ports."""

    def __init__(self, min_version: str = "TLS12", ciphers: Sequence[str] = ()) -> None:
        self._min_version, self._ciphers = minimum_version(min_version), ciphers
        self._authorities: tuple[str, ...] = ()
        self._certificate: ServingCertificate | None = None
        self._current: dict[ssl.VerifyMode, ssl.SSLContext] = {}
        self._subscribers: list[Callable[[], None]] = []
        self.shown = asyncio.Event()

    @property
    def certificate(self) -> ServingCertificate | None:
        """Return the current certificate; None before the first `show`, while handshakes fail."""
        return self._certificate

    def subscribe(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Call `tell` after each new certificate; the returned function ends that."""
        self._subscribers.append(tell)
        return partial(self._subscribers.remove, tell)

    def context(self, *, asks_clients: bool, insists: bool = False) -> ssl.SSLContext:
        """Return a context to listen with; `asks_clients` requests a client certificate, `insists` requires it."""
        mode = (ssl.CERT_REQUIRED if insists else ssl.CERT_OPTIONAL) if asks_clients else ssl.CERT_NONE
        if mode not in self._current:
            self._current[mode] = self._build(mode)
        # The outer context has no certificate. At each handshake `hand_over` replaces it by the current inner one, so
        # that a renewal needs no new listening socket.
        outer = self._bare(mode)

        def hand_over(connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
            connection.context = self._current[mode]

        outer.sni_callback = hand_over
        return outer

    def show(self, certificate: ServingCertificate) -> None:
        """Serve with another certificate from the next handshake on. Raises ConfigError and keeps the old one."""
        # Built before anything changes: a pair that does not load leaves the old one in use.
        before, self._certificate = self._certificate, certificate
        try:
            self._rebuild()
        except (ssl.SSLError, ValueError) as error:
            self._certificate = before
            raise ConfigError("tls.crt, tls.key: not a PEM certificate and the key that belongs to it") from error
        self.shown.set()
        for tell in self._subscribers:
            tell()

    def trust(self, authorities: Sequence[str]) -> None:
        """Accept client certificates by these (PEM texts) only. Raises ConfigError and keeps the old ones."""
        before, self._authorities = self._authorities, tuple(text for text in authorities if text.strip())
        try:
            self._rebuild()
        except (ssl.SSLError, ValueError) as error:
            self._authorities = before
            raise ConfigError("client CA: not a PEM certificate") from error

    def _rebuild(self) -> None:
        # Before the first port listens, one context is built to validate certificate and authorities.
        self._current = {mode: self._build(mode) for mode in self._current or (ssl.CERT_OPTIONAL,)}

    def _bare(self, mode: ssl.VerifyMode) -> ssl.SSLContext:
        """Make a context without certificate and authorities, which only the current inner context has."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._min_version
        if self._min_version >= ssl.TLSVersion.TLSv1_2:  # older versions have no such ciphers
            context.set_ciphers(_AUTHENTICATED_CIPHERS)
        restrict_ciphers(context, self._ciphers)
        # A resumed session is not verified again; every connection of ours is.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
        context.verify_mode = mode
        if mode is not ssl.CERT_NONE:
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return context

    def _build(self, mode: ssl.VerifyMode) -> ssl.SSLContext:
        context = self._bare(mode)
        if mode is not ssl.CERT_NONE:
            for text in self._authorities:
                context.load_verify_locations(cadata=text)
            if mode is ssl.CERT_OPTIONAL:
                self._accept_peers(context)
        if self._certificate is not None:
            load_pair(context, self._certificate)
        return context

    def _accept_peers(self, context: ssl.SSLContext) -> None:
        """Accept client certificates of our own authority, which replicas have; `peers.py` decides what they may."""
        if self._certificate is not None and self._certificate.ca:
            with contextlib.suppress(ssl.SSLError, ValueError):  # without a readable CA there are no peers
                context.load_verify_locations(cadata=self._certificate.ca.decode())


def load_pair(context: ssl.SSLContext, certificate: ServingCertificate) -> None:
    """Load certificate and key through a file that we alone can read: OpenSSL takes keys from files only."""
    text = certificate.key + b"\n" + certificate.certificate
    if (memory := _file_in_memory()) is not None:
        with memory:
            memory.write(text)
            context.load_cert_chain(f"{_DESCRIPTORS}/{memory.fileno()}")
        return
    import tempfile  # 0.4 MB

    with tempfile.NamedTemporaryFile(prefix="keda-py-", suffix=".pem") as file:
        file.write(text)
        file.flush()
        context.load_cert_chain(file.name)


def _file_in_memory() -> io.RawIOBase | None:
    """Open a file that is on no disk; None on systems without such files, or in a sandbox that forbids them."""
    if sys.platform != "linux" or not os.access(_DESCRIPTORS, os.X_OK):
        return None
    try:
        return os.fdopen(os.memfd_create("keda-py.pem"), "wb", buffering=0)
    except OSError:
        return None
