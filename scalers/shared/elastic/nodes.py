"""The nodes of a cluster, each asked in its turn; where one does not answer, the next one is asked."""

import ssl
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field

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

    def questions(self, method: str, path: str, content: bytes = b"") -> list[KeptQuestion]:
        """The same question for each node, to be asked as often as one likes."""
        return [
            KeptQuestion(
                self._context,
                HttpQuestion(
                    url=f"{node.url}{path}",
                    method=method,
                    content=content,
                    headers={**node.headers, **_JSON} if content else node.headers,
                    tls=self._tls,
                    redirects=self._redirects,
                ),
            )
            for node in self._nodes
        ]

    async def look(self, method: str) -> httpx.Response:
        """At the root of the node whose turn it is, which stays its turn. Raises ScalerError."""
        return await self._ask(self.questions(method, "/"), self._turn)

    def next_turn(self) -> None:
        """Make the next node the first to ask."""
        self._turn += 1

    async def post(self, path: str, body: object) -> httpx.Response:
        """JSON; the answer whatever its status. Raises ScalerError."""
        return await self.ask(self.questions("POST", path, orjson.dumps(body)))

    def ask(self, questions: Sequence[KeptQuestion]) -> Awaitable[httpx.Response]:
        """The answer whatever its status; the next node is the first to ask then. Raises ScalerError."""
        self.next_turn()
        return self._ask(questions, self._turn - 1)

    async def _ask(self, questions: Sequence[KeptQuestion], turn: int) -> httpx.Response:
        """The first answer whose status is not one of `_BUSY`, or else the last one; a silent node is asked once."""
        silent: set[int] = set()
        outcome: httpx.Response | ScalerError = ScalerError("no node")
        for number in range(max(_TRIES, len(questions))):
            place = (turn + number) % len(questions)
            if place in silent:
                continue
            try:
                outcome = await questions[place].ask()
            except ScalerError as error:
                silent.add(place)
                outcome = outcome if isinstance(outcome, httpx.Response) else error
            else:
                if outcome.status_code not in _BUSY:
                    return outcome
        if isinstance(outcome, ScalerError):
            raise outcome
        return outcome


def check_status(answer: httpx.Response, product: str) -> None:
    """Raises ScalerError for a status that is no answer to a question."""
    match answer.status_code:
        case 401:
            raise ScalerError(f"{product} authentication failed (HTTP 401): check username and password")
        case 403:
            raise ScalerError(f"{product} authorization failed (HTTP 403): user has insufficient permissions")
        case status if not answer.is_success:
            raise ScalerError(f"{product} returned HTTP {status}")
