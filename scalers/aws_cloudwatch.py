"""Scale on the newest value of a CloudWatch metric, or of an expression over metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated

from keda_py.sdk.advanced import ScalerContext, SharingKey, separated_by
from keda_py.sdk.scaler import Activation, Reading, Scaler, ScalerError, Target
from scalers.shared.aws.aws import AwsServiceMetadata
from scalers.shared.aws.aws_clients import AwsClient, ask, aws_client, aws_service
from scalers.shared.aws.cloudwatch_rules import check_metric, check_window

# Periods are counted from here, as in Go: 1970 differs where a period does not divide a day.
_FIRST_DAY = datetime.min.replace(tzinfo=UTC)
# Metrics in one question. CloudWatch takes 500, whose answer would take over 10 ms to parse.
_MOST_METRICS = 50
_MOST_POINTS = 100
"""Points of one metric; only the newest counts."""


class AwsCloudwatchMetadata(AwsServiceMetadata):
    """Keys of `aws-cloudwatch`; either `expression`, or a metric with its dimensions."""

    target_metric_value: Annotated[float, Target()]
    activation_target_metric_value: Annotated[float, Activation()] = 0.0
    namespace: str = ""
    metric_name: str = ""
    dimension_name: Annotated[list[str], separated_by(";")] = []
    dimension_value: Annotated[list[str], separated_by(";")] = []
    expression: str = ""
    min_metric_value: float
    ignore_null_values: bool = True
    metric_collection_time: int = 300
    metric_stat: str = "Average"
    metric_unit: str = ""
    metric_stat_period: int = 300
    metric_end_time_offset: int = 0
    aws_account_id: str = ""


class AwsCloudwatchScaler(Scaler[AwsCloudwatchMetadata]):
    """Asks for metrics of one region, identity and window together.

    Not so an expression: it may speak of every metric in its question.
    """

    metric_name = "aws-cloudwatch"
    _client: AwsClient

    def __init__(self, metadata: AwsCloudwatchMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        if not metadata.expression:
            named = {"namespace": metadata.namespace, "metricName": metadata.metric_name}
            check_metric(named, metadata.dimension_name, metadata.dimension_value, metadata.metric_unit)
        check_window(metadata.metric_stat_period, metadata.metric_collection_time)
        self._service = aws_service("cloudwatch", metadata, context)
        self._points = metadata.metric_collection_time // metadata.metric_stat_period
        self._window = (metadata.metric_stat_period, metadata.metric_collection_time, metadata.metric_end_time_offset)

    @property
    def cautions(self) -> Sequence[str]:
        """Mistakes that CloudWatch will refuse."""
        empty = "metricCollectionTime: 0 asks for no time at all, which CloudWatch refuses: write seconds"
        return () if self.metadata.metric_collection_time else (empty,)

    async def open(self) -> None:
        """Share the client of this region, endpoint and identity."""
        self._client = await aws_client(self._service, self.context)

    async def read(self) -> Reading:
        """The newest value of the window; `minMetricValue` if missing."""
        (reading,) = await self._ask([self])
        if isinstance(reading, ScalerError):
            raise reading
        return reading

    @property
    def batch_key(self) -> SharingKey | None:
        """Region, endpoint, identity and window; None for an expression."""
        if self.metadata.expression:
            return None
        key = self._service.key(self.context.namespace)
        return replace(key, what=(*key.what, *self._window))

    async def read_batch(self, scalers: "Sequence[Scaler[AwsCloudwatchMetadata]]") -> "Sequence[Reading | ScalerError]":
        """Ask in as few requests as CloudWatch and the loop allow."""
        most = max(1, min(_MOST_METRICS, _MOST_METRICS // max(1, self._points)))
        parts = [scalers[first : first + most] for first in range(0, len(scalers), most)]
        return [reading for part in parts for reading in await self._ask(part)]

    async def _ask(self, scalers: "Sequence[Scaler[AwsCloudwatchMetadata]]") -> "list[Reading | ScalerError]":
        start, end = self._times()
        ids = [f"c{number}" for number in range(1, len(scalers) + 1)]
        answer = await ask(
            self.context,
            "CloudWatch",
            self._client.get_metric_data,
            StartTime=start,
            EndTime=end,
            ScanBy="TimestampDescending",
            **({"MaxDatapoints": _MOST_POINTS} if self._points > _MOST_POINTS else {}),
            MetricDataQueries=[_query(id, scaler.metadata) for id, scaler in zip(ids, scalers, strict=True)],
        )
        results = answer.get("MetricDataResults")
        if not isinstance(results, Sequence):
            raise ScalerError("CloudWatch: the answer is not complete")
        # Of an expression that finds several series, all under its id, the first counts, as in KEDA.
        found = {one.get("Id"): one for one in reversed(results) if isinstance(one, Mapping)}
        if len(scalers) > 1 and (answer.get("NextToken") or not found.keys() >= set(ids)):
            raise ScalerError("CloudWatch: the answer is not complete")  # so each is asked for alone
        return [_reading(scaler.metadata, found.get(id)) for id, scaler in zip(ids, scalers, strict=True)]

    def _times(self) -> tuple[datetime, datetime]:
        period, collection, offset = (timedelta(seconds=seconds) for seconds in self._window)
        end = self.context.clock.now() - offset
        end -= (end - _FIRST_DAY) % period
        return end - collection, end


def _query(id: str, metadata: AwsCloudwatchMetadata) -> Mapping[str, object]:
    account = {"AccountId": metadata.aws_account_id} if metadata.aws_account_id else {}
    if metadata.expression:
        wanted: Mapping[str, object] = {"Expression": metadata.expression, "Period": metadata.metric_stat_period}
        return {"Id": id, **wanted, "ReturnData": True, **account}
    pairs = zip(metadata.dimension_name, metadata.dimension_value, strict=True)
    metric = {
        "Namespace": metadata.namespace,
        "MetricName": metadata.metric_name,
        "Dimensions": [{"Name": name, "Value": value} for name, value in pairs],
    }
    unit = {"Unit": metadata.metric_unit} if metadata.metric_unit else {}
    stat = {"Metric": metric, "Period": metadata.metric_stat_period, "Stat": metadata.metric_stat, **unit}
    return {"Id": id, "MetricStat": stat, "ReturnData": True, **account}


def _reading(metadata: AwsCloudwatchMetadata, result: Mapping[str, object] | None) -> Reading | ScalerError:
    values = result.get("Values") if result is not None else None
    if isinstance(values, Sequence) and values:
        newest = values[0]
        return Reading(value=float(newest)) if isinstance(newest, int | float) else ScalerError("CloudWatch: no number")
    status = result.get("StatusCode") if result is not None else None
    if status in ("InternalError", "Forbidden"):
        return ScalerError(f"CloudWatch: the metric was not read: {status}")
    if result is not None and not metadata.ignore_null_values:
        return ScalerError("CloudWatch: the metric has no value in this time; ignoreNullValues is false")
    return Reading(value=metadata.min_metric_value, note="no value counts as minMetricValue", empty=True)
