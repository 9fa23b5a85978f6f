"""The keys that name an account of Azure Storage: a connection string, or podIdentity and accountName."""

from pydantic import SecretStr

from keda_py.sdk.advanced import ScalerContext
from scalers.shared.azure.cloud_keys import AzureCloudMetadata, authority_of, given, is_workload, of_cloud
from scalers.shared.azure.storage import Service, StorageAccount, account_of_connection, account_of_identity


class AzureStorageMetadata(AzureCloudMetadata):
    """Keys of the block; each type has its own `connection`, since its sources differ."""

    account_name: str = ""
    endpoint_suffix: str = ""


class NamedAccount:
    """What the keys name, checked without I/O. Raises ConfigError."""

    def __init__(
        self, metadata: AzureStorageMetadata, connection: SecretStr, service: Service, context: ScalerContext
    ) -> None:
        self._metadata, self._context = metadata, context
        suffix = of_cloud(
            metadata, lambda cloud: f"{service}.{cloud.storage_suffix}", "endpointSuffix", metadata.endpoint_suffix
        )
        self._host = f"{metadata.account_name}.{suffix}"
        self._known: StorageAccount | None = None
        if is_workload(context, "Azure Storage"):
            message = "no accountName given: podIdentity azure-workload needs the name of the account"
            given(metadata.account_name, "accountName", message)
            return
        message = "no connection setting given: set connection in a TriggerAuthentication, or connectionFromEnv"
        text = given(connection.get_secret_value(), "connection", message)
        self._known = account_of_connection(text, service, "connection", context.clock)

    async def open(self) -> StorageAccount:
        """Raises ConfigError where the operator's identity must not go."""
        if self._known is not None:
            return self._known
        return await account_of_identity(self._context, self._host, "accountName", authority_of(self._metadata))
