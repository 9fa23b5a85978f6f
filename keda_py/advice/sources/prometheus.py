"""A Prometheus, asked for weeks of many series: in parts that are short enough, each checked.

What is slow, partial or out of step fails as a whole, with the query and the part: half an answer would look idle.
"""

import math
from array import array
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import orjson

from keda_py.errors import KedaPyError
from keda_py.simulation.loads.prometheus import FetchError, PrometheusServer

STEP = 300
# Seconds of one question: a day of 200 series is 1.5 MB of answer.
PART = 86_400
_SKEW = timedelta(minutes=2)
_MOST_SERIES = 20_000
Labels = tuple[tuple[str, str], ...]
Series = dict[Labels, "array[float]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weeks:
    """`count` steps of `step` seconds from `first` (Unix seconds) on, asked for in parts of `part` seconds."""

    first: int
    count: int
    part: int = PART
    step: int = STEP

    @property
    def parts(self) -> int:
        """How many questions a query takes."""
        return math.ceil(self.count * self.step / self.part)


@dataclass(slots=True, kw_only=True)
class RecordedWeeks:
    """A server with what it has recorded. `keeps`: the series, by their labels, that are kept in memory."""

    server: PrometheusServer
    client: httpx.AsyncClient
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    """Seconds for one answer."""
    keeps: Callable[[Mapping[str, str]], bool] = lambda _: True

    async def check_clock(self, now: datetime) -> None:
        """Raises FetchError for a clock that differs: the hours would be wrong by that."""
        body = await self._get("/api/v1/query", {"query": "time()"}, "time()")
        server_time = datetime.fromtimestamp(_number(body), UTC)
        if abs(server_time - now) > _SKEW:
            clocks = f"its clock says {_moment(server_time.timestamp())}, this machine's {_moment(now.timestamp())}"
            text = f"{self.server.shown}: {clocks}"
            raise FetchError(
                f"{text}; hours would be wrong by that: correct the clock, and nothing is proposed until then"
            )

    async def has(self, metric: str, weeks: Weeks) -> bool:
        """Whether any series of that name was seen in these weeks."""
        span = {"start": str(weeks.first), "end": str(weeks.first + weeks.count * weeks.step), "limit": "1"}
        body = await self._get("/api/v1/series", {"match[]": metric, **span}, metric)
        return bool(body.get("data"))

    async def read_into(self, found: Series, query: str, weeks: Weeks) -> AsyncIterator[float]:
        """All series of a query, part by part; the share that is read after each. Step i has the value at its end."""
        for part in range(weeks.parts):
            at = part * weeks.part // weeks.step
            count = min(weeks.part // weeks.step, weeks.count - at)
            first = weeks.first + (at + 1) * weeks.step  # rate() over the step that ends then
            span = {"start": str(first), "end": str(first + (count - 1) * weeks.step), "step": str(weeks.step)}
            question = f'"{query}" from {_moment(first)} to {_moment(first + count * weeks.step)}'
            body = await self._get("/api/v1/query_range", {"query": query, **span}, question)
            self._merge(found, body, at, weeks, question)
            yield (part + 1) / weeks.parts

    def _merge(self, found: Series, body: Mapping[str, Any], at: int, weeks: Weeks, said: str) -> None:
        seen: set[Labels] = set()
        try:
            for each in body["data"]["result"]:
                labels = tuple(sorted((str(key), str(value)) for key, value in each["metric"].items()))
                if labels in seen:
                    text = f"{self.server.shown}: {said}: gives the series {dict(labels)} twice"
                    raise FetchError(
                        f"{text}; remove duplicates where replicas are queried, as which one counts is not known"
                    )
                seen.add(labels)
                row = found.get(labels)
                if row is None and not self.keeps(dict(labels)):
                    continue
                if row is None:
                    row = found[labels] = array("d", [math.nan]) * weeks.count
                _place(row, each["values"], at, weeks)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise FetchError(
                f"{self.server.shown}: {said}: the answer is not a matrix of numbers in steps of {weeks.step} s"
            ) from None
        if len(found) > _MOST_SERIES:
            text = f"{self.server.shown}: {said}: gives more than {_MOST_SERIES} series"
            raise FetchError(f"{text}; sum them by namespace and workload, or give -n")

    async def _get(self, path: str, parameters: Mapping[str, str], said: str) -> dict[str, Any]:
        """The body of a success without warnings. Raises FetchError."""
        where = f"{self.server.shown}: {said}"
        try:
            answer = await self.client.get(
                f"{self.server.url.rstrip('/')}{path}",
                params=dict(parameters),
                headers=dict(self.headers),
                timeout=self.timeout,
            )
            body: Any = orjson.loads(answer.content)
        except httpx.TimeoutException:
            raise FetchError(
                f"{where}: no answer within {self.timeout:g} s; nothing is proposed on half of a history"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, KedaPyError) as error:
            raise FetchError(f"{where}: no answer that can be read: {error or type(error).__name__}") from None
        if answer.status_code != httpx.codes.OK or not isinstance(body, dict) or body.get("status") != "success":
            reason = body.get("error", "") if isinstance(body, dict) else ""
            raise FetchError(f"{where}: status {answer.status_code}: {str(reason)[:200]}")
        if body.get("warnings"):
            text = f"{where}: the answer may be partial: {str(body['warnings'])[:200]}"
            raise FetchError(f"{text}; nothing is proposed on a part")
        return body


def _place(row: "array[float]", points: Any, at: int, weeks: Weeks) -> None:
    """NaN, infinities and what is negative stay missing."""
    following = 0
    for moment, text in points:
        index, rest = divmod(float(moment) - weeks.first - weeks.step, weeks.step)
        if rest or not max(at, following) <= index < weeks.count:
            raise ValueError(moment)  # also a moment that comes twice
        following = int(index) + 1
        value = float(text)
        if value >= 0 and value != math.inf:
            row[int(index)] = value


def _number(body: Mapping[str, Any]) -> float:
    try:
        return float(body["data"]["result"][1])
    except (KeyError, TypeError, ValueError, IndexError):
        raise FetchError("time(): the answer is not a number; the address may not be that of a Prometheus") from None


def _moment(unix: float) -> str:
    return f"{datetime.fromtimestamp(unix, UTC):%Y-%m-%dT%H:%M:%SZ}"
