"""`GET .../namespaces/NS/METRIC?labelSelector=...`: one question of the HPA controller, answered from what we read.

Comes from `external_metrics/server.py`, where `routing.py` has found that we answer; goes to
`external_metrics/query.py`. Behaviour reference, sections 7.1 and 7.4.
"""

from typing import Protocol

import orjson

from keda_py.clock import Clock
from keda_py.core.evaluation import MetricValue
from keda_py.core.spec import NAME_LABEL
from keda_py.core.values.quantity import print_milli
from keda_py.external_metrics.discovery import GROUP_VERSION
from keda_py.external_metrics.query import QueryError
from keda_py.external_metrics.question import Answer, Question
from keda_py.serving.statuses import bad_request, internal_error


class Questions(Protocol):
    """Who knows the values: `Query`."""

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
        try:
            values = await self._query.answer(question.namespace, question.metric, asked.scaled_object)
        except QueryError as error:
            raise internal_error(str(error)) from None
        timestamp = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        return Answer(body=orjson.dumps(_list_body(values, timestamp)))


def _list_body(values: tuple[MetricValue, ...], timestamp: str) -> dict[str, object]:
    items = [
        {"metricName": one.name, "metricLabels": None, "timestamp": timestamp, "value": print_milli(one.milli)}
        for one in values
    ]
    return {"kind": "ExternalMetricValueList", "apiVersion": GROUP_VERSION, "metadata": {}, "items": items}
