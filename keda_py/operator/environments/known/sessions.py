"""Sessions of exec, attach and port-forward by namespace, as a Prometheus knows them that an administrator names.

One query a minute serves all namespaces. Users write nothing of it: by a query of their own they could ask about other
namespaces with the operator's rights. An API server counts sessions without their namespace, so the series come from
its audit log. A namespace without a series is not known to be idle.

In: the answer of the Prometheus. Out: `SessionsSeen`, for `core/environment/decision/idleness.py`.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson

from keda_py.apis.foreign import list_at, maps_at, text_at
from keda_py.clock import Clock
from keda_py.core.documents.json_guard import check_json
from keda_py.core.environment.decision.observation import SessionsSeen
from keda_py.errors import KedaPyError, ScalerError
from keda_py.settings.environments import EnvironmentSettings

EACH_SECONDS = 60.0
KEPT_SECONDS = 300.0
"""For how long the last answer stands while there is no other: half of the time that the query looks back."""
_TIMEOUT_SECONDS = 10.0
_LONGEST_ERROR = 300
_INFO = "PromQL info:"
"""Beginning of remarks about a query's form, which some versions put among the warnings."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSource:
    """A Prometheus with its query, and the file with a token for it, "" for none."""

    url: str
    query: str
    token_file: str = ""

    async def ask(self, http: httpx.AsyncClient) -> Mapping[str, bool]:
        """Return whether sessions are open, by namespace. Raises ScalerError with the reason."""
        url = f"{self.url.rstrip('/')}/api/v1/query"
        try:
            headers = await asyncio.to_thread(self._headers)
            answer = await http.get(url, params={"query": self.query}, headers=headers, timeout=_TIMEOUT_SECONDS)
        except (httpx.HTTPError, KedaPyError, OSError, ValueError) as error:
            raise ScalerError(f"{type(error).__name__}: {error}"[:_LONGEST_ERROR]) from None
        if not answer.is_success:
            raise ScalerError(f"the Prometheus of --idle-prometheus answered with status {answer.status_code}")
        return read_sessions(answer.content)

    def _headers(self) -> dict[str, str]:
        if not self.token_file:
            return {}
        return {"Authorization": f"Bearer {Path(self.token_file).read_text(encoding='ascii').strip()}"}


def read_sessions(answer: bytes) -> Mapping[str, bool]:
    """Read an instant vector: a value above 0 is use, a value that is not a number is left out. Raises ScalerError.

    An answer with a warning may lack series, such as those of a store of Thanos that is away: what it does not show is
    not known, though the query may give a 0 for it.
    """
    try:
        check_json(answer)
        body = orjson.loads(answer)
    except ValueError as error:
        raise ScalerError(f"the answer to --idle-query cannot be read: {error}"[:_LONGEST_ERROR]) from None
    if text_at(body, "data", "resultType") != "vector":
        raise ScalerError("the answer to --idle-query is no instant vector; write sum by (namespace) (...)")
    if warning := next((text for text in map(str, list_at(body, "warnings")) if not text.startswith(_INFO)), ""):
        raise ScalerError(f"the answer to --idle-query is not complete: {warning}"[:_LONGEST_ERROR])
    found: dict[str, bool] = {}
    for one in maps_at(body, "data", "result"):
        namespace = text_at(one, "metric", "namespace")
        if not namespace:
            raise ScalerError("a series of --idle-query has no label namespace; write sum by (namespace) (...)")
        value = _number(list_at(one, "value")[1:])
        if math.isfinite(value):
            found[namespace] = found.get(namespace, False) or value > 0
    return found


def _number(value: list[object]) -> float:
    try:
        return float(str(value[0]))
    except (IndexError, ValueError):
        return math.nan


class SessionWatch:
    """Watch over the sessions of all namespaces; `on_answer` is called after each question. Only the leader runs it."""

    def __init__(self, http: httpx.AsyncClient, clock: Clock, source: SessionSource) -> None:
        self._http, self._clock, self._source = http, clock, source
        self._answer: Mapping[str, bool] | None = None
        self._answered, self._error = float("-inf"), ""
        self.on_answer: Callable[[], None] = lambda: None

    def of(self, namespace: str) -> SessionsSeen:
        """Return what is known of a namespace now."""
        if self._answer is None or self._clock.monotonic() - self._answered > KEPT_SECONDS:
            return SessionsSeen(error=self._error)
        found = self._answer.get(namespace)
        return SessionsSeen(
            open=found, error="" if found is not None else "--idle-query has no series of the namespace"
        )

    def begin(self) -> None:
        """Begin a term as the leader: what another term knew is old."""
        self._answer, self._error = None, ""

    async def run(self) -> None:
        """Ask each minute, until cancelled."""
        while True:
            with self._clock.busy():
                await self._ask()
            self.on_answer()
            await self._clock.sleep(EACH_SECONDS)

    async def _ask(self) -> None:
        try:
            self._answer, self._error = await self._source.ask(self._http), ""
            self._answered = self._clock.monotonic()
        except ScalerError as error:
            if str(error) != self._error:
                log.warning("whether sessions are open is not known", extra={"error": str(error)})
            self._error = str(error)


def watch_sessions(http: httpx.AsyncClient, clock: Clock, settings: EnvironmentSettings) -> SessionWatch | None:
    """Make the watch; None without a Prometheus."""
    if not settings.idle_prometheus:
        return None
    source = SessionSource(url=settings.idle_prometheus, query=settings.idle_query, token_file=settings.idle_token_file)
    return SessionWatch(http, clock, source)
