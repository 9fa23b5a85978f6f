"""Scale on the forecast that PredictKube makes of a PromQL series, or on its last value if that is more."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, Self

import re2
from pydantic import BeforeValidator, SecretStr, model_validator

from keda_py.core.values.urls import is_http_url
from keda_py.sdk.advanced import EmptyAnswer, ScalerContext, TlsSettings
from keda_py.sdk.messages import declare, parse
from keda_py.sdk.scaler import AUTH, Activation, Reading, Scaler, ScalerError, Target, sources
from scalers.shared.answers.json_values import INLINE_BYTES
from scalers.shared.answers.monitoring.prometheus_matrix import read_matrix
from scalers.shared.auth_modes import AuthMode, AuthModesMetadata, auth_headers, auth_tls
from scalers.shared.grpc.connection import GrpcConnection, GrpcServer, connect
from scalers.shared.http_answer import HttpQuestion, get

PREDICT = "/services.MlEngineService/GetPredictMetric"
API_KEY = "x-api-key"
_HONOURED: frozenset[AuthMode] = frozenset({"bearer", "basic", "tls", "custom"})
_TOKEN = re2.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_PART = re2.compile(r"([0-9]{1,12}\.?[0-9]{0,9}|\.[0-9]{1,9})(w|d|h|ms|us|\x{b5}s|\x{3bc}s|ns|m|s)")
_STEP_SECONDS = 300.0
_LONGEST_SPAN = 40
"""Characters."""
_AT_A_TIME = 250
# The longest duration in Go: 64 bits of nanoseconds.
_LONGEST = timedelta(days=106_751)
_MICROSECONDS = {
    "w": 604_800e6,
    "d": 86_400e6,
    "h": 3_600e6,
    "m": 60e6,
    "s": 1e6,
    "ms": 1e3,
    **dict.fromkeys(("us", "\u00b5s", "\u03bcs"), 1.0),
    "ns": 1e-3,
}


def _span(text: object) -> timedelta:
    """A duration of Go, with days and weeks too: "7d", "1d12h"; it may have a sign, and "0" needs no unit."""
    written = str(text)
    unsigned = written[1:] if written.startswith(("+", "-")) else written
    parts = _PART.findall(unsigned)
    total = sum(float(number) * _MICROSECONDS[unit] for number, unit in parts)
    whole = "".join(number + unit for number, unit in parts) == unsigned and bool(parts)
    if len(written) > _LONGEST_SPAN or not (whole or unsigned == "0") or total > _LONGEST / timedelta(microseconds=1):
        raise ValueError("is not a duration: write it with its unit, as in 2h or 7d")
    return timedelta(microseconds=-total if written.startswith("-") else total)


def _checked(text: object) -> str:
    _span(text)
    return str(text)


Span = Annotated[str, BeforeValidator(_checked)]
"""Kept as it is written."""


class PredictKubeMetadata(AuthModesMetadata):
    """Keys of `predictkube`; the modes of authentication are Prometheus'."""

    prometheus_address: str
    query: str
    predict_horizon: Span
    query_step: Span
    history_time_window: Span
    api_key: Annotated[SecretStr, sources(AUTH)]
    threshold: Annotated[float, Target()] = 0.0
    activation_threshold: Annotated[float, Activation()] = 0.0

    @model_validator(mode="after")
    def _check_forecast(self) -> Self:
        if not is_http_url(self.prometheus_address):
            raise ValueError("invalid prometheusAddress: write it as http://prometheus.monitoring:9090")
        if not _TOKEN.fullmatch(self.api_key.get_secret_value()):
            raise ValueError("invalid apiKey: PredictKube gives one of three parts with dots between")
        return self


class PredictKubeScaler(Scaler[PredictKubeMetadata]):
    """Sends the history of the series to the service, which answers one number."""

    metric_name = "predictkube-predictkube_metric"
    service: ClassVar[GrpcServer] = GrpcServer(address="api.predictkube.com:443", tls=TlsSettings())
    _connection: GrpcConnection

    def __init__(self, metadata: PredictKubeMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._tls = auth_tls(metadata, context, unsafe=False)
        self._history, self._step = _span(metadata.history_time_window), _span(metadata.query_step)
        # Whole steps, as in KEDA: an hour in steps of seven minutes is eight of them.
        self._horizon = int(_span(metadata.predict_horizon) / (self._step or timedelta(seconds=_STEP_SECONDS)))

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, a time that lies the other way is accepted."""
        metadata = self.metadata
        written = {
            "predictHorizon": metadata.predict_horizon,
            "queryStep": metadata.query_step,
            "historyTimeWindow": metadata.history_time_window,
        }
        return tuple(
            f'{key}: "{text}" is negative: write how long it is, without a sign'
            for key, text in written.items()
            if _span(text) < timedelta(0)
        )

    @property
    def timeout(self) -> float:
        """Seconds; Prometheus and the service take a time-out each."""
        return 2 * self.context.http_timeout

    async def open(self) -> None:
        """Share the connection to the service, which connects when it is first asked."""
        _messages()
        self._connection = await connect(self.service, self.context)

    @cached_property
    def _headers(self) -> dict[str, str]:
        return auth_headers(self.metadata, _HONOURED)

    async def read(self) -> Reading:
        """The larger of forecast and last observation; the observation alone decides on activity, as in KEDA."""
        observations = await self._observe()
        if not observations:
            raise EmptyAnswer("the query has no observations in historyTimeWindow")
        last = observations[-1][1]
        value = max(await self._forecast(observations), last)
        return Reading(value=value, active=last > self.activation)

    async def _observe(self) -> list[list[float]]:
        now = self.context.clock.now().timestamp()
        question = HttpQuestion(
            url=f"{self.metadata.prometheus_address.rstrip('/')}/api/v1/query_range",
            parameters={
                "query": self.metadata.query,
                "start": f"{now - self._history.total_seconds():.3f}",
                "end": f"{now:.3f}",
                "step": f"{self._step.total_seconds() or _STEP_SECONDS:g}",
            },
            headers=self._headers,
            tls=self._tls,
        )
        answer = await get(self.context, question)
        if not answer.is_success:
            raise ScalerError(f"prometheus query api returned error. status: {answer.status_code}")
        return await self.context.parse(read_matrix, answer.content, inline_bytes=INLINE_BYTES)

    async def _forecast(self, observations: list[list[float]]) -> float:
        request = await request_of(observations, self._horizon, self.metric_name)
        key = ((API_KEY, self.metadata.api_key.get_secret_value()),)
        answer = await self._connection.ask(PREDICT, request, key)
        return float(parse(_messages()["ResGetPredictMetric"], answer).result_metric)


async def request_of(observations: Sequence[Sequence[float]], horizon: int, name: str) -> bytes:
    """Encode the request in pieces, since 20 000 observations take a fifth of a second."""
    request = _messages()["ReqGetPredictMetric"](forecast_horizon=horizon)
    for first in range(0, len(observations), _AT_A_TIME):
        for moment, value in observations[first : first + _AT_A_TIME]:
            request.observations.add(timestamp={"seconds": int(moment)}, value=value, metric_name=name)
        await asyncio.sleep(0)  # others get their turn
    return bytes(request.SerializeToString())


@cache
def _messages() -> Mapping[str, Any]:
    """Declare PredictKube's messages. Raises ConfigError where the library is not installed."""
    return declare(
        "services",
        {
            "Moment": {"seconds": (1, "int64")},
            "Item": {"timestamp": (1, "Moment"), "value": (2, "double"), "metric_name": (3, "string")},
            "ReqGetPredictMetric": {"forecast_horizon": (1, "int64"), "observations": (2, "repeated Item")},
            "ResGetPredictMetric": {"result_metric": (1, "int64")},
        },
    )
