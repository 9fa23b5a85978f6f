"""Scale on a metrics query of Sumo Logic, or on the records of a log search."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, model_validator

from keda_py.core.cron.zones import load_zone
from keda_py.sdk.advanced import LONGEST_TIMEOUT, ScalerContext, TlsSettings, named, prefixed
from keda_py.sdk.scaler import AUTH, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.credentials.basic import basic
from scalers.shared.http_answer import HttpQuestion
from scalers.shared.monitoring.sumologic_client import SumoLogic

_ATTEMPTS, _MOST_ATTEMPTS = 3, 6
_LONGEST_SEARCH = 60.0
"""Seconds."""
_AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {
    "Latest": lambda values: values[-1],
    "Avg": lambda values: sum(values) / len(values),
    "Sum": sum,
    "Count": len,
    "Min": min,
    "Max": max,
}


class SumoLogicMetadata(TriggerMetadata):
    """Keys of `sumologic`."""

    access_id: Annotated[SecretStr, named("accessID"), sources(AUTH)]
    access_key: Annotated[SecretStr, sources(AUTH)]
    host: str
    unsafe_ssl: bool = False
    query_type: Literal["logs", "metrics"]
    query: str = ""
    queries: Annotated[dict[str, str], prefixed("query.")] = {}
    result_query_row_id: Annotated[str, named("resultQueryRowID")] = ""
    quantization: timedelta = timedelta()
    rollup: Literal["Avg", "Sum", "Count", "Min", "Max"] = "Avg"
    result_field: str = ""
    logs_polling_interval: timedelta = timedelta()
    max_retries: Annotated[int, Field(ge=0)] = 0
    timerange: timedelta
    timezone: str = "UTC"
    activation_threshold: Annotated[float, Activation()] = 0.0
    query_aggregator: Literal["Latest", "Avg", "Sum", "Count", "Min", "Max"] = "Avg"
    threshold: Annotated[float, Target()]

    @model_validator(mode="after")
    def _check_queries(self) -> Self:
        if blank := [f"query.{row}" for row, text in self.queries.items() if not row or not text.strip()]:
            raise ValueError(f"{blank[0]}: is blank: write a query for the row, or leave it out")
        if self.query_type == "logs":
            self._check_logs()
        else:
            self._check_metrics()
        return self

    def _check_logs(self) -> None:
        if self.queries:
            raise ValueError("query.<RowId> is not supported for logs queryType: write query")
        if not self.query or not self.result_field:
            raise ValueError("queryType logs needs query and resultField: set both")

    def _check_metrics(self) -> None:
        if bool(self.query) == bool(self.queries):
            raise ValueError("only one of query or query.<RowId> must be defined for metrics queryType")
        if self.queries and self.result_query_row_id not in self.queries:
            raise ValueError("resultQueryRowID: names none of the rows of query.<RowId>: write the one that counts")
        if not self.quantization:
            raise ValueError("quantization: required for metrics queryType: write it as in 15s")


class SumoLogicScaler(Scaler[SumoLogicMetadata]):
    """Aggregates the values of the last `timerange` to one."""

    metric_name = "sumologic-{query_type}"

    def __init__(self, metadata: SumoLogicMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._server = SumoLogic(
            context=context,
            question=HttpQuestion(
                url=metadata.host.rstrip("/"),
                headers=basic(metadata.access_id, metadata.access_key),
                tls=context.tls_context(TlsSettings(unsafe=True)) if metadata.unsafe_ssl else None,
            ),
            attempts=min(metadata.max_retries or _ATTEMPTS, _MOST_ATTEMPTS),
            polling_seconds=metadata.logs_polling_interval.total_seconds() or 1.0,
        )

    @property
    def timeout(self) -> float:
        """Seconds; a search runs for a while, and a question may be put again after 1, 2, 4... seconds."""
        if self.metadata.query_type == "logs":
            return _LONGEST_SEARCH
        tries = self._server.attempts
        return min(self.context.http_timeout * tries + 2.0 ** (tries - 1) - 1, LONGEST_TIMEOUT)

    @cached_property
    def _zone(self) -> ZoneInfo:
        return load_zone(self.metadata.timezone)

    async def open(self) -> None:
        """Raises ConfigError for an unknown time zone."""
        _ = self._zone

    async def read(self) -> Reading:
        """Ask now; a search that finds nothing counts as 0."""
        if self.metadata.query_type == "logs":
            values = await self._server.records(self._search(), self.metadata.result_field)
            if values is None:
                return Reading(value=0.0, note="a search without messages and records counts as 0", empty=True)
        else:
            values = await self._server.points(self._metrics_query(), self.metadata.result_query_row_id)
        if not values:
            raise ScalerError("the query returned no values: check it, resultField and timerange")
        return Reading(value=_AGGREGATES[self.metadata.query_aggregator](values))

    def _window(self) -> tuple[str, str]:
        now = self.context.clock.now().astimezone(self._zone).replace(microsecond=0)
        return _rfc3339(now - self.metadata.timerange), _rfc3339(now)

    def _search(self) -> dict[str, object]:
        begin, end = self._window()
        return {"query": self.metadata.query, "from": begin, "to": end, "timeZone": self.metadata.timezone}

    def _metrics_query(self) -> dict[str, object]:
        begin, end = ({"type": "Iso8601TimeRangeBoundary", "iso8601Time": at} for at in self._window())
        milliseconds = self.metadata.quantization // timedelta(milliseconds=1)
        rows = self.metadata.queries or {"A": self.metadata.query}
        queries = [
            {"rowId": row, "query": query, "quantization": milliseconds, "rollup": self.metadata.rollup}
            for row, query in rows.items()
        ]
        return {"queries": queries, "timeRange": {"type": "BeginBoundedTimeRange", "from": begin, "to": end}}


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
