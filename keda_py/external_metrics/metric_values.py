"""Values of external metrics: answers `GET .../namespaces/NS/METRIC?labelSelector=...` of the HPA controller.

Comes from `external_metrics/server.py`, after `routing.py` has found that this replica answers; next:
`external_metrics/query.py`. Behaviour reference, sections 7.1 and 7.4.
"""

from functools import lru_cache
from typing import Protocol

from keda_py.apis.squeezed import compact_json
from keda_py.clock import Clock
from keda_py.core.evaluation import MetricValue
from keda_py.core.spec import NAME_LABEL
from keda_py.core.values.quantity import print_milli
from keda_py.core.values.times import write_time
from keda_py.external_metrics.authorised_request import ApiResponse, AuthorisedRequest
from keda_py.external_metrics.discovery import GROUP_VERSION
from keda_py.external_metrics.query import QueryError
from keda_py.serving.statuses import bad_request, internal_error

# Rendered answers, reused within their second (their timestamp's resolution). 1 MB at most.
REMEMBERED = 1024


class Questions(Protocol):
    """Source of values: `Query`."""

    def answer_at_once(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...] | None:
        """Return what `answer` would, if nothing has to be read or awaited for it; else None."""
        ...

    async def answer(self, namespace: str, metric: str, scaled_object: str) -> tuple[MetricValue, ...]:
        """Return the values of a metric. Raises QueryError."""
        ...


class ExternalMetrics:
    """Answers requests for metrics from `query`."""

    def __init__(self, query: Questions, clock: Clock) -> None:
        self._query, self._clock = query, clock

    async def answer(self, question: AuthorisedRequest) -> ApiResponse:
        """Return an ExternalMetricValueList. Raises StatusError, with KEDA's text if no ScaledObject is named."""
        selection = question.selection
        if selection.problem:
            raise bad_request(f"{selection.problem}; write labelSelector={NAME_LABEL}=NAME")
        if not selection.scaled_object:
            raise internal_error("scaledObject name is not specified")
        wanted = question.namespace, question.metric, selection.scaled_object
        # Answered here if the readings are still shared or cached: without a task switch, and with the rendered body.
        values = self._query.answer_at_once(*wanted)
        if values is None:
            try:
                values = await self._query.answer(*wanted)
            except QueryError as error:
                raise internal_error(str(error)) from None
        return ApiResponse(body=self._render(values))

    def answer_at_once(self, question: AuthorisedRequest) -> bytes | None:
        """Return the body of the answer if nothing has to be read or awaited for it, else None."""
        selection = question.selection
        if selection.problem or not selection.scaled_object:
            return None
        values = self._query.answer_at_once(question.namespace, question.metric, selection.scaled_object)
        return self._render(values) if values is not None else None

    def _render(self, values: tuple[MetricValue, ...]) -> bytes:
        return _list_of(values, write_time(self._clock.now()))


@lru_cache(maxsize=REMEMBERED)
def _list_of(values: tuple[MetricValue, ...], timestamp: str) -> bytes:
    items = [
        {"metricName": value.name, "metricLabels": None, "timestamp": timestamp, "value": print_milli(value.milli)}
        for value in values
    ]
    body = {"kind": "ExternalMetricValueList", "apiVersion": GROUP_VERSION, "metadata": {}, "items": items}
    return compact_json(body)
