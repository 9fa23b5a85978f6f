"""The nodes of a cluster, each asked in its turn; where one does not answer, the next one is asked."""

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import httpx
import orjson

from keda_py.sdk.advanced import RedirectRule, ScalerContext
from keda_py.sdk.scaler import ConfigError, ScalerError
from scalers.shared.credentials.basic import basic
from scalers.shared.http_answer import HttpQuestion, KeptQuestion

_JSON = {"Content-Type": "application/json"}
# Statuses of a proxy in front of a node, or of a node that starts: another try may be answered.
_BUSY = (502, 503, 504)
# As many as KEDA's clients make.
_TRIES = 4
_MOST_KEPT = 8
"""Questions of one trigger that are kept: a search asks each of its nodes the same each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A base address without credentials, and the headers that prove who asks."""

    url: str
    headers: Mapping[str, str] = field(repr=False)


def nodes_of(addresses: Sequence[str], headers: Mapping[str, str]) -> list[Node]:
    """User and password of an address go before the headers. Raises ConfigError that shows no address."""
    made = []
    for address in addresses:
        try:
            url = httpx.URL(address)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host:
            raise ConfigError(
                "addresses: one is not an address: write http://host:9200, with commas between", field="addresses"
            )
        own = basic(url.username, url.password) if url.userinfo else headers
        made.append(Node(url=str(url.copy_with(username=None, password=None)).rstrip("/"), headers=own))
    return made


class Nodes:
    """The cluster as one trigger asks it."""

    def __init__(
        self, nodes: Sequence[Node], tls: ssl.SSLContext | None, context: ScalerContext, redirects: RedirectRule
    ) -> None:
        self._nodes, self._tls, self._context, self._redirects = nodes, tls, context, redirects
        self._turn = 0
        self._question = lru_cache(_MOST_KEPT)(self._make_question)

    async def look(self, method: str) -> httpx.Response:
        """At the root of the node whose turn it is, which stays its turn. Raises ScalerError."""
        return await self._ask(method, "/")

    def next_turn(self) -> None:
        """Make the next node the first to ask."""
        self._turn += 1

    async def post(self, path: str, body: object) -> httpx.Response:
        """JSON, or a text that is JSON already; the answer whatever its status. Raises ScalerError."""
        content = body.encode() if isinstance(body, str) else orjson.dumps(body)
        try:
            return await self._ask("POST", path, content)
        finally:
            self.next_turn()

    async def _ask(self, method: str, path: str, content: bytes = b"") -> httpx.Response:
        """The first answer whose status is not one of `_BUSY`, or else the last one; a silent node is asked once."""
        silent: set[int] = set()
        outcome: httpx.Response | ScalerError = ScalerError("no node")
        for number in range(max(_TRIES, len(self._nodes))):
            place = (self._turn + number) % len(self._nodes)
            if place in silent:
                continue
            try:
                outcome = await self._question(place, method, path, content).ask()
            except ScalerError as error:
                silent.add(place)
                outcome = outcome if isinstance(outcome, httpx.Response) else error
            else:
                if outcome.status_code not in _BUSY:
                    break
        if isinstance(outcome, ScalerError):
            raise outcome
        return outcome

    def _make_question(self, place: int, method: str, path: str, content: bytes) -> KeptQuestion:
        node = self._nodes[place]
        question = HttpQuestion(
            url=f"{node.url}{path}",
            method=method,
            content=content,
            headers={**node.headers, **_JSON} if content else node.headers,
            tls=self._tls,
            redirects=self._redirects,
        )
        return KeptQuestion(self._context, question)


def check_status(answer: httpx.Response, product: str) -> None:
    """Raises ScalerError for a status that is no answer to a question."""
    match answer.status_code:
        case 401:
            raise ScalerError(f"{product} authentication failed (HTTP 401): check username and password")
        case 403:
            raise ScalerError(f"{product} authorization failed (HTTP 403): user has insufficient permissions")
        case status if not answer.is_success:
            raise ScalerError(f"{product} returned HTTP {status}")
