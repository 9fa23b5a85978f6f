"""Scale on the messages in a queue of Azure Storage."""

from typing import Annotated, Final, Literal

from pydantic import SecretStr

from keda_py.sdk.advanced import META, ScalerContext
from keda_py.sdk.metadata.values import parse_int
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, ScalerError, Target, sources
from scalers.shared.azure.storage import StorageAccount
from scalers.shared.azure.storage_keys import AzureStorageMetadata, NamedAccount
from scalers.shared.azure.storage_lists import INLINE_BYTES, count_messages

_MOST_PEEKED: Final = 32
_COUNT: Final = "x-ms-approximate-messages-count"


class AzureQueueMetadata(AzureStorageMetadata):
    """Keys of `azure-queue`."""

    queue_length: Annotated[int, Target()] = 5
    activation_queue_length: Annotated[int, Activation()] = 0
    queue_name: str
    queue_length_strategy: Literal["all", "visibleonly"] = "all"
    connection: Annotated[SecretStr, sources(AUTH, META, ENV)] = SecretStr("")


class AzureQueueScaler(Scaler[AzureQueueMetadata]):
    """Asks for the approximate count, or peeks; Azure has no question for several queues at once."""

    metric_name = "azure-queue-{queue_name}"
    _account: StorageAccount

    def __init__(self, metadata: AzureQueueMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._named = NamedAccount(metadata, metadata.connection, "queue", context)

    async def open(self) -> None:
        """Prepare to prove who asks."""
        self._account = await self._named.open()

    async def read(self) -> Reading:
        """The count now. A peek shows 32 messages at most: where it shows so many, all are counted as KEDA does."""
        if self.metadata.queue_length_strategy == "visibleonly" and (visible := await self._peek()) < _MOST_PEEKED:
            return Reading(value=float(visible))
        return Reading(value=float(await self._approximate_count()))

    async def _peek(self) -> int:
        parameters = {"peekonly": "true", "numofmessages": str(_MOST_PEEKED)}
        answer = await self._account.ask(self.context, f"{self.metadata.queue_name}/messages", parameters)
        return await self.context.parse(count_messages, answer.content, inline_bytes=INLINE_BYTES)

    async def _approximate_count(self) -> int:
        answer = await self._account.ask(self.context, self.metadata.queue_name, {"comp": "metadata"})
        try:
            return parse_int(answer.headers.get(_COUNT, ""))
        except ValueError:
            message = f"azure storage: {self.metadata.queue_name}: the answer has no whole number as {_COUNT}"
            raise ScalerError(message) from None
