"""Scale on a time series of Google Cloud Monitoring."""

from typing import Annotated

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import Activation, ConfigError, Reading, Scaler, Target
from scalers.shared.gcp import GcpAuthMetadata, required_gcp_identity
from scalers.shared.google.monitoring import Aggregation, CloudMonitoring, reading

_MINUTES = 2
_PERCENTILES = ("percentile_99", "percentile_95", "percentile_50", "percentile_05")
_BOTH = ("none", "mean", "min", "max", "sum", "stddev", "count", "count_true", "count_false", "fraction_true")
_REDUCERS = (*_BOTH, *_PERCENTILES)
_ALIGNERS = (*_REDUCERS, "delta", "rate", "interpolate", "next_older", "percent_change")


class GcpStackdriverMetadata(GcpAuthMetadata):
    """Keys of `gcp-stackdriver`."""

    project_id: str
    filter: str
    target_value: Annotated[float, Target()] = 5.0
    activation_target_value: Annotated[float, Activation()] = 0.0
    value_if_null: float | None = None
    filter_duration: int = 0
    alignment_period_seconds: int = 0
    alignment_aligner: str = ""
    alignment_reducer: str = ""


class GcpStackdriverScaler(Scaler[GcpStackdriverMetadata]):
    """The newest point of the first series that the filter finds."""

    metric_name = "gcp-stackdriver-{project_id}"
    _monitoring: CloudMonitoring

    def __init__(self, metadata: GcpStackdriverMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        required_gcp_identity(metadata, context.pod_identity)
        self._aggregation = _aggregation(metadata)

    async def open(self) -> None:
        """Share the tokens of this identity."""
        self._monitoring = await CloudMonitoring.open(self.context, self.metadata)

    async def read(self) -> Reading:
        """The point now; no series counts as `valueIfNull`, or is an error."""
        metadata = self.metadata
        minutes = metadata.filter_duration if metadata.filter_duration > 0 else _MINUTES
        value = await self._monitoring.newest(metadata.project_id, metadata.filter, minutes, self._aggregation)
        return reading(value, metadata.value_if_null, f"filter {metadata.filter}")


def _aggregation(metadata: GcpStackdriverMetadata) -> Aggregation | None:
    """Read the aggregation; None without a period. Raises ConfigError."""
    period = metadata.alignment_period_seconds
    if period <= 0:
        return None
    if period < 60:
        message = f"alignmentPeriodSeconds must be at least 60, {period} is given"
        raise ConfigError(message, field="alignmentPeriodSeconds")
    aligner, reducer = (name.lower() or "none" for name in (metadata.alignment_aligner, metadata.alignment_reducer))
    if aligner not in _ALIGNERS:
        message = f"unknown aligner: alignmentAligner {aligner}: write one of {', '.join(_ALIGNERS)}"
        raise ConfigError(message, field="alignmentAligner")
    if reducer not in _REDUCERS:
        message = f"unknown reducer: alignmentReducer {reducer}: write one of {', '.join(_REDUCERS)}"
        raise ConfigError(message, field="alignmentReducer")
    return Aggregation(period_seconds=period, aligner=aligner.upper(), reducer=reducer.upper())
