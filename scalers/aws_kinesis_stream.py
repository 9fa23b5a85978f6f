"""Scale on the open shards of a Kinesis stream."""

from collections.abc import Mapping

from keda_py.sdk.scaler import Reading, Scaler, ScalerContext, ScalerError
from scalers.shared.aws.aws import AwsServiceMetadata
from scalers.shared.aws.aws_clients import AwsClient, ask, aws_client, aws_service
from scalers.shared.target import check_target


class AwsKinesisStreamMetadata(AwsServiceMetadata):
    """Keys of `aws-kinesis-stream`."""

    shard_count: int = 2
    activation_shard_count: int = 0
    stream_name: str


class AwsKinesisStreamScaler(Scaler[AwsKinesisStreamMetadata]):
    """Asks for the stream's summary."""

    _client: AwsClient

    def __init__(self, metadata: AwsKinesisStreamMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        check_target(metadata.shard_count, "shardCount", context)
        self._service = aws_service("kinesis", metadata, context)

    @property
    def metric_name(self) -> str:
        """`aws-kinesis-<streamName>`."""
        return f"aws-kinesis-{self.metadata.stream_name}"

    @property
    def target(self) -> int:
        """`shardCount`."""
        return self.metadata.shard_count

    @property
    def activation(self) -> float:
        """`activationShardCount`."""
        return float(self.metadata.activation_shard_count)

    async def open(self) -> None:
        """Share the client of this region, endpoint and identity."""
        self._client = await aws_client(self._service, self.context)

    async def read(self, spec: object = None) -> Reading:
        """The count now; an answer without one is an error."""
        what, name = f"Kinesis stream {self.metadata.stream_name}", self.metadata.stream_name
        answer = await ask(self.context, what, self._client.describe_stream_summary, StreamName=name)
        summary = answer.get("StreamDescriptionSummary")
        count = summary.get("OpenShardCount") if isinstance(summary, Mapping) else None
        if not isinstance(count, int) or isinstance(count, bool):
            raise ScalerError(f"{what}: the answer has no OpenShardCount")
        return Reading(value=float(count))
