"""`GET .../namespaces/NS/METRIC?labelSelector=...`: one question of the HPA controller, answered.

Comes from `metrics/server.py`, which has let the caller in; goes to `metrics/query.py`, or for a name that is not ours
to the `Delegation`, where the API is shared with another adapter. Behaviour reference, sections 7.1 and 7.4.
"""

from typing import Protocol

import orjson
from aiohttp import web

from keda_py.clock import Clock
from keda_py.core.quantity import print_milli
from keda_py.metrics.discovery import GROUP_VERSION
from keda_py.metrics.query import MetricValue, QueryError
from keda_py.metrics.selectors import scaled_object_name
from keda_py.metrics.upstream import Delegation
from keda_py.serving.statuses import internal_error


class Questions(Protocol):
    """Who knows the values: `Query`."""

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        """Raises QueryError."""
        ...


class Relay(Protocol):
    """May know a better answer than ours."""

    async def ask(self, request: web.Request) -> web.StreamResponse | None:
        """The answer; None: it is for us to answer."""
        ...


class ExternalMetrics:
    """Answers for our names, and has others answered by `delegation` where there is one.

    `relay` is asked before we answer by ourselves.
    """

    def __init__(
        self, query: Questions, clock: Clock, delegation: Delegation | None = None, relay: Relay | None = None
    ) -> None:
        self._query, self._clock, self._delegation, self._relay = query, clock, delegation, relay

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """An ExternalMetricValueList, or what the upstream answers. Raises StatusError."""
        namespace, metric = request.match_info["namespace"], request.match_info["metric"]
        selector = request.query.get("labelSelector", "")
        if self._delegation is not None and self._delegation.concerns(namespace, metric, selector):
            return await self._delegation.answer(request, selector)
        if self._relay is not None and (answer := await self._relay.ask(request)) is not None:
            return answer
        name = scaled_object_name(selector)
        try:
            values = await self._query.answer(namespace, metric, name)
        except QueryError as error:
            raise internal_error(str(error)) from None
        timestamp = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        return web.Response(body=orjson.dumps(_list_body(values, timestamp)), content_type="application/json")


def _list_body(values: tuple[MetricValue, ...], timestamp: str) -> dict[str, object]:
    items = [
        {"metricName": one.name, "metricLabels": None, "timestamp": timestamp, "value": print_milli(one.milli)}
        for one in values
    ]
    return {"kind": "ExternalMetricValueList", "apiVersion": GROUP_VERSION, "metadata": {}, "items": items}
