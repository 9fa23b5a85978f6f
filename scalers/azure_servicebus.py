"""Scale on the active messages in a queue or subscription of Azure Service Bus, or in all whose name matches."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal, Self

import httpx
from pydantic import SecretStr, model_validator

from keda_py.cloud.azure_clouds import SERVICE_BUS, scope_of
from keda_py.core.values.urls import path_segments
from keda_py.sdk.advanced import Destination, ScalerContext
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, ScalerError, Target, sources
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.azure.cloud_keys import AzureCloudMetadata, authority_of, given, is_workload, of_cloud
from scalers.shared.azure.service_bus import read_namespace_connection
from scalers.shared.azure.service_bus_feed import INLINE_BYTES, Kind, count_in_entry, counts_in_feed
from scalers.shared.bearer_token import BearerToken, Signer
from scalers.shared.http_answer import HttpQuestion, get
from scalers.shared.patterns import pattern_problem

_VERSION: Final = {"api-version": "2021-05"}


class AzureServiceBusMetadata(AzureCloudMetadata):
    """Keys of `azure-servicebus`."""

    message_count: Annotated[int, Target()] = 5
    activation_message_count: Annotated[int, Activation()] = 0
    queue_name: str = ""
    topic_name: str = ""
    subscription_name: str = ""
    connection: Annotated[SecretStr, sources(AUTH, ENV)] = SecretStr("")
    namespace: str = ""
    endpoint_suffix: str = ""
    use_regex: bool = False
    operation: Literal["sum", "max", "avg"] = "sum"

    @model_validator(mode="after")
    def _check_entity(self) -> Self:
        if self.queue_name and (self.topic_name or self.subscription_name):
            raise ValueError("queueName goes without topicName and subscriptionName: remove one or the others")
        if not self.queue_name and not self.topic_name:
            raise ValueError("no service bus entity type set: set queueName, or topicName and subscriptionName")
        if self.topic_name and not self.subscription_name:
            raise ValueError("no subscriptionName provided with topicName: set both")
        if self.use_regex:
            self._check_pattern()
        return self

    def _check_pattern(self) -> None:
        if problem := pattern_problem(self.pattern):
            key = "queueName" if self.queue_name else "subscriptionName"
            raise ValueError(f"{key} is not a valid regular expression of RE2: {problem}")

    @property
    def pattern(self) -> str:
        """The pattern that useRegex compares names with."""
        return self.queue_name or self.subscription_name


class AzureServiceBusScaler(Scaler[AzureServiceBusMetadata]):
    """Asks the namespace's management feed: one entry, or all pages of a list."""

    _url: str
    _signer: Signer

    def __init__(self, metadata: AzureServiceBusMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._host = self._host_by_identity() if is_workload(context, "Azure Service Bus") else ""
        if not self._host:
            message = "no connection setting given: set connection in a TriggerAuthentication, or connectionFromEnv"
            given(metadata.connection.get_secret_value(), "connection", message)
        self._kind: Kind = "QueueDescription" if metadata.queue_name else "SubscriptionDescription"

    def _host_by_identity(self) -> str:
        metadata = self.metadata
        suffix = of_cloud(metadata, lambda cloud: cloud.service_bus_suffix, "endpointSuffix", metadata.endpoint_suffix)
        message = "namespace is required when using pod identity azure-workload: set the namespace's name"
        return f"{given(metadata.namespace, 'namespace', message)}.{suffix}"

    @property
    def metric_name(self) -> str:
        """`azure-servicebus-<queue or topic>`; with useRegex the kind takes the place of the name."""
        metadata = self.metadata
        if metadata.use_regex:
            return f"azure-servicebus-{'queue' if metadata.queue_name else 'topic'}-regex"
        return f"azure-servicebus-{metadata.queue_name or metadata.topic_name}"

    async def open(self) -> None:
        """Prepare to prove who asks. Raises ConfigError for a connection string that cannot be used."""
        if self._host:
            to = Destination(url=f"https://{self._host}", field="namespace")
            source = await azure_token(self.context, scope_of(SERVICE_BUS), to, authority_of(self.metadata))
            self._url, self._signer = to.url, BearerToken(source)
            return
        connection = read_namespace_connection(
            self.metadata.connection.get_secret_value(), "connection", self.context.clock
        )
        self._url, self._signer = f"https://{connection.host}", connection.signer

    async def read(self) -> Reading:
        """The count now; of several, what `operation` makes of them."""
        if self.metadata.use_regex:
            return _combine(await self._matching(), self.metadata.operation)
        body = await self._ask(self._path(self.metadata.subscription_name), {})
        count = await self.context.parse(count_in_entry, body, self._kind, inline_bytes=INLINE_BYTES)
        return Reading(value=float(count))

    async def _matching(self) -> Sequence[int]:
        """Count in all pages, until one is empty: Azure does not tell which is the last."""
        found: list[int] = []
        skipped, entries = 0, -1
        while entries:
            skip = {"$skip": str(skipped)} if skipped else {}
            body = await self._ask(self._path(""), skip)
            entries, counts = await self.context.parse(
                counts_in_feed, body, self._kind, self.metadata.pattern, inline_bytes=INLINE_BYTES
            )
            found += counts
            skipped += entries
        return found

    def _path(self, subscription: str) -> str:
        """Path of one entity, or of the list."""
        metadata = self.metadata
        if metadata.queue_name:
            return "$Resources/Queues" if metadata.use_regex else metadata.queue_name
        subscriptions = f"{metadata.topic_name}/Subscriptions"
        return f"{subscriptions}/{subscription}" if subscription else subscriptions

    async def _ask(self, path: str, parameters: dict[str, str]) -> bytes:
        url = f"{self._url}/{path_segments('queueName or topicName', path, safe='$')}"
        question = HttpQuestion(url=url, parameters={**parameters, **_VERSION})
        answer = await get(self.context, await self._signer.sign(question))
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise ScalerError(f"service bus: {path} doesn't exist")
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"service bus: {path}: status {answer.status_code}")
        return answer.content


def _combine(counts: Sequence[int], operation: str) -> Reading:
    if not counts:
        return Reading(value=0.0, note="nothing has a name that matches")
    match operation:
        case "max":
            return Reading(value=float(max(counts)))
        case "avg":
            return Reading(value=float(sum(counts) // len(counts)))
        case _:
            return Reading(value=float(sum(counts)))
