"""Scale on the open shards of a Kinesis stream."""

from collections.abc import Mapping
from typing import Annotated

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import Activation, Reading, Scaler, ScalerError, Target
from scalers.shared.aws.aws import AwsServiceMetadata
from scalers.shared.aws.aws_clients import AwsClient, ask, aws_client, aws_service


class AwsKinesisStreamMetadata(AwsServiceMetadata):
    """Keys of `aws-kinesis-stream`."""

    shard_count: Annotated[int, Target()] = 2
    activation_shard_count: Annotated[int, Activation()] = 0
    stream_name: str


class AwsKinesisStreamScaler(Scaler[AwsKinesisStreamMetadata]):
    """Asks for the stream's summary."""

    metric_name = "aws-kinesis-{stream_name}"
    _client: AwsClient

    def __init__(self, metadata: AwsKinesisStreamMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._service = aws_service("kinesis", metadata, context)

    async def open(self) -> None:
        """Share the client of this region, endpoint and identity."""
        self._client = await aws_client(self._service, self.context)

    async def read(self) -> Reading:
        """The count now; an answer without one is an error."""
        what, name = f"Kinesis stream {self.metadata.stream_name}", self.metadata.stream_name
        answer = await ask(self.context, what, self._client.describe_stream_summary, StreamName=name)
        summary = answer.get("StreamDescriptionSummary")
        count = summary.get("OpenShardCount") if isinstance(summary, Mapping) else None
        if not isinstance(count, int) or isinstance(count, bool):
            raise ScalerError(f"{what}: the answer has no OpenShardCount")
        return Reading(value=float(count))
