"""Scale on a metric of SolarWinds Observability."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import SecretStr

from keda_py.core.values.urls import is_http_url, path_segments
from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import (
    AUTH,
    Activation,
    ConfigError,
    Reading,
    Scaler,
    ScalerError,
    Target,
    TriggerMetadata,
    sources,
)
from scalers.shared.answers.json_values import INLINE_BYTES
from scalers.shared.answers.monitoring.solarwinds_measurements import read_measurement
from scalers.shared.http_answer import HttpQuestion, get


class SolarWindsMetadata(TriggerMetadata):
    """Keys of `solarwinds`."""

    api_token: Annotated[SecretStr, sources(AUTH)] = SecretStr("")
    host: str
    target_value: Annotated[float, Target()]
    activation_value: Annotated[float, Activation()] = 0.0
    metric_name: str
    aggregation: Literal["COUNT", "MIN", "MAX", "AVG", "SUM", "LAST"]
    interval_s: int
    filter: str = ""


class SolarWindsScaler(Scaler[SolarWindsMetadata]):
    """One aggregate over the last `intervalS` seconds."""

    metric_name = "solarwinds"

    def __init__(self, metadata: SolarWindsMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        if not is_http_url(metadata.host):
            message = "host: is not a URL: write it as https://api.na-01.cloud.solarwinds.com"
            raise ConfigError(message, field="host")
        metric = path_segments("metricName", metadata.metric_name)
        self._url = f"{metadata.host.rstrip('/')}/v1/metrics/{metric}/measurements"
        token = metadata.api_token.get_secret_value()
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    @property
    def cautions(self) -> tuple[str, ...]:
        """Without a token SolarWinds refuses every question."""
        return () if self._headers else ("apiToken: is missing: add it to a TriggerAuthentication",)

    async def read(self) -> Reading:
        """Ask now; an interval without measurements is an error."""
        now = self.context.clock.now()
        parameters = {
            "aggregateBy": self.metadata.aggregation,
            "seriesType": "SCALAR",
            "startTime": _rfc3339(now - timedelta(seconds=self.metadata.interval_s)),
            "endTime": _rfc3339(now),
            **({"filter": self.metadata.filter} if self.metadata.filter else {}),
        }
        question = HttpQuestion(url=self._url, parameters=parameters, headers=self._headers)
        answer = await get(self.context, question)
        if not answer.is_success:
            raise ScalerError(f"error getting SolarWinds metric: status {answer.status_code}")
        return Reading(value=await self.context.parse(read_measurement, answer.content, inline_bytes=INLINE_BYTES))


def _rfc3339(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
