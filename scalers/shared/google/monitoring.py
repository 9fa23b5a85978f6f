"""Cloud Monitoring: the newest point of the first time series that a filter or a query of MQL finds."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

import orjson

from keda_py.cloud import gcp
from keda_py.cloud.tokens import TokenSource
from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import EmptyAnswer, ScalerContext
from keda_py.sdk.metadata.values import parse_int
from keda_py.sdk.scaler import ConfigError, Reading, ScalerError
from scalers.shared.answers.json_fields import INLINE_BYTES, Object, child, children, json_object, number, string
from scalers.shared.bearer_token import BearerToken
from scalers.shared.gcp import GcpAuthMetadata, required_gcp_identity
from scalers.shared.http_answer import HttpQuestion, ask

_ROOT = "https://monitoring.googleapis.com/v3"
_SCOPE = "https://www.googleapis.com/auth/monitoring.read"
_SHOWN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """Aggregation of points; names as in the API, without ALIGN_ and REDUCE_."""

    period_seconds: int
    aligner: str
    reducer: str


class CloudMonitoring:
    """Cloud Monitoring, asked as one identity."""

    def __init__(self, context: ScalerContext, identity: gcp.GcpIdentity, source: TokenSource) -> None:
        self._context, self._identity, self._token = context, identity, BearerToken(source)

    @classmethod
    async def open(cls, context: ScalerContext, metadata: GcpAuthMetadata) -> Self:
        """Raises ConfigError for credentials that cannot be used."""
        identity = required_gcp_identity(metadata, context.pod_identity)
        return cls(context, identity, await gcp.token_source(context, identity, _SCOPE))

    async def project(self) -> str:
        """The project of the identity. Raises ConfigError where it names none."""
        if project := await gcp.project_of(self._context, self._identity):
            return project
        raise ConfigError("the credentials name no project: write projects/<project>/... in front of the name")

    async def newest(
        self, project: str, filter: str, minutes: int, aggregation: Aggregation | None = None
    ) -> float | None:
        """The newest point of the last minutes, None where no series is found. Raises ScalerError."""
        now = self._context.clock.now()
        parameters = {
            "filter": filter,
            "interval.startTime": _time(now - timedelta(minutes=minutes)),
            "interval.endTime": _time(now),
        }
        if aggregation is not None:
            parameters |= {
                "aggregation.alignmentPeriod": f"{aggregation.period_seconds}s",
                "aggregation.perSeriesAligner": f"ALIGN_{aggregation.aligner}",
                "aggregation.crossSeriesReducer": f"REDUCE_{aggregation.reducer}",
            }
        return await self._ask(HttpQuestion(url=f"{_timeseries(project)}", parameters=parameters))

    async def query(self, project: str, query: str) -> float | None:
        """The newest point that a query of MQL finds, None where there is no series. Raises ScalerError."""
        question = HttpQuestion(
            method="POST",
            url=f"{_timeseries(project)}:query",
            content=orjson.dumps({"query": query}),
            headers={"Content-Type": "application/json"},
        )
        return await self._ask(question)

    async def _ask(self, question: HttpQuestion) -> float | None:
        answer = await ask(self._context, await self._token.sign(question))
        if not answer.is_success:
            why = await self._context.parse(refusal, answer.content, inline_bytes=INLINE_BYTES)
            raise ScalerError(f"Cloud Monitoring: status {answer.status_code}: {why}")
        return await self._context.parse(newest_point, answer.content, inline_bytes=INLINE_BYTES)


def _timeseries(project: str) -> str:
    """Return the path of a project that metadata or a credential names. Raises ConfigError."""
    return f"{_ROOT}/projects/{path_segment('the project', project, safe=':')}/timeSeries"


def reading(value: float | None, if_null: float | None, what: str) -> Reading:
    """A value, or what counts where no series was found. Raises EmptyAnswer."""
    if value is not None:
        return Reading(value=value)
    if if_null is None:
        raise EmptyAnswer(f"could not find a time series with {what}: write valueIfNull if that means a number")
    return Reading(value=if_null, note="no time series counts as valueIfNull", empty=True)


def newest_point(text: bytes) -> float | None:
    """Read the newest point of the first series; None without a series. Raises ScalerError."""
    document = json_object(text)
    for series, points in (("timeSeries", "points"), ("timeSeriesData", "pointData")):
        for one in children(document, series)[:1]:
            found = children(one, points)
            if not found:
                raise ScalerError("Cloud Monitoring: the time series has no point")
            return _value(found[0])
    return None


def _value(point: Object) -> float:
    value = child(point, "value") or next(iter(children(point, "values")), {})
    if "doubleValue" in value:
        return number(value, "doubleValue")
    try:
        return float(parse_int(string(value, "int64Value")))
    except ValueError:
        raise ScalerError("Cloud Monitoring: the point has no value that is a number") from None


def refusal(text: bytes) -> str:
    """Read the message of Google's error, "" if it has none."""
    try:
        return string(child(json_object(text), "error"), "message")[:_SHOWN]
    except ScalerError:
        return ""


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
