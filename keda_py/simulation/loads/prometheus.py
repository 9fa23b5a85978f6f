"""A Prometheus -> rows: `query_range` for each trigger, in parts of at most 10 000 points, as the server allows.

Everything is fetched before anything is simulated: a server that fails midway gives no half of a month.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from keda_py.errors import ConfigError, KedaPyError
from keda_py.replay.engine.source import Source
from keda_py.simulation.loads.load import Need
from keda_py.simulation.sources import Column, Row, Rows

_MOST_POINTS = 10_000
# Of one query, kept in memory: more than a year at 15 s.
_MOST_ALL = 2_000_000
_SECONDS = 30.0


class FetchError(KedaPyError):
    """The server did not answer, or not with numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The range of a question: `seconds` after `origin`, one point each `step` seconds."""

    origin: datetime
    seconds: float
    step: float

    @property
    def points(self) -> int:
        """Points that each query gives."""
        return int(self.seconds // self.step) + 1


@dataclass(slots=True, kw_only=True)
class FetchedLoad:
    """A `Load`: what the queries gave, by trigger index."""

    origin: datetime
    end: float
    step: float
    values: Mapping[int, Sequence[float]]

    def bind(self, needs: Sequence[Need]) -> Mapping[int, Source]:
        """Name the triggers for which a query was given."""
        for need in needs:
            if need.index not in self.values:
                raise ConfigError(f"trigger {need.index} has no query; give one: --query {need.names[0]}=PROMQL")
        return {need.index: Column(Rows(self._rows(self.values[need.index])), 0) for need in needs}

    def _rows(self, values: Sequence[float]) -> Iterator[Row]:
        return ((index * self.step, (value,)) for index, value in enumerate(values))


@dataclass(slots=True, kw_only=True)
class PrometheusServer:
    """One server; `headers` go with each question."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """Return the address without a password. Raises ConfigError for what is not an address."""
        try:
            address = httpx.URL(self.url)
        except httpx.InvalidURL:
            address = httpx.URL("")
        if address.scheme not in ("http", "https") or not address.host:
            raise ConfigError("--prometheus: is not an address; write for example http://127.0.0.1:9090")
        return str(address.copy_with(userinfo=b"")).rstrip("/")

    async def fetch(self, client: httpx.AsyncClient, queries: Mapping[int, str], wanted: Range) -> FetchedLoad:
        """Ask all queries over the whole range. Raises ConfigError, and FetchError that names query and part."""
        if wanted.points > _MOST_ALL:
            raise ConfigError(f"--step: {wanted.points} points are more than {_MOST_ALL}; take a larger step")
        values = {index: await self._series(client, query, wanted) for index, query in queries.items()}
        return FetchedLoad(origin=wanted.origin, end=wanted.seconds, step=wanted.step, values=values)

    async def _series(self, client: httpx.AsyncClient, query: str, wanted: Range) -> list[float]:
        values: list[float] = []
        while len(values) < wanted.points:
            first = wanted.origin.timestamp() + len(values) * wanted.step
            count = min(_MOST_POINTS, wanted.points - len(values))
            last = first + (count - 1) * wanted.step
            text = f'{self.shown}: "{query}" from {_moment(first)} to {_moment(last)}'
            values += _checked(
                await self._ask(client, query, (first, last, wanted.step), text), first, count, wanted.step, text
            )
        return values

    async def _ask(
        self, client: httpx.AsyncClient, query: str, span: tuple[float, float, float], said: str
    ) -> list[tuple[float, str]]:
        first, last, step = span
        parameters = {"query": query, "start": f"{first:.3f}", "end": f"{last:.3f}", "step": f"{step:g}"}
        address = f"{self.url.rstrip('/')}/api/v1/query_range"
        try:
            answer = await client.get(address, params=parameters, headers=dict(self.headers), timeout=_SECONDS)
            body: Any = answer.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, KedaPyError) as error:
            raise FetchError(f"{said}: no answer that can be read: {error or type(error).__name__}") from None
        if answer.status_code != httpx.codes.OK or not isinstance(body, dict) or body.get("status") != "success":
            reason = body.get("error", "") if isinstance(body, dict) else ""
            raise FetchError(f"{said}: status {answer.status_code}: {str(reason)[:200]}")
        return _only_series(body, said)


def _only_series(body: Mapping[str, Any], said: str) -> list[tuple[float, str]]:
    try:
        found = body["data"]["result"]
        if len(found) > 1:
            raise ConfigError(f"{said}: gives {len(found)} series; make one of them: sum(...)")
        return [(float(at), str(value)) for at, value in found[0]["values"]] if found else []
    except (KeyError, TypeError, ValueError, IndexError):
        raise FetchError(f"{said}: the answer is no matrix of numbers") from None


def _checked(points: Sequence[tuple[float, str]], first: float, count: int, step: float, said: str) -> list[float]:
    """Return a value for each step. Raises ConfigError for a gap and for what is not a number."""
    values = []
    for index in range(count):
        at = first + index * step
        if index >= len(points) or abs(points[index][0] - at) > step / 2:
            raise ConfigError(f"{said}: has no value at {_moment(at)}; say what it is then: (...) or vector(0)")
        try:
            value = float(points[index][1])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ConfigError(f"{said}: is {points[index][1][:20]} at {_moment(at)}; let the query give a number")
        values.append(value)
    return values


def _moment(unix: float) -> str:
    return f"{datetime.fromtimestamp(unix, UTC):%Y-%m-%dT%H:%M:%SZ}"
