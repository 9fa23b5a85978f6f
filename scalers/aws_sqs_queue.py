"""Scale on the messages in an SQS queue."""

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

from keda_py.sdk.advanced import META, ScalerContext, named
from keda_py.sdk.metadata.values import parse_int
from keda_py.sdk.scaler import ENV, Activation, ConfigError, Reading, Scaler, ScalerError, Target, sources
from scalers.shared.aws.aws import AwsServiceMetadata
from scalers.shared.aws.aws_clients import AwsClient, ask, aws_client, aws_service


class AwsSqsQueueMetadata(AwsServiceMetadata):
    """Keys of `aws-sqs-queue`."""

    queue_length: Annotated[int, Target()] = 5
    activation_queue_length: Annotated[int, Activation()] = 0
    queue_url: Annotated[str, named("queueURL"), sources(META, ENV)]
    scale_on_in_flight: bool = True
    scale_on_delayed: bool = False


class AwsSqsQueueScaler(Scaler[AwsSqsQueueMetadata]):
    """Asks for the approximate counts; AWS has no question for several queues at once."""

    _client: AwsClient

    def __init__(self, metadata: AwsSqsQueueMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._queue_name = _queue_name(metadata.queue_url)
        self._service = aws_service("sqs", metadata, context)
        self._attributes = [
            "ApproximateNumberOfMessages",
            *(["ApproximateNumberOfMessagesNotVisible"] if metadata.scale_on_in_flight else []),
            *(["ApproximateNumberOfMessagesDelayed"] if metadata.scale_on_delayed else []),
        ]

    @property
    def metric_name(self) -> str:
        """`aws-sqs-<queue>`, the last part of the queue's URL."""
        return f"aws-sqs-{self._queue_name}"

    async def open(self) -> None:
        """Share the client of this region, endpoint and identity."""
        self._client = await aws_client(self._service, self.context)

    async def read(self) -> Reading:
        """The sum of the chosen counts; one that AWS does not tell is an error."""
        answer = await ask(
            self.context,
            f"SQS queue {self._queue_name}",
            self._client.get_queue_attributes,
            QueueUrl=self.metadata.queue_url,
            AttributeNames=self._attributes,
        )
        counts = answer.get("Attributes")
        return Reading(value=sum(self._count(counts, name) for name in self._attributes))

    def _count(self, counts: object, name: str) -> float:
        text = counts.get(name) if isinstance(counts, Mapping) else None
        if text is None:
            raise ScalerError(f"SQS queue {self._queue_name}: the answer has no {name}")
        try:
            return float(parse_int(text if isinstance(text, str) else ""))
        except ValueError:
            raise ScalerError(f"SQS queue {self._queue_name}: {name} is not a number") from None


def _queue_name(queue_url: str) -> str:
    """The last part of a URL whose path is `/account/name`; anything that is no URL is a name already."""
    if "://" not in queue_url and not queue_url.startswith("/"):
        return queue_url
    parts = urlsplit(queue_url).path.split("/")
    if len(parts) != 3 or not parts[2]:
        message = "cannot get queueName from queueURL: its path must be /<account>/<queue>"
        raise ConfigError(message, field="queueURL")
    return parts[2]
