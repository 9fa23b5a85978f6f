"""Scale on the events of an Azure event hub that its consumers have not processed."""

from typing import Annotated, Final

from pydantic import Field, SecretStr

from keda_py.cloud.azure_clouds import SERVICE_BUS, scope_of
from keda_py.sdk.advanced import META, Destination, ScalerContext, sharing_key
from keda_py.sdk.scaler import AUTH, ENV, Activation, ConfigError, Reading, Scaler, Target, sources
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.azure.checkpoints import Checkpoints
from scalers.shared.azure.cloud_keys import AzureCloudMetadata, authority_of, given, is_workload, of_cloud
from scalers.shared.azure.event_hub import (
    Credential,
    EventHub,
    Partition,
    by_identity,
    by_signature,
    open_hub,
)
from scalers.shared.azure.service_bus import NamespaceConnection, read_namespace_connection
from scalers.shared.azure.storage import (
    MissingInStorage,
    StorageAccount,
    account_of_connection,
    account_of_identity,
)

_LARGEST: Final = 2**63 - 1
# Seconds: as many connections as there are partitions, a few at once.
_LONGEST_READING: Final = 30.0
_EMPTY = SecretStr("")


class AzureEventHubMetadata(AzureCloudMetadata):
    """Keys of `azure-eventhub`."""

    unprocessed_event_threshold: Annotated[int, Field(gt=0), Target()] = 64
    activation_unprocessed_event_threshold: Annotated[int, Activation()] = 0
    stale_partition_info_threshold: int = 10_000
    """A checkpoint that is ahead of its partition by less than so many events is newer than what the hub told."""
    connection: Annotated[SecretStr, sources(AUTH, ENV)] = _EMPTY
    consumer_group: str = "$Default"
    storage_connection: Annotated[SecretStr, sources(AUTH, ENV)] = _EMPTY
    storage_account_name: str = ""
    """The account that holds the checkpoints, where podIdentity azure-workload asks for them."""
    blob_container: str = ""
    event_hub_namespace: Annotated[str, sources(META, ENV)] = ""
    event_hub_name: Annotated[str, sources(META, ENV)] = ""
    """The hub, where the connection string names none as EntityPath."""
    checkpoint_strategy: str = ""
    endpoint_suffix: str = ""
    storage_endpoint_suffix: str = ""
    """With cloud Private: what follows `blob.` in the name of the storage account's host."""


class AzureEventHubScaler(Scaler[AzureEventHubMetadata]):
    """The events behind each partition's checkpoint; of a partition without one, all that it holds."""

    metric_name = "azure-eventhub-{consumer_group}"
    _hub: EventHub
    _storage: StorageAccount

    def __init__(self, metadata: AzureEventHubMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        suffix = of_cloud(metadata, lambda cloud: cloud.service_bus_suffix, "endpointSuffix", metadata.endpoint_suffix)
        self._workload = is_workload(context, "Azure Event Hubs")
        self._known: StorageAccount | None = None
        if text := metadata.storage_connection.get_secret_value():
            self._known = account_of_connection(text, "blob", "storageConnection", context.clock)
        self._connection = None if self._workload else self._read_connection()
        self._check_storage()
        self._host = self._connection.host if self._connection else f"{metadata.event_hub_namespace}.{suffix}"
        self._name = (self._connection.entity_path if self._connection else "") or metadata.event_hub_name
        self._checkpoints = Checkpoints(
            strategy=metadata.checkpoint_strategy,
            container=metadata.blob_container,
            namespace=self._host,
            hub=self._name,
            group=metadata.consumer_group,
        )

    def _read_connection(self) -> NamespaceConnection:
        metadata = self.metadata
        message = "no event hub connection string given: set connection in a TriggerAuthentication"
        text = given(metadata.connection.get_secret_value(), "connection", message)
        connection = read_namespace_connection(text, "connection", self.context.clock)
        if not connection.entity_path:
            given(metadata.event_hub_name, "eventHubName", "eventHubName: set it, or EntityPath in connection")
        return connection

    def _check_storage(self) -> None:
        metadata = self.metadata
        if self._known is None and not self._workload:
            message = "no storage connection string given: set storageConnection in a TriggerAuthentication"
            raise ConfigError(message, field="storageConnection")
        if self._workload:
            if self._known is None:
                message = "no storageConnection or storageAccountName given: podIdentity azure-workload needs one"
                given(metadata.storage_account_name, "storageAccountName", message)
            given(metadata.event_hub_namespace, "eventHubNamespace", "no eventHubNamespace given: set it")
            given(metadata.event_hub_name, "eventHubName", "no eventHubName given: set it")

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, the connection string's EntityPath counts."""
        entity = self._connection.entity_path if self._connection else ""
        if not entity or self.metadata.event_hub_name in ("", entity):
            return ()
        return ("eventHubName: has no effect: the connection string names another hub as EntityPath: remove one",)

    @property
    def timeout(self) -> float:
        """Half a minute, or what the installation gives to one question."""
        return max(_LONGEST_READING, self.context.http_timeout)

    async def open(self) -> None:
        """Prepare to prove who asks, of hub and storage."""
        self._storage = self._known or await self._storage_by_identity()
        self._hub = await self.open_hub()

    async def _storage_by_identity(self) -> StorageAccount:
        metadata = self.metadata
        suffix = of_cloud(
            metadata, lambda cloud: cloud.storage_suffix, "storageEndpointSuffix", metadata.storage_endpoint_suffix
        )
        host = f"{metadata.storage_account_name}.blob.{suffix}"
        return await account_of_identity(self.context, host, "storageAccountName", authority_of(metadata))

    async def open_hub(self) -> EventHub:
        """Share the hub between triggers with the same credential."""
        context, pod = self.context, self.context.pod_identity
        what = ("event hub", self._host, self._name, context.http_timeout)
        identity = (pod.provider, pod.identity_id, pod.identity_tenant_id, pod.identity_authority_host)
        key = sharing_key(context.namespace, what, self.metadata.connection, identity)
        return await open_hub(context, key, self._host, self._name, await self._credential())

    async def _credential(self) -> Credential:
        def now() -> float:
            return self.context.clock.now().timestamp()

        if self._connection is not None:
            return by_signature(self._connection.policy.token, now)
        to = Destination(url=f"https://{self._host}", field="eventHubNamespace", service="azure event hubs")
        return by_identity(await azure_token(self.context, scope_of(SERVICE_BUS), to, authority_of(self.metadata)), now)

    async def read(self) -> Reading:
        """No more than a threshold for each partition, since more consumers than partitions have nothing to do."""
        partitions = await self._hub.partitions(self.context)
        total = sum([await self._unprocessed(partition) for partition in partitions])
        threshold, most = self.target, len(partitions) * self.target
        capped = most if total // threshold > len(partitions) else total
        return Reading(value=float(capped), active=total > self.activation)

    async def _unprocessed(self, partition: Partition) -> int:
        if partition.last < 0:
            return 0
        try:
            blob = await self._storage.ask(self.context, self._checkpoints.path(partition.name), {})
        except MissingInStorage:
            return partition.events
        checkpoint = self._checkpoints.sequence_number(blob)
        return behind(partition.last, checkpoint, self.metadata.stale_partition_info_threshold)


def behind(last: int, checkpoint: int, stale: int) -> int:
    """Count the events after the checkpoint.

    Numbers begin anew after 2^63-1; a checkpoint that is a little ahead is newer.
    """
    events = last - checkpoint if last >= checkpoint else _LARGEST - checkpoint + last
    return 0 if events > _LARGEST - stale else events
