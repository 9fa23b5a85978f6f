"""Scale on the values that a SignalFlow program of Splunk Observability streams."""

from typing import Annotated

from pydantic import Field, SecretStr

from keda_py.sdk.advanced import LONGEST_TIMEOUT, EmptyAnswer, ExternalMetric, ScalerContext
from keda_py.sdk.scaler import AUTH, Activation, ConfigError, Reading, Scaler, Target, TriggerMetadata, sources
from scalers.shared.monitoring.signalflow import SignalFlow

_AGGREGATORS = ("min", "max", "avg")


class SplunkObservabilityMetadata(TriggerMetadata):
    """Keys of `splunk-observability`."""

    access_token: Annotated[SecretStr, sources(AUTH)]
    realm: Annotated[str, sources(AUTH)]
    query: str
    duration: Annotated[int, Field(ge=0)]
    target_value: Annotated[float, Target()]
    query_aggregator: str
    activation_target_value: Annotated[float, Activation()]


class SplunkObservabilityScaler(Scaler[SplunkObservabilityMetadata]):
    """Listens for `duration` seconds, or until the program ends; as in KEDA, metricType is always Value."""

    metric_name = "signalfx"

    def __init__(self, metadata: SplunkObservabilityMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._signalflow = SignalFlow(context=context, realm=metadata.realm, token=metadata.access_token)

    @property
    def timeout(self) -> float:
        """Seconds; beside the listening, connecting and authenticating take a time-out each."""
        return self._seconds + 2 * self.context.http_timeout

    @property
    def _seconds(self) -> float:
        return min(self.metadata.duration, LONGEST_TIMEOUT - 2 * self.context.http_timeout)

    async def specs(self) -> tuple[ExternalMetric, ...]:
        """One of type Value."""
        return (ExternalMetric(name=self.metric_name, target=self.target, metric_type="Value"),)

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, the trigger is taken, and no reading succeeds."""
        return () if self.metadata.duration else ("duration: no value comes within 0 seconds: write 10",)

    async def open(self) -> None:
        """Raises ConfigError for what KEDA refuses at each reading."""
        self._signalflow.url()
        if self.metadata.query_aggregator not in _AGGREGATORS:
            message = f"queryAggregator: is not known: write one of {', '.join(_AGGREGATORS)}"
            raise ConfigError(message, field="queryAggregator")

    async def read(self) -> Reading:
        """Listen now; a program that says nothing is an error."""
        values = await self._signalflow.run(self.metadata.query, self._seconds)
        if not values.count:
            raise EmptyAnswer("query returned no data points: check it, and let duration be longer than its resolution")
        match self.metadata.query_aggregator:
            case "min":
                return Reading(value=values.least)
            case "max":
                return Reading(value=values.most)
            case _:
                return Reading(value=values.total / values.count)
