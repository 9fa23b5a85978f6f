"""`GET .../namespaces/NS/METRIC?labelSelector=...`: one question of the HPA controller, answered from what we read.

Comes from `external_metrics/server.py`, where `routing.py` has found that we answer; goes to
`external_metrics/query.py`. Behaviour reference, sections 7.1 and 7.4.
"""

from functools import lru_cache
from typing import Protocol

from keda_py.apis.compact import compact_json
from keda_py.clock import Clock
from keda_py.core.evaluation import MetricValue
from keda_py.core.spec import NAME_LABEL
from keda_py.core.values.quantity import print_milli
from keda_py.core.values.times import write_time
from keda_py.external_metrics.discovery import GROUP_VERSION
from keda_py.external_metrics.query import QueryError
from keda_py.external_metrics.question import Answer, Question
from keda_py.serving.statuses import bad_request, internal_error

REMEMBERED = 1024
"""Answers that are asked for again within their second need not be written anew. 1 MB at most."""


class Questions(Protocol):
    """Who knows the values: `Query`."""

    def known(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...] | None:
        """What `answer` would say, where that is known already and nothing has to be read or computed for it."""
        ...

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        """Raises QueryError."""
        ...


class ExternalMetrics:
    """Answers with what `query` knows."""

    def __init__(self, query: Questions, clock: Clock) -> None:
        self._query, self._clock = query, clock

    async def answer(self, question: Question) -> Answer:
        """An ExternalMetricValueList. Raises StatusError, in KEDA's words where no ScaledObject is named."""
        asked = question.selection
        if asked.problem:
            raise bad_request(f"{asked.problem}; write labelSelector={NAME_LABEL}=NAME")
        if not asked.scaled_object:
            raise internal_error("scaledObject name is not specified")
        wanted = question.namespace, question.metric, asked.scaled_object
        values = self._query.known(*wanted)
        if values is None:
            try:
                values = await self._query.answer(*wanted)
            except QueryError as error:
                raise internal_error(str(error)) from None
        return Answer(body=_list_of(values, write_time(self._clock.now())))


@lru_cache(maxsize=REMEMBERED)
def _list_of(values: tuple[MetricValue, ...], timestamp: str) -> bytes:
    """An ExternalMetricValueList."""
    items = [
        {"metricName": one.name, "metricLabels": None, "timestamp": timestamp, "value": print_milli(one.milli)}
        for one in values
    ]
    body = {"kind": "ExternalMetricValueList", "apiVersion": GROUP_VERSION, "metadata": {}, "items": items}
    return compact_json(body)
