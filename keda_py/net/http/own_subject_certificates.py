"""Certificates that have the name of the authority that signed them: quick scripts give both the same subject.

OpenSSL takes such a certificate for self-signed and asks no further; Go, and so KEDA, looks at the signature. So where
OpenSSL has refused one and --ca-dir holds authorities, the server is looked at once: if one of these authorities has
issued its certificate (`issued_path.py` judges), the server gets a context of its own, which believes that very
certificate and nothing else. OpenSSL checks its name, dates and usage at each connection as ever, with the versions and
ciphers that are configured. `transport.py` asks.

Rules: authorities of triggers or of the system do not count; no client certificate is shown; looks are bounded in time
and number and use no thread; what was learnt ends with the first certificate of the path, after an hour at the latest.
"""

import asyncio
import logging
import ssl
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from keda_py.clock import Clock
from keda_py.net.http.issued_path import IssuedPath
from keda_py.net.http.shown_certificate import shown_certificate
from keda_py.net.tls import TlsContexts

log = logging.getLogger(__name__)

SELF_SIGNED = 18
"""OpenSSL's X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT."""
LOOK_SECONDS = 3.0
LOOKS_AT_ONCE = 256
SERVERS, REFUSALS = 256, 4096
"""Remembered at once; the one that was not asked for longest goes. Anyone can be refused, so there is more room."""
TRUSTED_FOR = timedelta(hours=1)
REFUSED_FOR = timedelta(minutes=1)

T = TypeVar("T")
Server = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Until(Generic[T]):
    value: T
    ends: datetime


class _Memory(Generic[T]):
    """What is known of servers until it ends; of `most`, those asked for last."""

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock, self._most = clock, most
        self._known: OrderedDict[Server, _Until[T]] = OrderedDict()

    def get(self, server: Server) -> T | None:
        if server not in self._known:  # nearly always
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
    """Servers with such certificates. `clock` tells the time that certificates are valid at."""

    def __init__(self, contexts: TlsContexts, clock: Clock) -> None:
        self._contexts, self._clock = contexts, clock
        self._path = IssuedPath.of(contexts.authorities())
        self._own = _Memory[ssl.SSLContext](clock, SERVERS)
        self._refused = _Memory[bool](clock, REFUSALS)
        self._places = asyncio.Semaphore(LOOKS_AT_ONCE)
        self._looking: WeakValueDictionary[Server, asyncio.Lock] = WeakValueDictionary()

    def context_for(self, context: ssl.SSLContext, server: Server) -> ssl.SSLContext:
        """The server's own context, or `context` itself."""
        own = self._own.get(server)
        return context if own is None or not self._contexts.trusts_directories(context) else own

    async def learn(
        self, context: ssl.SSLContext, used: ssl.SSLContext, server: Server, refusal: ssl.SSLCertVerificationError
    ) -> bool:
        """Whether `context_for` says something else now than `used`, with which OpenSSL refused the server."""
        if self._path is None or not self._contexts.trusts_directories(context):
            return False
        if used is context and refusal.verify_code != SELF_SIGNED:
            return False
        if self._own.get(server) is used:
            self._own.drop(server)
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
