"""Certificates that have the name of the authority that signed them: quick scripts give both the same subject.

OpenSSL takes such a certificate for self-signed and asks no further; Go, and so KEDA, looks at the signature. Here that
is done when OpenSSL has refused: a server whose certificate is signed by an authority that the context trusts gets a
context of its own, which believes that very certificate for that very server. Names, dates and usage are checked by
OpenSSL as ever. `transport.py` asks; a client certificate is not shown to such a server.
"""

import asyncio
import ssl
from weakref import WeakKeyDictionary

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from keda_py.clock import SystemClock

SELF_SIGNED = 18
"""OpenSSL's X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT."""
LOOK_SECONDS = 3.0

Server = tuple[str, int]


class Namesakes:
    """Servers with such certificates, for each context that refused them."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[ssl.SSLContext, dict[Server, ssl.SSLContext]] = WeakKeyDictionary()

    def context_for(self, context: ssl.SSLContext, server: Server) -> ssl.SSLContext:
        """The server's own context, or `context` itself."""
        return self._known.get(context, {}).get(server, context)

    async def learn(self, context: ssl.SSLContext, server: Server, refusal: ssl.SSLCertVerificationError) -> bool:
        """Whether the server has a context now that it had not when OpenSSL refused it."""
        forgotten = self._known.get(context, {}).pop(server, None)
        if refusal.verify_code != SELF_SIGNED and forgotten is None:
            return False
        own = await asyncio.to_thread(_own_context, context, server)
        if own is not None:
            self._known.setdefault(context, {})[server] = own
        return own is not None or forgotten is not None


def _own_context(context: ssl.SSLContext, server: Server) -> ssl.SSLContext | None:
    """None unless an authority of `context` has signed what the server shows."""
    try:
        pem = ssl.get_server_certificate(server, timeout=LOOK_SECONDS)
        shown = x509.load_pem_x509_certificate(pem.encode())
    except (OSError, ValueError):
        return None
    issuer = shown.issuer.public_bytes()
    namesakes = [der for der in context.get_ca_certs(binary_form=True) if issuer in der]
    if shown.subject != shown.issuer or not any(_signs(der, shown) for der in namesakes):
        return None
    own = ssl.create_default_context(cadata=pem)
    own.minimum_version = context.minimum_version
    own.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return own


def _signs(authority: bytes, shown: x509.Certificate) -> bool:
    try:
        signer = x509.load_der_x509_certificate(authority)
        if signer.subject != shown.issuer:
            return False
        shown.verify_directly_issued_by(signer)
        is_authority = signer.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    return is_authority and signer.not_valid_before_utc <= SystemClock().now() <= signer.not_valid_after_utc
