"""Scale on the shards of the newest stream of a DynamoDB table."""

from collections.abc import Mapping
from typing import Annotated

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import Activation, ConfigError, Reading, Scaler, ScalerError, Target
from scalers.shared.aws.aws import AwsServiceMetadata
from scalers.shared.aws.aws_clients import AwsClient, ask, aws_client, aws_service

_MOST_PAGES = 100
"""Pages of up to 100 shards each."""


class AwsDynamodbStreamsMetadata(AwsServiceMetadata):
    """Keys of `aws-dynamodb-streams`."""

    shard_count: Annotated[int, Target()] = 2
    activation_shard_count: Annotated[int, Activation()] = 0
    table_name: str


class AwsDynamodbStreamsScaler(Scaler[AwsDynamodbStreamsMetadata]):
    """Asks the table for its stream once, and again after an error: a table that is made anew has another one."""

    metric_name = "aws-dynamodb-streams-{table_name}"
    _table_client: AwsClient
    _stream_client: AwsClient

    def __init__(self, metadata: AwsDynamodbStreamsMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._table_service = aws_service("dynamodb", metadata, context)
        self._stream_service = aws_service("dynamodbstreams", metadata, context)
        self._what = f"DynamoDB table {metadata.table_name}"
        self._stream_arn = ""

    async def open(self) -> None:
        """Share the clients of this region, endpoint and identity, and find the stream."""
        self._table_client = await aws_client(self._table_service, self.context)
        self._stream_client = await aws_client(self._stream_service, self.context)
        self._stream_arn = await self._find_stream()

    async def _find_stream(self) -> str:
        name = self.metadata.table_name
        answer = await ask(self.context, self._what, self._table_client.describe_table, TableName=name)
        table = answer.get("Table")
        arn = table.get("LatestStreamArn") if isinstance(table, Mapping) else None
        if not isinstance(arn, str) or not arn:
            raise ConfigError(f'tableName: the table "{name}" has no stream: enable one', field="tableName")
        return arn

    async def read(self) -> Reading:
        """All shards that the stream lists now, open or closed."""
        try:
            self._stream_arn = self._stream_arn or await self._find_stream()
            return Reading(value=float(await self._count()))
        except (ScalerError, ConfigError) as error:
            self._stream_arn = ""
            raise ScalerError(str(error)) from error

    async def _count(self) -> int:
        count, start = 0, dict[str, object]()
        for _ in range(_MOST_PAGES):
            answer = await ask(
                self.context, self._what, self._stream_client.describe_stream, StreamArn=self._stream_arn, **start
            )
            stream = answer.get("StreamDescription")
            if not isinstance(stream, Mapping):
                raise ScalerError(f"{self._what}: the answer has no StreamDescription")
            count += len(stream.get("Shards") or ())
            if not (last := stream.get("LastEvaluatedShardId")):
                return count
            start = {"ExclusiveStartShardId": last}
        raise ScalerError(f"{self._what}: the list of shards has more than {_MOST_PAGES} pages")
