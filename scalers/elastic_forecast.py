"""Scale on what a machine learning job of Elasticsearch forecasts for a moment ahead."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Annotated, Self

from pydantic import Field, model_validator

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import ScalerContext, named
from keda_py.sdk.scaler import Activation, Reading, Scaler, ScalerError, Target
from scalers.shared.answers import gjson
from scalers.shared.elastic.elastic_connection import ElasticMetadata, open_nodes
from scalers.shared.elastic.nodes import Nodes, check_status
from scalers.shared.numbers import cell_number, reading_of

_PREDICTION = "hits.hits.0._source.forecast_prediction"
_HITS = "hits.hits.#"


class ElasticForecastMetadata(ElasticMetadata):
    """Keys of `elastic-forecast`."""

    job_id: Annotated[str, named("jobID")]
    look_ahead: timedelta = timedelta(minutes=10)
    target_value: Annotated[float, Field(gt=0), Target()]
    activation_target_value: Annotated[float, Activation()] = 0.0
    index: str = "*"
    partition_field_value: str = ""
    by_field_value: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.check_log_in()
        if not self.addresses and (self.username or self.password.get_secret_value()):
            raise ValueError("username and password provided but no addresses specified")
        if not self.addresses and not self.cloud_id:
            raise ValueError("must provide either cloud config (cloudID + apiKey) or endpoint addresses")
        if self.look_ahead <= timedelta(0):
            raise ValueError("lookAhead must be positive")
        return self


class ElasticForecastScaler(Scaler[ElasticForecastMetadata]):
    """A forecast reaches twice as far as one looks ahead, and is renewed when half of it is over."""

    metric_name = "elastic-forecast-{job_id}"
    _nodes: Nodes

    def __init__(self, metadata: ElasticForecastMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._forecasts: list[str] = []
        self._renew_at: datetime | None = None

    async def open(self) -> None:
        """See whether it is Elasticsearch, and ask for a forecast; without one each reading asks again."""
        self._nodes = await open_nodes(self.metadata, self.context)
        with suppress(ScalerError):  # told by the first reading
            await self._renew()

    async def read(self) -> Reading:
        """Read the newest forecast with a value, which may be the one before while another is computed."""
        try:
            if self._renew_at is None or self.context.clock.now() > self._renew_at:
                await self._renew()
            for forecast in self._forecasts:
                if (reading := await self._prediction(forecast)) is not None:
                    return reading
        except ScalerError as error:
            raise ScalerError(f"error reading elastic forecast value: {error}") from None
        return Reading(value=0.0, note="the forecast says nothing yet and counts as 0", empty=True)

    async def _renew(self) -> None:
        metadata = self.metadata
        now, length = self.context.clock.now(), f"{int(2 * metadata.look_ahead.total_seconds())}s"
        path = f"/_ml/anomaly_detectors/{path_segment('jobID', metadata.job_id)}/_forecast"
        answer = await self._nodes.post(path, {"duration": length, "expires_in": length})
        check_status(answer, "elasticsearch")
        made = await self.context.parse(gjson.scalar_in, answer.content, "forecast_id", inline_bytes=gjson.INLINE_BYTES)
        if not isinstance(made, str) or not made:
            raise ScalerError(f"elasticsearch made no forecast for the job {metadata.job_id}")
        self._forecasts = [made, *self._forecasts[:1]]
        self._renew_at = now + metadata.look_ahead

    async def _prediction(self, forecast: str) -> Reading | None:
        """Return None if the forecast has no value for that moment."""
        answer = await self._nodes.post(f"/.ml-anomalies-{self.metadata.index}/_search", self._search(forecast))
        check_status(answer, "elasticsearch")
        hits, found = await self.context.parse(
            gjson.scalars_in, answer.content, [_HITS, _PREDICTION], inline_bytes=gjson.INLINE_BYTES
        )
        if not hits:
            return None
        if found is None:
            return Reading(value=0.0, note="forecast_prediction is null and counts as 0")
        return reading_of(cell_number(found))

    def _search(self, forecast: str) -> dict[str, object]:
        metadata = self.metadata
        until = self.context.clock.now() + metadata.look_ahead
        terms = {
            "job_id": metadata.job_id,
            "forecast_id": forecast,
            "result_type": "model_forecast",
            "partition_field_value": metadata.partition_field_value,
            "by_field_value": metadata.by_field_value,
        }
        filters: list[object] = [{"term": {name: value}} for name, value in terms.items() if value]
        filters.append({"range": {"timestamp": {"lte": int(until.timestamp() * 1000)}}})
        return {
            "size": 1,
            "sort": [{"timestamp": {"order": "desc"}}],
            "_source": ["forecast_prediction", "timestamp"],
            "query": {"bool": {"filter": filters}},
        }
