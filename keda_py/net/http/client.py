"""HTTP client of a process: one `httpx.AsyncClient` that the engine opens and closes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from keda_py.answers.bounds import AnswerBounds
from keda_py.answers.connections import Connections
from keda_py.clock import Clock, SystemClock
from keda_py.net.http.own_subject_certificates import OwnSubjectCertificates
from keda_py.net.http.redirects import GuardedClient
from keda_py.net.http.transport import AiohttpTransport, ExchangeLimits, HttpExchange, Trust
from keda_py.net.proxies import Proxies
from keda_py.net.tls import TlsContexts, TlsSettings

MAX_REDIRECTS = 10
"""As in Go's client; `redirects.py` decides which ones are followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpClientSpec:
    """Settings of the client.

    `timeout` in seconds is KEDA_HTTP_DEFAULT_TIMEOUT; `keep_alive` is False for KEDA_HTTP_DISABLE_KEEP_ALIVE.
    `connections` bounds the connections, `answers` the bytes of answers; `idle_seconds` is how long an unused
    connection is kept.
    """

    timeout: float = 3.0
    keep_alive: bool = True
    connections: Connections = field(default_factory=Connections)
    idle_seconds: float = 90.0
    answers: AnswerBounds = field(default_factory=AnswerBounds)
    proxies: Proxies = field(default_factory=Proxies)
    user_agent: str = "keda-py"


def http_client(
    spec: HttpClientSpec,
    clock: Clock,
    tls: TlsContexts,
    observe: Callable[[HttpExchange], None] = lambda _: None,
) -> httpx.AsyncClient:
    """Make the shared client; `tls` serves requests without a context of their own, `observe` gets each exchange."""
    transport = AiohttpTransport(
        clock=clock,
        trust=Trust(
            make_context=partial(tls.get, TlsSettings(), ""),
            own_subject_certificates=OwnSubjectCertificates(tls, SystemClock()),
        ),
        proxies=spec.proxies,
        limits=ExchangeLimits(
            connections=spec.connections,
            idle_seconds=spec.idle_seconds if spec.keep_alive else 0.0,
            answers=spec.answers,
        ),
        observe=observe,
    )
    return GuardedClient(
        transport=transport,
        timeout=spec.timeout,
        # `GuardedClient` checks each redirect; httpx itself never follows one here.
        follow_redirects=True,
        max_redirects=MAX_REDIRECTS,
        trust_env=False,
        # A cookie identifies the tenant that received it, and all tenants share this client: none is stored.
        cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=())),
        headers={"User-Agent": spec.user_agent, "Accept-Encoding": "gzip, deflate"},
    )
