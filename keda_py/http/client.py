"""`http_client`: one `httpx.AsyncClient` for a whole process; the engine opens it and closes it."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

from keda_py.answers.bounds import AnswerBounds
from keda_py.clock import Clock
from keda_py.http.observed import HttpExchange, ObservedTransport
from keda_py.http.transport import AiohttpTransport, Limits
from keda_py.proxies import Proxies

# As Go's client: ten redirects; httpx drops Authorization when the origin changes.
MAX_REDIRECTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpClientSpec:
    """`timeout` in seconds (KEDA_HTTP_DEFAULT_TIMEOUT), `keep_alive` False for KEDA_HTTP_DISABLE_KEEP_ALIVE.

    `per_host` bounds connections to one host, `idle_seconds` is how long an unused one is kept, `answers` the bytes of
    answers.
    """

    timeout: float = 3.0
    keep_alive: bool = True
    per_host: int = 100
    idle_seconds: float = 90.0
    answers: AnswerBounds = field(default_factory=AnswerBounds)
    proxies: Proxies = field(default_factory=Proxies)
    user_agent: str = "keda-py"


def http_client(
    spec: HttpClientSpec,
    clock: Clock,
    tls: ssl.SSLContext,
    observe: Callable[[HttpExchange], None] = lambda _: None,
) -> httpx.AsyncClient:
    """The shared client; `tls` serves requests that bring none of their own, `observe` is told of each exchange."""
    transport = AiohttpTransport(
        clock=clock,
        tls=tls,
        proxies=spec.proxies,
        limits=Limits(
            per_host=spec.per_host,
            idle_seconds=spec.idle_seconds if spec.keep_alive else 0.0,
        ),
        answers=spec.answers,
    )
    return httpx.AsyncClient(
        transport=ObservedTransport(transport, observe),
        timeout=spec.timeout,
        follow_redirects=True,
        max_redirects=MAX_REDIRECTS,
        trust_env=False,
        headers={"User-Agent": spec.user_agent, "Accept-Encoding": "gzip, deflate"},
    )
