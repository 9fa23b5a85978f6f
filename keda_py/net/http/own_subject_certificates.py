"""Certificates with the same name as the authority that signed them, as quick scripts make them.

OpenSSL takes such a certificate for self-signed and looks no further; Go, and so KEDA, checks the signature. So after
OpenSSL has refused one, and if --ca-dir holds authorities, the server's certificate is fetched once. If one of these
authorities has issued it (`IssuedPath` decides), the server gets a context of its own that trusts that certificate and
nothing else. OpenSSL still checks name, dates and usage at each connection, with the configured versions and ciphers.
`transport.py` calls this.

Rules: authorities of triggers or of the system do not count; no client certificate is presented; the fetches are
bounded in time and number and use no thread; a result expires with the first certificate of the path, after an hour at
the latest.
"""

import asyncio
import logging
import ssl
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Generic, Self, TypeVar
from weakref import WeakValueDictionary

from cryptography import x509
from cryptography.x509.verification import Criticality, ExtensionPolicy, PolicyBuilder, Store, VerificationError

from keda_py.clock import Clock
from keda_py.net.names import addresses
from keda_py.net.tls import TlsContexts

_LEAF = ExtensionPolicy.webpki_defaults_ee().may_be_present(x509.AuthorityKeyIdentifier, Criticality.AGNOSTIC, None)
# A constraint that the verifier does not understand is fatal only if it is critical, as RFC 5280 demands.
_AUTHORITY = ExtensionPolicy.webpki_defaults_ca().may_be_present(x509.NameConstraints, Criticality.CRITICAL, None)


class IssuedPath:
    """Path from a server's certificate to an authority of the same name, checked by cryptography's verifier.

    It checks signature, dates, usage, name constraints, path length and the server's name. One of its rules for the
    public web is lifted: Go's certificates of this kind carry no identifier of their authority's key.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def of(cls, authorities: Iterable[bytes]) -> Self | None:
        """Build for these authorities (DER). None without authorities; those that cannot be parsed are skipped."""
        loaded = []
        for authority in authorities:
            with suppress(ValueError):
                loaded.append(x509.load_der_x509_certificate(authority))
        return cls(Store(loaded)) if loaded else None

    def ends(self, shown: bytes, host: str, now: datetime) -> datetime:
        """Return when the first certificate of the path of `shown` (DER) expires. Raises ValueError with a reason."""
        leaf = x509.load_der_x509_certificate(shown)
        if leaf.subject != leaf.issuer:
            raise ValueError("its name is not that of its authority")
        policy = PolicyBuilder().store(self._store).time(now).max_chain_depth(0)
        policy = policy.extension_policies(ca_policy=_AUTHORITY, ee_policy=_LEAF)
        try:
            path = policy.build_server_verifier(_subject(host)).verify(leaf, [])
        except VerificationError as error:
            raise ValueError(str(error)) from None
        return min(certificate.not_valid_after_utc for certificate in path)


def _subject(host: str) -> x509.IPAddress | x509.DNSName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host.removesuffix("."))


log = logging.getLogger(__name__)

SELF_SIGNED = 18
"""OpenSSL's X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT."""
LOOK_SECONDS = 3.0
LOOKS_AT_ONCE = 256
SERVERS, REFUSALS = 256, 4096
"""Cache sizes; the least recently used entry is dropped. Any tenant can cause refusals, so there is more room."""
TRUSTED_FOR = timedelta(hours=1)
REFUSED_FOR = timedelta(minutes=1)

T = TypeVar("T")
Server = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Until(Generic[T]):
    value: T
    ends: datetime


class _Memory(Generic[T]):
    """Least-recently-used cache of servers whose entries expire."""

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock, self._most = clock, most
        self._known: OrderedDict[Server, _Until[T]] = OrderedDict()

    def get(self, server: Server) -> T | None:
        if server not in self._known:  # the common case, without a clock read
            return None
        known = self._known[server]
        if self._clock.now() >= known.ends:
            del self._known[server]
            return None
        self._known.move_to_end(server)
        return known.value

    def put(self, server: Server, value: T, ends: datetime) -> None:
        self._known[server] = _Until(value, ends)
        self._known.move_to_end(server)
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def drop(self, server: Server) -> None:
        self._known.pop(server, None)


class OwnSubjectCertificates:
    """Servers with such certificates. `clock` is the time at which certificates are checked."""

    def __init__(self, contexts: TlsContexts, clock: Clock) -> None:
        self._contexts, self._clock = contexts, clock
        self._path = IssuedPath.of(contexts.authorities)
        self._own = _Memory[ssl.SSLContext](clock, SERVERS)
        self._refused = _Memory[bool](clock, REFUSALS)
        self._places = asyncio.Semaphore(LOOKS_AT_ONCE)
        self._looking: WeakValueDictionary[Server, asyncio.Lock] = WeakValueDictionary()

    def context_for(self, context: ssl.SSLContext, server: Server) -> ssl.SSLContext:
        """Return the server's own context, or `context` itself."""
        own = self._own.get(server)
        return context if own is None or not self._contexts.trusts_directories(context) else own

    async def learn(
        self, context: ssl.SSLContext, used: ssl.SSLContext, server: Server, refusal: ssl.SSLCertVerificationError
    ) -> bool:
        """Return whether `context_for` now differs from `used`, with which OpenSSL refused the server."""
        if self._path is None or not self._contexts.trusts_directories(context):
            return False
        if used is context and refusal.verify_code != SELF_SIGNED:
            return False
        # The server has changed its certificate: what was learnt about it is void.
        if self._own.get(server) is used:
            self._own.drop(server)
        # One fetch per server at a time; the other requests share its result.
        async with self._looking.setdefault(server, asyncio.Lock()):
            if self._own.get(server) is None and not self._refused.get(server):
                await self._look(server, self._path)
        return self.context_for(context, server) is not used

    async def _look(self, server: Server, path: IssuedPath) -> None:
        now = self._clock.now()
        try:
            async with self._places, asyncio.timeout(LOOK_SECONDS):
                shown = await shown_certificate(*server, self._contexts.blind())
            ends = path.ends(shown, server[0], now)
        except (OSError, ValueError) as error:
            log.debug("certificate is not believed", extra={"server": server, "error": str(error)})
            self._refused.put(server, True, now + REFUSED_FOR)
            return
        self._own.put(server, self._contexts.pinned(shown), min(ends, now + TRUSTED_FOR))


async def shown_certificate(host: str, port: int, context: ssl.SSLContext) -> bytes:
    """Fetch a server's certificate (DER); `context` trusts any. Raises OSError if no address completes a handshake."""
    *others, last = await addresses(host, port)
    for number in others:
        try:
            return await _shown_by(number, host, port, context)
        except OSError:
            continue
    return await _shown_by(last, host, port, context)


async def _shown_by(number: str, host: str, port: int, context: ssl.SSLContext) -> bytes:
    loop = asyncio.get_running_loop()
    wire, _ = await loop.create_connection(asyncio.Protocol, number, port, ssl=context, server_hostname=host)
    try:
        shown: bytes | None = wire.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        wire.abort()
    return shown or b""
