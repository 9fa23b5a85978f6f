"""`GET .../namespaces/NS/METRIC?labelSelector=...`: one question of the HPA controller, answered.

Comes from `external_metrics/server.py`, which has let the caller in and found no relay with an answer; goes to
`external_metrics/query.py`. Behaviour reference, sections 7.1 and 7.4.
"""

from typing import Protocol

import orjson
from aiohttp import web

from keda_py.clock import Clock
from keda_py.core.evaluation import MetricValue
from keda_py.core.values.quantity import print_milli
from keda_py.external_metrics.discovery import GROUP_VERSION
from keda_py.external_metrics.query import QueryError
from keda_py.external_metrics.selectors import scaled_object_name
from keda_py.serving.statuses import internal_error


class Questions(Protocol):
    """Who knows the values: `Query`."""

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        """Raises QueryError."""
        ...


class ExternalMetrics:
    """Answers with what `query` knows."""

    def __init__(self, query: Questions, clock: Clock) -> None:
        self._query, self._clock = query, clock

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """An ExternalMetricValueList. Raises StatusError."""
        namespace, metric = request.match_info["namespace"], request.match_info["metric"]
        name = scaled_object_name(request.query.get("labelSelector", ""))
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
